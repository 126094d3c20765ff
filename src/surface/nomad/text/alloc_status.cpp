#include "nomad/text/alloc_status.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/current_time.hpp"
#include "cli/job/score_text.hpp"
#include "cli/terminal.hpp"
#include "model/allocation.hpp"
#include "nomad/commands/monitor.hpp"
#include "nomad/find.hpp"
#include "nomad/text/group_failure.hpp"
#include "nomad/text/job_status.hpp"
#include "nomad/text/rows.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

using cli::Api;
using cli::Arguments;
using cli::elements;
using cli::id_text;
using cli::member;
using cli::members;
using cli::number;
using cli::print;
using cli::text;
using cli::truth;

std::string when(std::int64_t nanos, bool verbose) { return verbose ? cli::moment(nanos) : cli::since(nanos); }

/// A member by a name that may hold dots.
const Json& named(const Json& object, const std::string& name) {
  static const Json nothing;
  const auto* found = object.is_object() ? object.get_object().if_contains(name) : nullptr;
  return found == nullptr ? nothing : *found;
}

const Json& group_of(const Json& allocation) {
  static const Json nothing;
  for (const auto& group : elements(allocation, "Job.TaskGroups")) {
    if (text(group, "Name") == text(allocation, "TaskGroup")) return group;
  }
  return nothing;
}

const Json& described_task(const Json& allocation, const std::string& name) {
  static const Json nothing;
  for (const auto& task : elements(group_of(allocation), "Tasks")) {
    if (text(task, "Name") == name) return task;
  }
  return nothing;
}

/// "prestart sidecar"; "main".
std::string lifecycle_of(const Json& allocation, const std::string& task) {
  const Json& cycle = member(described_task(allocation, task), "Lifecycle");
  const std::string hook = text(cycle, "Hook");
  return hook.empty() ? "main" : hook + (truth(cycle, "Sidecar") ? " sidecar" : "");
}

void add_deployment(cli::Lines& lines, const Json& allocation, bool verbose) {
  const std::string id = text(allocation, "DeploymentID");
  if (id.empty()) return;
  const Json& healthy = member(allocation, "DeploymentStatus.Healthy");
  lines.emplace_back("Deployment ID", id_text(id, verbose));
  lines.emplace_back("Deployment Health", !healthy.is_bool() ? "unset" : healthy.get_bool() ? "healthy" : "unhealthy");
  if (truth(allocation, "DeploymentStatus.Canary")) lines.emplace_back("Canary", "true");
}

/// "1/3": how often it was placed anew within its policy's interval, where the policy has a limit.
std::string attempts_of(const Json& allocation) {
  const Json& policy = member(group_of(allocation), "ReschedulePolicy");
  const auto limit = number(policy, "Attempts"), since = number(allocation, "ModifyTime") - number(policy, "Interval");
  const auto& events = elements(allocation, "RescheduleTracker.Events");
  if (events.empty() || limit == 0 || truth(policy, "Unlimited")) return {};
  const auto count = std::count_if(events.begin(), events.end(),
                                   [&](const Json& event) { return number(event, "RescheduleTime") > since; });
  return fmt::format("{}/{}", count, limit);
}

/// What replaced it, and when it is tried again.
void add_prospects(Api& api, cli::Lines& lines, const Json& allocation, bool verbose) {
  if (const auto attempts = attempts_of(allocation); !attempts.empty())
    lines.emplace_back("Reschedule Attempts", attempts);
  if (const auto next = text(allocation, "NextAllocation"); !next.empty())
    lines.emplace_back("Replacement Alloc ID", id_text(next, verbose));
  const auto eval = text(allocation, "FollowupEvalID");
  if (eval.empty()) return;
  const auto due = wait_of(api, eval);
  if (due && *due > unix_nanos(cli::current_time())) lines.emplace_back("Reschedule Eligibility", cli::since(*due));
}

void print_facts(Api& api, const Json& allocation, bool verbose) {
  cli::Lines lines{{"ID", text(allocation, "ID")},
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
          std::pair("Exhausted Nodes", "Metrics.NodesExhausted")})
      lines.emplace_back(name, std::to_string(number(allocation, path)));
    lines.emplace_back("Allocation Time", format_duration(Duration(number(allocation, "Metrics.AllocationTime"))));
    lines.emplace_back("Failures", std::to_string(number(allocation, "Metrics.CoalescedFailures")));
  }
  print(cli::facts_text(lines));
}

/// Of what is used, when the node tells, and of what was promised: "1/500 MHz".
std::string used_of(const std::string& used, const std::string& promised) {
  return used.empty() ? promised : used + "/" + promised;
}

/// Nomad's first measure of memory, where it was measured.
std::int64_t memory_of(const Json& stats) {
  const auto resident = number(stats, "RSS");
  const auto& measured = elements(stats, "Measured");
  const bool known = std::any_of(measured.begin(), measured.end(), [](const Json& device) { return device == "RSS"; });
  return resident > 0 || known ? resident : number(stats, "Usage");
}

std::vector<std::string> addresses_of(const Json& resources) {
  std::vector<std::string> out;
  for (const auto& network : elements(resources, "Networks")) {
    for (const char* kind : {"DynamicPorts", "ReservedPorts"}) {
      for (const auto& port : elements(network, kind))
        out.push_back(fmt::format("{}: {}:{}", text(port, "Label"), text(network, "IP"), number(port, "Value")));
    }
  }
  return out;
}

std::string resources_text(const Json& resources, std::int64_t disk, const Json& usage) {
  const auto cores = elements(resources, "Cpu.ReservedCores").size();
  const auto memory = number(resources, "Memory.MemoryMB"), most = number(resources, "Memory.MemoryMaxMB");
  const bool known = member(usage, "ResourceUsage").is_object();
  const std::string used_cpu =
      known ? fmt::format("{:.0f}", std::floor(fraction(usage, "ResourceUsage.CpuStats.TotalTicks"))) : "";
  const std::string used_memory = known ? cli::size_text(memory_of(member(usage, "ResourceUsage.MemoryStats"))) : "";
  auto addresses = addresses_of(resources);
  addresses.resize(std::max<std::size_t>(addresses.size(), 1));
  Rows rows{{cores > 0 ? fmt::format("CPU ({} cores)", cores) : "CPU", "Memory", "Disk", "Addresses"},
            {used_of(used_cpu, fmt::format("{} MHz", number(resources, "Cpu.CpuShares"))),
             used_of(used_memory, cli::size_text(memory << 20)), cli::size_text(disk << 20), addresses[0]}};
  const std::string limit = most > 0 && most != memory ? "Max: " + cli::size_text(most << 20) : "";
  for (std::size_t i = 1; i < addresses.size(); ++i) rows.push_back({"", i == 1 ? limit : "", "", addresses[i]});
  if (addresses.size() == 1 && !limit.empty()) rows.push_back({"", limit, "", ""});
  return "Task Resources:\n" + columns_text(rows, false);
}

constexpr std::pair<const char*, const char*> kMemory[] = {{"Cache", "Cache"},
                                                           {"Kernel Max Usage", "KernelMaxUsage"},
                                                           {"Kernel Usage", "KernelUsage"},
                                                           {"Max Usage", "MaxUsage"},
                                                           {"RSS", "RSS"},
                                                           {"Swap", "Swap"},
                                                           {"Usage", "Usage"}};

std::string cpu_text(const Json& stats, const std::string& measured) {
  if (measured == "Percent") return fmt::format("{:.2f}%", fraction(stats, "Percent"));
  if (measured == "User Mode") return fmt::format("{:.2f}%", fraction(stats, "UserMode"));
  if (measured == "System Mode") return fmt::format("{:.2f}%", fraction(stats, "SystemMode"));
  if (measured == "Throttled Periods") return std::to_string(number(stats, "ThrottledPeriods"));
  return measured == "Throttled Time" ? std::to_string(number(stats, "ThrottledTime")) : std::string();
}

std::string memory_text(const Json& stats, const std::string& measured) {
  for (const auto& [name, path] : kMemory) {
    if (measured == name) return cli::size_text(number(stats, path));
  }
  return {};
}

/// What was measured, by name, in one row below its titles.
template <class Value>
std::string measured_text(const char* title, const Json& stats, const Value& value) {
  std::vector<std::string> names, values;
  for (const auto& device : elements(stats, "Measured")) {
    if (device.is_string()) names.emplace_back(std::string_view(device.get_string()));
  }
  if (names.empty()) return {};
  std::sort(names.begin(), names.end());
  for (const auto& name : names) values.push_back(value(stats, name));
  return fmt::format("\n{}\n{}", title, columns_text({names, values}));
}

std::string stats_text(const Json& usage) {
  return measured_text("Memory Stats", member(usage, "ResourceUsage.MemoryStats"), memory_text) +
         measured_text("CPU Stats", member(usage, "ResourceUsage.CpuStats"), cpu_text);
}

std::string volumes_text(const Json& allocation, const std::string& task) {
  Rows rows{{"ID", "Read Only"}};
  for (const auto& mount : elements(described_task(allocation, task), "VolumeMounts")) {
    const Json& volume = named(member(group_of(allocation), "Volumes"), text(mount, "Volume"));
    rows.push_back({volume.is_null() ? text(mount, "Volume") : text(volume, "Name"), spell(truth(mount, "ReadOnly"))});
  }
  return rows.size() == 1 ? std::string() : "Host Volumes:\n" + columns_text(rows) + "\n";
}

std::string events_text(const Json& state) {
  const auto or_not = [](std::string value) { return value.empty() ? std::string("N/A") : value; };
  Rows rows;
  const auto& events = elements(state, "Events");
  for (auto it = events.rbegin(); it != events.rend(); ++it) {
    std::string words = text(*it, "DisplayMessage");
    if (words.empty()) words = text(*it, "Message");
    rows.push_back({cli::moment(number(*it, "Time")), text(*it, "Type"), words});
  }
  return "Task Events:\n" +
         cli::facts_text({{"Started At", or_not(cli::moment_of(member(state, "StartedAt")))},
                          {"Finished At", or_not(cli::moment_of(member(state, "FinishedAt")))},
                          {"Total Restarts", std::to_string(number(state, "Restarts"))},
                          {"Last Restart", or_not(cli::moment_of(member(state, "LastRestart")))}}) +
         "\nRecent Events:\n" + cli::table_text({"Time", "Type", "Description"}, rows);
}

/// What the tasks use now; null when the node cannot be asked.
Json usage_of(Api& api, const Json& allocation) {
  if (text(allocation, "ClientStatus") != "running") return nullptr;
  try {
    return member(api.get("/v1/client/allocation/" + cli::part(text(allocation, "ID")) + "/stats"), "Tasks");
  } catch (const Error& error) {
    print("\n");
    cli::say(fmt::format("Couldn't retrieve stats: {}", error.one_line()));
    return nullptr;
  }
}

void print_ports(const Json& allocation) {
  const auto& ports = elements(allocation, "AllocatedResources.Shared.Ports");
  if (ports.empty()) return;
  Rows rows;
  for (const auto& port : ports) {
    const auto to = number(port, "To");
    // That client says so of every port.
    rows.push_back(
        {"*" + text(port, "Label"), "yes",
         fmt::format("{}:{}{}", text(port, "HostIP"), number(port, "Value"), to > 0 ? fmt::format(" -> {}", to) : "")});
  }
  const auto& networks = elements(allocation, "AllocatedResources.Shared.Networks");
  const std::string mode = networks.empty() ? std::string() : text(networks.front(), "Mode");
  print(fmt::format("\nAllocation Addresses{}:\n{}", mode.empty() ? "" : fmt::format(" (mode = \"{}\")", mode),
                    cli::table_text({"Label", "Dynamic", "Address"}, rows)));
}

/// Checks of the built-in catalogue. A node that cannot be asked has none to show.
void print_checks(Api& api, const Json& allocation) {
  Json results;
  try {
    results = api.get("/v1/client/allocation/" + cli::part(text(allocation, "ID")) + "/checks");
  } catch (const Error&) {
    return;
  }
  Rows rows;
  for (const auto& [id, check] : results.is_object() ? results.get_object() : boost::json::object())
    rows.push_back({text(check, "Service"), text(check, "Task").empty() ? "(group)" : text(check, "Task"),
                    text(check, "Check"), text(check, "Mode"), text(check, "Status")});
  std::sort(rows.begin(), rows.end());
  if (!rows.empty())
    print("\nNomad Service Checks:\n" + cli::table_text({"Service", "Task", "Name", "Mode", "Status"}, rows));
}

void print_metrics(const Json& allocation) {
  const auto described = json::decode<model::Allocation>(allocation, "Allocation");
  std::map<std::string, std::string> names;
  for (const auto& score : described.metrics.scores) names[score.node_id] = score.node_id;
  print("\nPlacement Metrics\n");
  for (const auto& failure : failures_of(boost::json::object{{"", member(allocation, "Metrics")}}))
    print(failure.reasons("  "));
  print(cli::scores_text(described.metrics.scores, names));
}

/// Several that begin so are shown, and that is no failure: as that client has it.
int list_several(const Arguments& arguments, boost::json::array found) {
  print("Prefix matched multiple allocations\n\n" + allocations_text(std::move(found), arguments.has("verbose")));
  return 0;
}

}  // namespace

std::vector<std::string> tasks_in_order(const Json& allocation) {
  std::vector<std::string> names;
  for (const auto& [name, state] : members(allocation, "TaskStates")) names.emplace_back(std::string_view(name));
  const auto rank = [&](const std::string& task) {
    const Json& cycle = member(described_task(allocation, task), "Lifecycle");
    return text(cycle, "Hook").empty() ? 2 : truth(cycle, "Sidecar") ? 1 : 0;
  };
  std::sort(names.begin(), names.end(),
            [&](const auto& a, const auto& b) { return std::pair(rank(a), a) < std::pair(rank(b), b); });
  return names;
}

std::string task_text(const Json& allocation, const std::string& task, const Json& usage, bool stats) {
  const Json& state = named(member(allocation, "TaskStates"), task);
  const std::string cycle = lifecycle_of(allocation, task);
  std::string out = fmt::format("\nTask {}{} is {}\n", go_quote(task), cycle == "main" ? "" : " (" + cycle + ")",
                                go_quote(text(state, "State")));
  const Json &used = named(usage, task), &resources = named(member(allocation, "AllocatedResources.Tasks"), task);
  if (!resources.is_null()) {
    out += resources_text(resources, number(allocation, "AllocatedResources.Shared.DiskMB"), used);
    if (stats) out += stats_text(used);
  }
  return out + "\n" + volumes_text(allocation, task) + events_text(state);
}

std::string short_text(const Json& allocation) {
  Rows rows;
  for (const auto& task : tasks_in_order(allocation)) {
    const Json& state = named(member(allocation, "TaskStates"), task);
    const auto& events = elements(state, "Events");
    const Json last = events.empty() ? Json() : events.back();
    rows.push_back({task, text(state, "State"), text(last, "Type"), cli::moment(number(last, "Time")),
                    lifecycle_of(allocation, task)});
  }
  return cli::facts_text({{"ID", text(allocation, "ID")},
                          {"Name", text(allocation, "Name")},
                          {"Created", cli::since(number(allocation, "CreateTime"))},
                          {"Modified", cli::since(number(allocation, "ModifyTime"))}}) +
         "\nTasks\n" + cli::table_text({"Name", "State", "Last Event", "Time", "Lifecycle"}, rows);
}

int alloc_status(const Arguments& arguments) {
  Api api(arguments);
  const bool verbose = arguments.has("verbose");
  if (arguments.positional().empty()) {
    const Json all = api.get("/v1/allocations");
    if (!cli::print_formatted(arguments, all))
      throw Error(Code::invalid, "This command takes an allocation ID, or -json or -t for all");
    return 0;
  }
  const std::string& prefix = arguments.positional().front();
  if (auto found = matching_allocations(api, prefix); found.size() > 1)
    return list_several(arguments, std::move(found));
  const Json allocation = api.get("/v1/allocation/" + cli::part(find_allocation(api, prefix)));
  if (cli::print_formatted(arguments, allocation)) return 0;
  if (arguments.has("short")) {
    print(short_text(allocation));
  } else {
    print_facts(api, allocation, verbose);
    print_ports(allocation);
    print_checks(api, allocation);
    const Json usage = usage_of(api, allocation);
    for (const auto& task : tasks_in_order(allocation))
      print(task_text(allocation, task, usage, arguments.has("stats")));
  }
  if (verbose) print_metrics(allocation);
  return 0;
}

}  // namespace underway::nomad
