// Volumes of hosts as they are, and who is bound to which.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "cli/volume/text.hpp"

namespace underway::cli {
namespace {

http::Query query_of(const Arguments& arguments, std::initializer_list<std::pair<const char*, const char*>> names) {
  const auto list_volumes = list_query(arguments);
  http::Query query;
  if (!list_volumes.filter.empty()) query.add("filter", list_volumes.filter);
  if (list_volumes.per_page > 0) query.add("per_page", std::to_string(list_volumes.per_page));
  if (!list_volumes.page_token.empty()) query.add("next_token", list_volumes.page_token);
  for (const auto& [flag, name] : names) {
    if (const auto value = arguments.find(flag)) query.add(name, *value);
  }
  return query;
}

int list_volumes(sdk::Client& client, const Arguments& arguments) {
  const auto rows = client.volumes(query_of(arguments, {{"node", "node_id"}, {"node-pool", "node_pool"}}));
  if (print_formatted(arguments, rows)) return kDone;
  if (rows.as_array().empty()) {
    say("no volumes; `underway volume init` writes an example of a volume file");
    return kDone;
  }
  const bool whole = arguments.has("verbose");
  Table table({"ID", "Name", "Namespace", "Plugin ID", "Node ID", "Node Pool", "State"});
  for (const auto& row : rows.as_array()) {
    const auto id = [&](const char* key) {
      return whole ? json::text_at(row, key) : short_id(json::text_at(row, key));
    };
    table.add({id("ID"), json::text_at(row, "Name"), json::text_at(row, "Namespace"), json::text_at(row, "PluginID"),
               id("NodeID"), json::text_at(row, "NodePool"), json::text_at(row, "State")});
  }
  table.print();
  return kDone;
}

int show_volume_status(const Arguments& arguments) {
  auto client = make_client(arguments);
  if (arguments.positional().empty()) return list_volumes(client, arguments);
  const auto value = client.volume(resolve_volume(client, arguments.positional().front()));
  if (print_formatted(arguments, value)) return kDone;
  const bool whole = arguments.has("verbose");
  print(volume_text(json::decode<model::HostVolume>(value, "answer"), whole));
  if (arguments.has("short")) return kDone;
  print("\nAllocations\n");
  Table table({"ID", "Node ID", "Task Group", "Version", "Desired", "Status"});
  for (const auto& user : value.at("Allocations").as_array()) {
    const auto id = [&](const char* key) {
      return whole ? json::text_at(user, key) : short_id(json::text_at(user, key));
    };
    table.add({id("ID"), id("NodeID"), json::text_at(user, "TaskGroup"),
               std::to_string(user.at("JobVersion").to_number<std::int64_t>()), json::text_at(user, "DesiredStatus"),
               json::text_at(user, "ClientStatus")});
  }
  if (table.empty())
    print("No allocations use it\n");
  else
    table.print();
  return kDone;
}

int list_claims(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto rows = client.volume_claims(
      query_of(arguments, {{"job", "job_id"}, {"group", "task_group"}, {"volume-name", "volume_name"}}));
  if (print_formatted(arguments, rows)) return kDone;
  const bool whole = arguments.has("verbose");
  Table table({"ID", "Namespace", "Job ID", "Volume ID", "Volume Name", "Task Group"});
  for (const auto& row : rows.as_array()) {
    const auto id = [&](const char* key) {
      return whole ? json::text_at(row, key) : short_id(json::text_at(row, key));
    };
    table.add({id("ID"), json::text_at(row, "Namespace"), json::text_at(row, "JobID"), id("VolumeID"),
               json::text_at(row, "VolumeName"), json::text_at(row, "TaskGroupName")});
  }
  if (table.empty())
    say("no group is bound to a volume");
  else
    table.print();
  return kDone;
}

int delete_claim(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string& wanted = arguments.positional().front();
  std::vector<std::string> found;
  const auto claims = client.volume_claims();
  for (const auto& row : claims.as_array()) {
    if (json::text_at(row, "ID").starts_with(wanted)) found.push_back(json::text_at(row, "ID"));
  }
  if (found.empty()) throw Error(Code::not_found, fmt::format("no volume claim '{}'", wanted));
  if (found.size() > 1)
    throw Error(Code::conflict, fmt::format("'{}' is the beginning of several claims", wanted))
        .because(join(found, ", "));
  if (!arguments.has("yes") && !arguments.has("y") &&
      !confirm("The next allocation may be placed with another volume, without this one's data. Go on?"))
    throw Error(Code::conflict, "nothing was deleted").advise("add -yes");
  client.delete_volume_claim(found.front());
  print(fmt::format("Successfully deleted volume claim \"{}\"!\n", found.front()));
  return kDone;
}

}  // namespace

std::string resolve_volume(sdk::Client& client, const std::string& id_or_name) {
  std::vector<std::string> found;
  const auto volumes = client.volumes();
  for (const auto& row : volumes.as_array()) {
    const std::string id = json::text_at(row, "ID");
    if (id == id_or_name) return id;
    if (id.starts_with(id_or_name) || json::text_at(row, "Name") == id_or_name) found.push_back(id);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw Error(Code::not_found, fmt::format("no volume '{}'", id_or_name))
        .advise("`underway volume status` shows what there is");
  }
  throw Error(Code::conflict, fmt::format("'{}' means several volumes", id_or_name)).because(join(found, ", "));
}

const Command& volume_status_command() {
  static const Command command{
      .name = "volume status",
      .arguments = "[ID]",
      .summary = "Lists volumes of hosts, or shows one and who uses it.",
      .details = "ID is the beginning of an id, or a name.",
      .flags = with_list_flags({{"node", "ID", "Only those on this node."},
                                {"node-pool", "NAME", "Only those in this pool."},
                                {"type", "host", "For scripts: other types are not kept here."},
                                {"short", "", "Without the allocations that use it."},
                                {"verbose", "", "Whole ids."}}),
      .most = 1,
      .run = show_volume_status};
  return command;
}

const Command& volume_claim_list_command() {
  static const Command command{.name = "volume claim list",
                               .summary = "Lists which groups are bound to which volumes (sticky).",
                               .flags = with_list_flags({{"job", "ID", "Only of this job."},
                                                         {"group", "NAME", "Only of groups of this name."},
                                                         {"volume-name", "NAME", "Only on volumes of this name."},
                                                         {"verbose", "", "Whole ids."}}),
                               .run = list_claims};
  return command;
}

const Command& volume_claim_delete_command() {
  static const Command command{.name = "volume claim delete",
                               .arguments = "ID",
                               .summary = "Unbinds a group from a volume: its next allocation may have another.",
                               .flags = {{"yes", "", "Does not ask."}, {"y", "", "The same."}},
                               .least = 1,
                               .most = 1,
                               .run = delete_claim};
  return command;
}

}  // namespace underway::cli
