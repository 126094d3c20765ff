#include "nomad/alloc_status.hpp"

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/score_text.hpp"
#include "cli/terminal.hpp"
#include "model/allocation.hpp"
#include "nomad/find.hpp"

namespace underway::nomad {
namespace {

using cli::Api;
using cli::Arguments;
using cli::elements;
using cli::id_text;
using cli::Json;
using cli::member;
using cli::members;
using cli::number;
using cli::print;
using cli::text;
using Rows = std::vector<std::vector<std::string>>;

std::string when(std::int64_t nanos, bool verbose) { return verbose ? cli::moment(nanos) : cli::since(nanos); }

void add_deployment(cli::Lines& lines, const Json& allocation, bool verbose) {
  const std::string id = text(allocation, "DeploymentID");
  if (id.empty()) return;
  const Json& healthy = member(allocation, "DeploymentStatus.Healthy");
  lines.emplace_back("Deployment ID", id_text(id, verbose));
  lines.emplace_back("Deployment Health", !healthy.is_bool() ? "unset" : healthy.get_bool() ? "healthy" : "unhealthy");
  if (cli::truth(allocation, "DeploymentStatus.Canary")) lines.emplace_back("Canary", "true");
}

/// What replaced it, and when it is tried again.
void add_prospects(Api& api, cli::Lines& lines, const Json& allocation, bool verbose) {
  if (const auto next = text(allocation, "NextAllocation"); !next.empty())
    lines.emplace_back("Replacement Alloc ID", id_text(next, verbose));
  const auto eval = text(allocation, "FollowupEvalID");
  if (eval.empty() || text(allocation, "ClientStatus") != "failed") return;
  try {
    const auto due = parse_time(text(api.get("/v1/evaluation/" + cli::part(eval)), "WaitUntil"));
    if (due) lines.emplace_back("Reschedule Eligibility", cli::since(unix_nanos(*due)));
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;  // it has been looked at, and forgotten since
  }
}

void print_facts(Api& api, const Json& allocation, bool verbose) {
  cli::Lines lines{{"ID", id_text(text(allocation, "ID"), verbose)},
                   {"Eval ID", id_text(text(allocation, "EvalID"), verbose)},
                   {"Name", text(allocation, "Name")},
                   {"Node ID", id_text(text(allocation, "NodeID"), verbose)},
                   {"Node Name", text(allocation, "NodeName")},
                   {"Job ID", text(allocation, "JobID")},
                   {"Job Version", text(allocation, "JobVersion").empty() ? text(allocation, "Job.Version")
                                                                          : text(allocation, "JobVersion")},
                   {"Client Status", text(allocation, "ClientStatus")},
                   {"Client Description", text(allocation, "ClientDescription")},
                   {"Desired Status", text(allocation, "DesiredStatus")},
                   {"Desired Description", text(allocation, "DesiredDescription")},
                   {"Created", when(number(allocation, "CreateTime"), verbose)},
                   {"Modified", when(number(allocation, "ModifyTime"), verbose)}};
  add_deployment(lines, allocation, verbose);
  add_prospects(api, lines, allocation, verbose);
  if (verbose) {
    for (const auto& [name, path] :
         {std::pair("Evaluated Nodes", "Metrics.NodesEvaluated"), std::pair("Filtered Nodes", "Metrics.NodesFiltered"),
          std::pair("Exhausted Nodes", "Metrics.NodesExhausted"), std::pair("Failures", "Metrics.CoalescedFailures")})
      lines.emplace_back(name, std::to_string(number(allocation, path)));
    lines.emplace_back("Allocation Time", format_duration(Duration(number(allocation, "Metrics.AllocationTime"))));
  }
  print(cli::facts_text(lines));
}

Json newest_event(const Json& state) {
  const auto& events = elements(state, "Events");
  return events.empty() ? Json() : events.back();
}

void print_short(const Json& allocation) {
  Rows rows;
  for (const auto& [name, state] : members(allocation, "TaskStates")) {
    const Json last = newest_event(state);
    rows.push_back({std::string(name), text(state, "State"), text(last, "Type"), cli::moment(number(last, "Time"))});
  }
  print("\nTasks\n" + cli::table_text({"Name", "State", "Last Event", "Time"}, rows));
}

/// "1/500 MHz": what is used, when the node tells, of what was promised.
std::string used_of(const std::string& used, const std::string& promised) {
  return used.empty() ? promised : used + "/" + promised;
}

void print_resources(const Json& resources, const Json& shared, const Json& usage) {
  const auto cpu = number(resources, "Cpu.CpuShares"), memory = number(resources, "Memory.MemoryMB");
  const bool known = !usage.is_null();
  const std::string used_cpu = known ? std::to_string(number(usage, "ResourceUsage.CpuStats.TotalTicks")) : "";
  const auto rss = number(usage, "ResourceUsage.MemoryStats.RSS"),
             whole = number(usage, "ResourceUsage.MemoryStats.Usage");
  const std::string used_memory = known ? cli::size_text(std::max(rss, whole)) : "";
  print("Task Resources:\n" + cli::table_text({"CPU", "Memory", "Disk", "Addresses"},
                                              {{used_of(used_cpu, fmt::format("{} MHz", cpu)),
                                                used_of(used_memory, cli::size_text(memory << 20)),
                                                cli::size_text(number(shared, "DiskMB") << 20), ""}}));
}

void print_task(const std::string& name, const Json& state, const Json& allocation, const Json& usage) {
  print(fmt::format("\nTask \"{}\" is \"{}\"\n", name, text(state, "State")));
  const Json& tasks = member(allocation, "AllocatedResources.Tasks");
  const Json* resources = tasks.is_object() ? tasks.get_object().if_contains(name) : nullptr;
  const Json* used = usage.is_object() ? usage.get_object().if_contains(name) : nullptr;
  if (resources != nullptr)
    print_resources(*resources, member(allocation, "AllocatedResources.Shared"), used != nullptr ? *used : Json());
  const auto or_not = [](std::string value) { return value.empty() ? std::string("N/A") : value; };
  print("\nTask Events:\n" + cli::facts_text({{"Started At", or_not(cli::moment_of(member(state, "StartedAt")))},
                                              {"Finished At", or_not(cli::moment_of(member(state, "FinishedAt")))},
                                              {"Total Restarts", std::to_string(number(state, "Restarts"))},
                                              {"Last Restart", or_not(cli::moment_of(member(state, "LastRestart")))}}));
  Rows rows;
  const auto& events = elements(state, "Events");
  for (auto it = events.rbegin(); it != events.rend(); ++it) {
    std::string words = text(*it, "DisplayMessage");
    if (words.empty()) words = text(*it, "Message");
    rows.push_back({cli::moment(number(*it, "Time")), text(*it, "Type"), words});
  }
  print("\nRecent Events:\n" + cli::table_text({"Time", "Type", "Description"}, rows));
}

/// What the tasks use now; nothing when the node cannot be asked.
Json usage_of(Api& api, const Json& allocation) {
  if (text(allocation, "ClientStatus") != "running") return nullptr;
  try {
    return member(api.get("/v1/client/allocation/" + cli::part(text(allocation, "ID")) + "/stats"), "Tasks");
  } catch (const Error& error) {
    cli::say(fmt::format("Couldn't retrieve stats: {}", error.one_line()));
    return nullptr;
  }
}

/// Whether the job left the choice of the port to us.
bool is_dynamic(const Json& allocation, const std::string& label) {
  for (const auto& group : elements(allocation, "Job.TaskGroups")) {
    if (text(group, "Name") != text(allocation, "TaskGroup")) continue;
    for (const auto& network : elements(group, "Networks")) {
      for (const auto& port : elements(network, "DynamicPorts")) {
        if (text(port, "Label") == label) return true;
      }
    }
  }
  return false;
}

void print_ports(const Json& allocation) {
  const auto& ports = elements(allocation, "AllocatedResources.Shared.Ports");
  if (ports.empty()) return;
  Rows rows;
  for (const auto& port : ports) {
    const auto to = number(port, "To");
    const std::string label = text(port, "Label");
    rows.push_back(
        {"*" + label, is_dynamic(allocation, label) ? "yes" : "no",
         fmt::format("{}:{}{}", text(port, "HostIP"), number(port, "Value"), to > 0 ? fmt::format(" -> {}", to) : "")});
  }
  print("\nAllocation Addresses:\n" + cli::table_text({"Label", "Dynamic", "Address"}, rows));
}

void print_scores(const Json& allocation) {
  const auto described = json::decode<model::Allocation>(allocation, "Allocation");
  const auto scores = cli::scores_text(described.metrics.scores, {{described.node_id, described.node_id}});
  if (!scores.empty()) print("\nPlacement Metrics\n" + scores);
}

}  // namespace

int alloc_status(const Arguments& arguments) {
  Api api(arguments);
  const bool verbose = arguments.has("verbose");
  if (arguments.positional().empty()) {
    const Json all = api.get("/v1/allocations");
    if (!cli::print_formatted(arguments, all))
      throw Error(Code::invalid, "This command takes an allocation ID, or -json or -t for all");
    return 0;
  }
  const Json allocation = api.get("/v1/allocation/" + cli::part(find_allocation(api, arguments.positional().front())));
  if (cli::print_formatted(arguments, allocation)) return 0;
  print_facts(api, allocation, verbose);
  print_ports(allocation);
  if (arguments.has("short")) {
    print_short(allocation);
    return 0;
  }
  const Json usage = usage_of(api, allocation);
  for (const auto& [name, state] : members(allocation, "TaskStates"))
    print_task(std::string(name), state, allocation, usage);
  if (verbose) print_scores(allocation);
  return 0;
}

}  // namespace underway::nomad
