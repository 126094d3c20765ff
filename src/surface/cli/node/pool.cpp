// Node pools: nodes that are set apart.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/operator/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"
#include "model/node/node_pool.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string path_of(const std::string& name, std::string_view what = {}) {
  return "/v1/node/pool/" + part(name) + std::string(what);
}

/// `node_pool "name" { description = "…"  meta { … }  scheduler_config { … } }`, as Nomad's.
model::NodePool parse_pool(const std::string& text, const std::string& name) {
  hcl::Diagnostics diagnostics;
  model::NodePool pool;
  const auto content =
      hcl::parse(text, name, diagnostics).content({.blocks = {{"node_pool", {"name"}}}}, diagnostics, "the file");
  if (content.blocks.size() == 1) {
    const hcl::Context context;
    jobspec::decode(content.blocks.front(), describe::structure_of<model::NodePool>(), &pool, context, diagnostics);
  }
  if (diagnostics.has_errors()) refuse(diagnostics, fmt::format("the node pool in '{}'", name));
  if (content.blocks.size() != 1)
    throw Error(Code::invalid, fmt::format("'{}' holds {} node pools", name, content.blocks.size()))
        .advise("write one: node_pool \"NAME\" { … }");
  return pool;
}

int apply_node_pool(const Arguments& arguments) {
  const std::string& file = arguments.positional().front();
  const std::string source = read_input(file);
  const Json pool = arguments.has("json") ? json::parse(source) : json::to_value(parse_pool(source, file));
  Api api(arguments);
  api.put("/v1/node/pools", pool);
  print(fmt::format("Successfully applied node pool \"{}\"!\n", text(pool, "Name")));
  return kDone;
}

int list_node_pools(const Arguments& arguments) {
  Api api(arguments);
  const Json pools = api.get("/v1/node/pools", list_query_of(arguments));
  if (print_formatted(arguments, pools)) return kDone;
  Rows rows;
  for (const auto& pool : elements(pools)) rows.push_back({text(pool, "Name"), text(pool, "Description")});
  print(rows.empty() ? "No node pools\n" : table_text({"Name", "Description"}, rows));
  tell_next_page(api, arguments, "nomad node pool list");
  return kDone;
}

int info_node_pool(const Arguments& arguments) {
  Api api(arguments);
  const Json pool = api.get(path_of(arguments.positional().front()));
  if (print_formatted(arguments, pool)) return kDone;
  print(facts_text({{"Name", text(pool, "Name")}, {"Description", text(pool, "Description")}}));
  Lines meta;
  for (const auto& [key, value] : members(pool, "Meta"))
    meta.emplace_back(std::string_view(key), std::string(std::string_view(value.as_string())));
  print("\nMetadata\n" + (meta.empty() ? std::string("No metadata\n") : facts_text(meta)));
  const Json& scheduling = member(pool, "SchedulerConfiguration");
  Lines settings;
  if (const auto algorithm = text(scheduling, "SchedulerAlgorithm"); !algorithm.empty())
    settings.emplace_back("Scheduler Algorithm", algorithm);
  if (const Json& over = member(scheduling, "MemoryOversubscriptionEnabled"); over.is_bool())
    settings.emplace_back("Memory Oversubscription Enabled", over.get_bool() ? "true" : "false");
  print("\nScheduler Configuration\n" +
        (settings.empty() ? std::string("No scheduler configuration\n") : facts_text(settings)));
  return kDone;
}

int nodes(const Arguments& arguments) {
  Api api(arguments);
  const Json all = api.get(path_of(arguments.positional().front(), "/nodes"), list_query_of(arguments));
  if (print_formatted(arguments, all)) return kDone;
  Rows rows;
  for (const auto& node : elements(all))
    rows.push_back({id_text(text(node, "ID"), arguments.has("verbose")), text(node, "Datacenter"), text(node, "Name"),
                    text(node, "NodeClass"), truth(node, "Drain") ? "true" : "false",
                    text(node, "SchedulingEligibility"), text(node, "Status")});
  print(rows.empty() ? "No nodes\n"
                     : table_text({"ID", "DC", "Name", "Class", "Drain", "Eligibility", "Status"}, rows));
  tell_next_page(api, arguments, "nomad node pool nodes");
  return kDone;
}

int jobs(const Arguments& arguments) {
  Api api(arguments);
  const Json all = api.get(path_of(arguments.positional().front(), "/jobs"), list_query_of(arguments));
  if (print_formatted(arguments, all)) return kDone;
  Rows rows;
  for (const auto& job : elements(all))
    rows.push_back({text(job, "ID"), text(job, "Type"), text(job, "Priority"),
                    text(job, "Status") + (truth(job, "Stop") ? " (stopped)" : ""), moment(number(job, "SubmitTime"))});
  print(rows.empty() ? "No jobs\n" : table_text({"ID", "Type", "Priority", "Status", "Submit Date"}, rows));
  tell_next_page(api, arguments, "nomad node pool jobs");
  return kDone;
}

int remove_node_pool(const Arguments& arguments) {
  Api api(arguments);
  const std::string& name = arguments.positional().front();
  api.remove(path_of(name));
  print(fmt::format("Successfully deleted node pool \"{}\"!\n", name));
  return kDone;
}

constexpr std::string_view kPoolExample =
    R"(# Nodes that are set apart. `node pool apply pool.nomad.hcl`; nodes say client.node_pool, jobs say node_pool.
node_pool "example" {
  description = "Example node pool"

  # For people: the scheduler does not read it.
  meta {
    environment = "prod"
    owner       = "operations"
  }

  # What takes the place of the cluster's configuration in this pool.
  # scheduler_config {
  #   scheduler_algorithm = "spread"
  # }
}
)";
constexpr std::string_view kPoolExampleJson = R"({
  "Name": "example",
  "Description": "Example node pool",
  "Meta": {
    "environment": "prod",
    "owner": "operations"
  }
}
)";

int init_node_pool(const Arguments& arguments) {
  const std::string form = arguments.get("out", "hcl");
  if (form != "hcl" && form != "json")
    throw Error(Code::invalid, fmt::format("-out '{}' is neither hcl nor json", form));
  const std::string file = arguments.positional().empty() ? "pool.nomad." + form : arguments.positional().front();
  if (os::exists(file)) throw Error(Code::conflict, fmt::format("'{}' is there already", file));
  os::write_file(file, form == "hcl" ? kPoolExample : kPoolExampleJson);
  if (!arguments.has("quiet")) print(fmt::format("Example node pool specification written to {}\n", file));
  return kDone;
}

}  // namespace

const Command& node_pool_apply_command() {
  static const Command command{.name = "node pool apply",
                               .arguments = "FILE",
                               .summary = "Makes or changes a node pool from a file, or `-` for standard input.",
                               .examples = {"underway node pool apply gpu.nomad.hcl"},
                               .flags = {{"json", "", "The file is JSON."}},
                               .least = 1,
                               .most = 1,
                               .run = apply_node_pool};
  return command;
}

const Command& node_pool_list_command() {
  static const Command command{
      .name = "node pool list", .summary = "Lists node pools.", .flags = with_list_flags(), .run = list_node_pools};
  return command;
}

const Command& node_pool_info_command() {
  static const Command command{.name = "node pool info",
                               .arguments = "NAME",
                               .summary = "Shows a node pool.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = info_node_pool};
  return command;
}

const Command& node_pool_nodes_command() {
  static const Command command{.name = "node pool nodes",
                               .arguments = "NAME",
                               .summary = "Lists the nodes of a pool.",
                               .flags = with_list_flags({{"verbose", "", "Whole ids."}}),
                               .least = 1,
                               .most = 1,
                               .run = nodes};
  return command;
}

const Command& node_pool_jobs_command() {
  static const Command command{.name = "node pool jobs",
                               .arguments = "NAME",
                               .summary = "Lists the jobs that ask for a pool.",
                               .flags = with_list_flags(),
                               .least = 1,
                               .most = 1,
                               .run = jobs};
  return command;
}

const Command& node_pool_delete_command() {
  static const Command command{.name = "node pool delete",
                               .arguments = "NAME",
                               .summary = "Deletes a pool that no node and no job is in.",
                               .least = 1,
                               .most = 1,
                               .run = remove_node_pool};
  return command;
}

const Command& node_pool_init_command() {
  static const Command command{.name = "node pool init",
                               .arguments = "[FILE]",
                               .summary = "Writes an example of a node pool, pool.nomad.hcl.",
                               .flags = {{"out", "hcl|json", "The form; hcl."}, {"quiet", "", "Says nothing."}},
                               .most = 1,
                               .talks_to_server = false,
                               .run = init_node_pool};
  return command;
}

}  // namespace underway::cli
