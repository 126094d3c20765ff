#include <sys/utsname.h>

#include <cmath>
#include <fstream>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "node/detail/proc_text.hpp"
#include "node/fingerprint/fingerprint.hpp"
#include "node/fingerprint/topology.hpp"
#include "os/file.hpp"

namespace underway::node {

namespace {

/// Go's names for what uname(2) calls the machine.
std::string go_architecture(std::string_view machine) {
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  if (machine == "ppc64le" || machine == "riscv64" || machine == "s390x") return std::string(machine);
  return std::string(machine);
}

bool holds(const std::vector<std::int64_t>& cores, std::int64_t id) {
  return std::find(cores.begin(), cores.end(), id) != cores.end();
}

/// Of the machine's cores those that tasks may hold alone.
model::Topology reservable(const model::Topology& usable, const Options& options) {
  model::Topology topology;
  for (const auto& core : usable.cores) {
    if (holds(options.reserved.reservable_cores, core.id)) continue;
    if (options.reservable_cores.empty() || holds(options.reservable_cores, core.id)) topology.cores.push_back(core);
  }
  return topology;
}

/// MHz: what the hardware is sold as, before what it happens to run at now.
std::int64_t frequency(const Machine& machine, std::string_view cpuinfo) {
  for (const char* file : {"base_frequency", "cpuinfo_max_freq"}) {
    const auto text = os::find_file(machine.path(fmt::format("/sys/devices/system/cpu/cpu0/cpufreq/{}", file)));
    if (!text) continue;
    if (const auto kilohertz = leading_number_or<std::int64_t>(trim(*text), 0); kilohertz > 0) return kilohertz / 1000;
  }
  return std::llround(leading_number_or(detail::proc_field(cpuinfo, "cpu MHz"), 0.0));
}

}  // namespace

void fingerprint_cpu(const Machine& machine, const Options& options, Findings& findings) {
  const std::string cpuinfo = os::find_file(machine.path("/proc/cpuinfo"), 64U << 20).value_or("");
  utsname names{};
  ::uname(&names);
  auto& attributes = findings.attributes;
  attributes["cpu.arch"] = go_architecture(names.machine);
  if (const std::string model = detail::proc_field(cpuinfo, "model name"); !model.empty())
    attributes["cpu.modelname"] = model;

  const std::int64_t megahertz = frequency(machine, cpuinfo);
  // A virtual machine may hide its frequency: count 1000 MHz a core, so that jobs can still be placed.
  Processors processors = read_processors(machine, megahertz > 0 ? megahertz : 1000);
  model::Topology& usable = processors.cores;
  const std::int64_t cores = options.cpu_cores.value_or(std::ssize(usable.cores));
  if (std::ssize(usable.cores) > cores) usable.cores.resize(static_cast<std::size_t>(cores));

  if (megahertz > 0) attributes["cpu.frequency"] = std::to_string(megahertz);
  attributes["cpu.numcores"] = std::to_string(cores);
  std::int64_t sum = 0, kept_back = 0;
  std::map<bool, std::pair<std::int64_t, std::int64_t>> kinds;  // how many cores, and their best frequency
  for (const auto& core : usable.cores) {
    sum += core.base_mhz;
    if (holds(options.reserved.reservable_cores, core.id)) kept_back += core.base_mhz;
    auto& [count, best] = kinds[core.efficiency];
    ++count;
    best = std::max(best, core.base_mhz);
  }
  if (kinds.size() == 2) {
    for (const auto& [efficiency, kind] : kinds) {
      const char* suffix = efficiency ? ".efficiency" : ".performance";
      attributes[std::string("cpu.numcores") + suffix] = std::to_string(kind.first);
      attributes[std::string("cpu.frequency") + suffix] = std::to_string(kind.second);
    }
  }
  const std::int64_t total = options.cpu_total_compute.value_or(sum);
  attributes["cpu.totalcompute"] = std::to_string(total);
  const std::int64_t kept = kept_back > 0 ? kept_back : options.reserved.cpu;
  attributes["cpu.usablecompute"] = std::to_string(std::max<std::int64_t>(0, total - kept));
  findings.resources.cpu = total;
  findings.resources.cores = cores;
  findings.reserved_cpu = kept;
  findings.resources.topology = reservable(usable, options);
  for (const auto& core : findings.resources.topology.cores) findings.resources.reservable_cores.push_back(core.id);
  for (const auto& core : usable.cores)
    if (!holds(options.reserved.reservable_cores, core.id)) findings.usable_cores.push_back(core.id);
  attributes["cpu.reservablecores"] = std::to_string(findings.resources.reservable_cores.size());
  attributes["numa.node.count"] = std::to_string(processors.numa_nodes);
}

void fingerprint_memory(const Machine& machine, const Options& options, Findings& findings) {
  const std::string meminfo = os::find_file(machine.path("/proc/meminfo")).value_or("");
  const auto kibibytes = leading_number_or<std::int64_t>(detail::proc_field(meminfo, "MemTotal"), 0);
  const std::int64_t bytes = options.memory_total_mb ? *options.memory_total_mb * 1024 * 1024 : kibibytes * 1024;
  if (bytes > 0) findings.attributes["memory.totalbytes"] = std::to_string(bytes);
  findings.resources.memory_mb = bytes / (1024 * 1024);
}

}  // namespace underway::node
