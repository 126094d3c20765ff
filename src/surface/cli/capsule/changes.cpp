// What a capsule has changed since its image, and its services: its node is asked.
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "run/extension.hpp"

namespace underway::cli {
namespace {

/// The allocation of a capsule that is called as its job, else one by its id.
std::string allocation_of(sdk::Client& client, const std::string& name) {
  std::string found;
  for (const auto& allocation : client.job_allocations(name)) {
    if (allocation.client_status == model::ClientStatus::running) return allocation.id;
    if (found.empty()) found = allocation.id;
  }
  return found.empty() ? resolve_allocation(client, name) : found;
}

int changes(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto answer = client.capsule_changes(allocation_of(client, arguments.positional().front()));
  if (arguments.has("json")) {
    print_json(answer);
    return kDone;
  }
  const auto found = json::decode<run::Changes>(answer, "answer");
  say(fmt::format("capsule {}, image {}: {} changed", found.run.name, found.run.image, found.files.size()));
  Table table({"Change", "Type", "Size", "Mode", "Owner", "Modified", "Path"});
  for (const auto& file : found.files) {
    table.add({file.change, file.type, file.type == "file" ? human_bytes(static_cast<std::uint64_t>(file.size)) : "",
               file.change == "deleted" ? "" : fmt::format("{:04o}", file.mode),
               file.change == "deleted" ? "" : fmt::format("{}:{}", file.uid, file.gid),
               file.modified == 0 ? "" : ago(file.modified), file.path});
  }
  table.print();
  return kDone;
}

int services(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto answer = client.capsule_services(allocation_of(client, arguments.positional().front()));
  if (arguments.has("json")) {
    print_json(answer);
    return kDone;
  }
  const auto found = json::decode<run::Services>(answer, "answer");
  std::vector<std::pair<std::string, std::string>> rows = {
      {"Capsule", found.run.name},
      {"Image", found.run.image},
      {"Phase", found.status.phase},
      {"Addresses", join(found.run.addresses, ", ")},
      {"Started", format_time(from_unix_nanos(found.run.started))}};
  if (found.status.sync) {
    const auto behind = found.status.behind;
    rows.emplace_back(
        "Saves", behind < Duration{0}
                     ? "on the standby before a service goes on"
                     : fmt::format("not on the standby when a service goes on, for {} now", human_duration(behind)));
  }
  print(key_values(rows));
  Table table({"Service", "State", "PID", "Since", "Restarts", "Last end"});
  for (const auto& service : found.status.services) {
    const auto end = service.signal != 0      ? fmt::format("signal {}", service.signal)
                     : service.exit_code != 0 ? fmt::format("exit code {}", service.exit_code)
                                              : std::string();
    table.add({service.name, service.state, service.pid == 0 ? "" : std::to_string(service.pid),
               human_duration(service.since), std::to_string(service.restarts), end});
  }
  table.print();
  return kDone;
}

}  // namespace

const Command& capsule_changes_command() {
  static const Command command{
      .name = "capsule changes",
      .arguments = "NAME|ALLOCATION",
      .summary = "Lists the files that a capsule has changed since its image.",
      .details =
          "These lie in its overlay; everything else is as it was signed. A capsule is named by its job, or by "
          "its allocation.",
      .flags = {{"json", "", "As JSON."}},
      .least = 1,
      .most = 1,
      .run = changes};
  return command;
}

const Command& capsule_services_command() {
  static const Command command{.name = "capsule services",
                               .arguments = "NAME|ALLOCATION",
                               .summary = "Shows the services of a running capsule, as its init has them.",
                               .flags = {{"json", "", "As JSON."}},
                               .least = 1,
                               .most = 1,
                               .run = services};
  return command;
}

}  // namespace underway::cli
