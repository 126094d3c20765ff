#include "nomad/text/node_status.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"
#include "nomad/find.hpp"
#include "nomad/text/rows.hpp"
#include "nomad/text/text.hpp"

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
using cli::truth;

std::int64_t running_on(Api& api, const std::string& node) {
  std::int64_t count = 0;
  for (const auto& allocation : elements(api.get("/v1/node/" + cli::part(node) + "/allocations")))
    count += text(allocation, "ClientStatus") == "running" ? 1 : 0;
  return count;
}

struct Shown {
  bool verbose = false, os = false, allocs = false;
};

std::vector<std::string> headers_of(const Shown& shown) {
  std::vector<std::string> headers{"ID", "Node Pool", "DC", "Name", "Class"};
  if (shown.os) headers.emplace_back("OS");
  if (shown.verbose) headers.insert(headers.end(), {"Address", "Version"});
  headers.insert(headers.end(), {"Drain", "Eligibility", "Status"});
  if (shown.allocs) headers.emplace_back("Running Allocs");
  return headers;
}

std::string nodes_text(Api& api, const boost::json::array& nodes, const Shown& shown) {
  Rows rows;
  for (const auto& node : nodes) {
    const std::string id = text(node, "ID");
    std::vector<std::string> row{id_text(id, shown.verbose), text(node, "NodePool"), text(node, "Datacenter"),
                                 text(node, "Name"), text(node, "NodeClass")};
    if (shown.os) row.push_back(text(node, "Attributes.os.name"));
    if (shown.verbose) row.insert(row.end(), {text(node, "Address"), text(node, "Version")});
    row.insert(row.end(), {spell(truth(node, "Drain")), text(node, "SchedulingEligibility"), text(node, "Status")});
    if (shown.allocs) row.push_back(std::to_string(running_on(api, id)));
    rows.push_back(std::move(row));
  }
  return cli::table_text(headers_of(shown), rows);
}

/// The name of the operating system: its attribute's own name holds a dot.
void put_os(Json& node) {
  if (!member(node, "Attributes").is_object()) return;
  const auto* name = member(node, "Attributes").get_object().if_contains("os.name");
  const Json value = name == nullptr ? Json() : *name;
  node.as_object()["Attributes"] = boost::json::object{{"os", boost::json::object{{"name", value}}}};
}

int list_nodes(Api& api, const Arguments& arguments) {
  const Shown shown{arguments.has("verbose"), arguments.has("os"), arguments.has("allocs")};
  if (arguments.has("quiet") && (shown.verbose || arguments.has("json")))
    throw Error(Code::invalid, "-quiet cannot be used with -verbose or -json");
  auto query = cli::list_query_of(arguments);
  if (shown.os) query.add("os", "true");
  Json nodes = api.get("/v1/nodes", std::move(query));
  if (cli::print_formatted(arguments, nodes)) return 0;
  if (arguments.has("quiet")) {
    for (const auto& node : elements(nodes)) print(text(node, "ID") + "\n");
    return 0;
  }
  if (shown.os && nodes.is_array()) {
    for (auto& node : nodes.get_array()) put_os(node);
  }
  print(elements(nodes).empty() ? std::string("No nodes registered\n") : nodes_text(api, elements(nodes), shown));
  cli::tell_next_page(api, arguments, "nomad node status");
  return 0;
}

std::string drain_text(const Json& node) {
  if (member(node, "DrainStrategy").is_null()) return "false";
  const auto forced = cli::moment_of(member(node, "DrainStrategy.ForceDeadline"));
  std::string out = "true";
  if (number(node, "DrainStrategy.DrainSpec.Deadline") < 0 || number(node, "DrainStrategy.Deadline") < 0)
    out += "; force drain";
  else
    out += forced.empty() ? "; no deadline" : "; " + forced + " deadline";
  if (truth(node, "DrainStrategy.IgnoreSystemJobs")) out += "; ignoring system jobs";
  return out;
}

std::string keys_text(const boost::json::object& object) {
  std::vector<std::string> names;
  for (const auto& entry : object) names.emplace_back(std::string_view(entry.key()));
  return join(names, ",");
}

/// Drivers that are there, and which of them are not well.
std::string driver_list(const Json& node) {
  std::vector<std::string> names;
  for (const auto& [name, driver] : members(node, "Drivers"))
    if (truth(driver, "Detected"))
      names.push_back(std::string(name) + (truth(driver, "Healthy") ? "" : " (unhealthy)"));
  std::sort(names.begin(), names.end());
  return join(names, ",");
}

cli::Lines node_facts(const Json& node) {
  return {{"ID", text(node, "ID")},
          {"Name", text(node, "Name")},
          {"Node Pool", text(node, "NodePool")},
          {"Class", text(node, "NodeClass")},
          {"DC", text(node, "Datacenter")},
          {"Drain", drain_text(node)},
          {"Eligibility", text(node, "SchedulingEligibility")},
          {"Status", text(node, "Status")},
          {"CSI Controllers", keys_text(members(node, "CSIControllerPlugins"))},
          {"CSI Drivers", keys_text(members(node, "CSINodePlugins"))}};
}

/// What -verbose tells in tables, as names.
void add_names(cli::Lines& lines, const Json& node, const char* drivers) {
  lines.insert(lines.end(), {{"Host Volumes", keys_text(members(node, "HostVolumes"))},
                             {"Host Networks", keys_text(members(node, "HostNetworks"))},
                             {"CSI Volumes", ""},
                             {drivers, driver_list(node)}});
}

void print_verbose_parts(const Json& node) {
  Rows volumes, networks, drivers;
  for (const auto& [name, volume] : members(node, "HostVolumes"))
    volumes.push_back({std::string(name), spell(truth(volume, "ReadOnly")), text(volume, "Path")});
  if (!volumes.empty()) print("\nHost Volumes\n" + cli::table_text({"Name", "ReadOnly", "Source"}, volumes));
  for (const auto& [name, network] : members(node, "HostNetworks"))
    networks.push_back(
        {std::string(name), text(network, "CIDR"), text(network, "Interface"), text(network, "ReservedPorts")});
  if (!networks.empty())
    print("\nHost Networks\n" + cli::table_text({"Name", "CIDR", "Interface", "ReservedPorts"}, networks));
  for (const auto& [name, driver] : members(node, "Drivers"))
    drivers.push_back({std::string(name), spell(truth(driver, "Detected")), spell(truth(driver, "Healthy")),
                       text(driver, "HealthDescription"), cli::moment_of(member(driver, "UpdateTime"))});
  std::sort(drivers.begin(), drivers.end());
  print("\nDrivers\n" + cli::table_text({"Driver", "Detected", "Healthy", "Message", "Time"}, drivers));
}

void print_events(const Json& node, bool verbose) {
  const auto& events = elements(node, "Events");
  Rows rows;
  for (auto it = events.rbegin(); it != events.rend(); ++it) {
    const std::string driver = text(*it, "Details.driver"), subsystem = text(*it, "Subsystem");
    std::vector<std::string> row{cli::moment_of(member(*it, "Timestamp")),
                                 driver.empty() ? subsystem : "Driver: " + driver, text(*it, "Message")};
    if (verbose) {
      std::string details;
      for (const auto& [key, value] : members(*it, "Details"))
        details += fmt::format("{}{}: {}", details.empty() ? "" : ", ", std::string_view(key),
                               std::string_view(value.as_string()));
      row.push_back(details);
    }
    rows.push_back(std::move(row));
  }
  print("\nNode Events\n" + (verbose ? cli::table_text({"Time", "Subsystem", "Message", "Details"}, rows)
                                     : cli::table_text({"Time", "Subsystem", "Message"}, rows)));
}

/// What running allocations were promised, of what the node has to give.
void print_allocated(const Json& node, const boost::json::array& allocations) {
  std::int64_t cpu = 0, memory = 0, disk = 0;
  for (const auto& allocation : allocations) {
    if (text(allocation, "ClientStatus") != "running") continue;
    for (const auto& [name, task] : members(allocation, "AllocatedResources.Tasks")) {
      cpu += number(task, "Cpu.CpuShares");
      memory += number(task, "Memory.MemoryMB");
    }
    disk += number(allocation, "AllocatedResources.Shared.DiskMB");
  }
  const auto total = [&](const char* all, const char* kept) { return number(node, all) - number(node, kept); };
  print(
      "\nAllocated Resources\n" +
      cli::table_text(
          {"CPU", "Memory", "Disk"},
          {{fmt::format("{}/{} MHz", cpu, total("NodeResources.Cpu.CpuShares", "ReservedResources.Cpu.CpuShares")),
            fmt::format(
                "{}/{}", cli::size_text(memory << 20),
                cli::size_text(total("NodeResources.Memory.MemoryMB", "ReservedResources.Memory.MemoryMB") << 20)),
            fmt::format("{}/{}", cli::size_text(disk << 20),
                        cli::size_text(total("NodeResources.Disk.DiskMB", "ReservedResources.Disk.DiskMB") << 20))}}));
}

/// What the running allocations use, as the machine measures it; one that cannot be asked counts as nothing.
void print_used(Api& api, const Json& node, const boost::json::array& allocations) {
  std::int64_t cpu = 0, memory = 0;
  for (const auto& allocation : allocations) {
    if (text(allocation, "ClientStatus") != "running") continue;
    try {
      const Json stats = api.get("/v1/client/allocation/" + cli::part(text(allocation, "ID")) + "/stats");
      cpu += number(stats, "ResourceUsage.CpuStats.TotalTicks");
      const auto resident = number(stats, "ResourceUsage.MemoryStats.RSS");
      memory += resident > 0 ? resident : number(stats, "ResourceUsage.MemoryStats.Usage");
    } catch (const Error&) {  // it ended meanwhile
    }
  }
  print("\nAllocation Resource Utilization\n" +
        cli::table_text({"CPU", "Memory"},
                        {{fmt::format("{}/{} MHz", cpu, number(node, "NodeResources.Cpu.CpuShares")),
                          fmt::format("{}/{}", cli::size_text(memory),
                                      cli::size_text(number(node, "NodeResources.Memory.MemoryMB") << 20))}}));
}

/// The disk on which allocations lie.
std::string disk_text(const Json& stats) {
  const Json& own = member(stats, "AllocDirStats");
  return own.is_null() ? ""
                       : fmt::format("{}/{}", cli::size_text(number(own, "Used")), cli::size_text(number(own, "Size")));
}

void print_host(const Json& node, const Json& stats) {
  print("\nHost Resource Utilization\n" +
        cli::table_text({"CPU", "Memory", "Disk"}, {{fmt::format("{}/{} MHz", number(stats, "CPUTicksConsumed"),
                                                                 number(node, "NodeResources.Cpu.CpuShares")),
                                                     fmt::format("{}/{}", cli::size_text(number(stats, "Memory.Used")),
                                                                 cli::size_text(number(stats, "Memory.Total"))),
                                                     disk_text(stats)}}));
}

void print_detailed(const Json& stats) {
  print("\nCPU Stats\n");
  std::string between;
  for (const auto& cpu : elements(stats, "CPU")) {
    print(between + cli::facts_text({{"CPU", text(cpu, "CPU")},
                                     {"User", fmt::format("{:.2f}%", fraction(cpu, "User"))},
                                     {"System", fmt::format("{:.2f}%", fraction(cpu, "System"))},
                                     {"Idle", fmt::format("{:.2f}%", fraction(cpu, "Idle"))}}));
    between = "\n";
  }
  cli::Lines memory;
  for (const char* name : {"Total", "Available", "Used", "Free"})
    memory.emplace_back(name, cli::size_text(number(stats, std::string("Memory.") + name)));
  print("\nMemory Stats\n" + cli::facts_text(memory) + "\nDisk Stats\n");
  between.clear();
  for (const auto& disk : elements(stats, "DiskStats")) {
    print(between + cli::facts_text({{"Device", text(disk, "Device")},
                                     {"MountPoint", text(disk, "Mountpoint")},
                                     {"Size", cli::size_text(number(disk, "Size"))},
                                     {"Used", cli::size_text(number(disk, "Used"))},
                                     {"Available", cli::size_text(number(disk, "Available"))},
                                     {"Used Percent", fmt::format("{:.2f}%", fraction(disk, "UsedPercent"))},
                                     {"Inodes Percent", fmt::format("{:.2f}%", fraction(disk, "InodesUsedPercent"))}}));
    between = "\n";
  }
}

/// What the machine does now; null when it cannot be asked.
Json stats_of(Api& api, const Json& node) {
  if (text(node, "Status") != "ready") return nullptr;
  try {
    return api.get("/v1/client/stats", {{"node_id", text(node, "ID")}});
  } catch (const Error& error) {
    cli::say(fmt::format("error fetching node stats: {}", error.one_line()));
    return nullptr;
  }
}

void print_map(const char* title, const boost::json::object& map) {
  cli::Lines lines;
  for (const auto& [name, value] : map)
    lines.emplace_back(std::string_view(name), value.is_string() ? std::string(std::string_view(value.get_string()))
                                                                 : boost::json::serialize(value));
  std::sort(lines.begin(), lines.end());
  print(fmt::format("\n{}\n", title) + cli::facts_text(lines));
}

void print_parts(Api& api, const Json& node, const boost::json::array& allocations, const Json& stats,
                 const Arguments& arguments) {
  const bool verbose = arguments.has("verbose");
  if (verbose) print_verbose_parts(node);
  print_events(node, verbose);
  print_allocated(node, allocations);
  if (stats.is_null()) return;
  print_used(api, node, allocations);
  print_host(node, stats);
  if (arguments.has("stats")) print_detailed(stats);
}

int one(Api& api, const std::string& id, const Arguments& arguments) {
  const Json node = api.get("/v1/node/" + cli::part(id));
  if (cli::print_formatted(arguments, node)) return 0;
  const bool verbose = arguments.has("verbose"), brief = arguments.has("short");
  const Json stats = brief ? Json() : stats_of(api, node),
             allocations = api.get("/v1/node/" + cli::part(id) + "/allocations");
  auto lines = node_facts(node);
  if (!stats.is_null()) lines.emplace_back("Uptime", go_duration(number(stats, "Uptime")));
  if (brief || !verbose) add_names(lines, node, brief ? "Drivers" : "Driver Status");
  print(cli::facts_text(lines));
  if (!brief) print_parts(api, node, elements(allocations), stats, arguments);
  print("\nAllocations\n" + allocations_text(elements(allocations), verbose));
  if (!verbose || brief) return 0;
  print_map("Attributes", members(node, "Attributes"));
  print_map("Meta", members(node, "Meta"));
  return 0;
}

}  // namespace

std::string own_node(Api& api) {
  const Json self = api.get("/v1/agent/self");
  if (const auto id = text(self, "stats.client.node_id"); !id.empty()) return id;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  for (const auto& node : elements(api.get("/v1/nodes"))) {
    if (text(node, "Name") == name) return text(node, "ID");
  }
  throw Error(Code::not_found, fmt::format("the agent is no node, and no node has the name of this machine, {}", name));
}

int node_status(const Arguments& arguments) {
  Api api(arguments);
  if (arguments.has("self")) return one(api, own_node(api), arguments);
  return arguments.positional().empty() ? list_nodes(api, arguments)
                                        : one(api, find_node(api, arguments.positional().front()), arguments);
}

}  // namespace underway::nomad
