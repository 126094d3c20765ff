#include <sched.h>
#include <sys/utsname.h>

#include <charconv>
#include <cmath>
#include <fstream>

#include "base/text.hpp"
#include "node/detail/proc_text.hpp"
#include "node/fingerprint.hpp"
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

std::int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0)
    return static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return CPU_COUNT(&set);
}

/// MHz: what the hardware is sold as, before what it happens to run at now.
std::int64_t frequency(const Machine& machine, std::string_view cpuinfo) {
  for (const char* file : {"base_frequency", "cpuinfo_max_freq"}) {
    const auto text = os::find_file(machine.path(fmt::format("/sys/devices/system/cpu/cpu0/cpufreq/{}", file)));
    if (!text) continue;
    std::int64_t kilohertz = 0;
    const std::string_view digits = trim(*text);
    std::from_chars(digits.data(), digits.data() + digits.size(), kilohertz);
    if (kilohertz > 0) return kilohertz / 1000;
  }
  const std::string now = detail::proc_field(cpuinfo, "cpu MHz");
  return now.empty() ? 0 : std::llround(std::strtod(now.c_str(), nullptr));
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

  const std::int64_t cores = options.cpu_cores.value_or(usable_cores());
  const std::int64_t megahertz = frequency(machine, cpuinfo);
  if (megahertz > 0) attributes["cpu.frequency"] = std::to_string(megahertz);
  attributes["cpu.numcores"] = std::to_string(cores);
  attributes["cpu.reservablecores"] = std::to_string(cores);
  // A virtual machine may hide its frequency: count 1000 MHz a core, so that jobs can still be placed.
  const std::int64_t total = options.cpu_total_compute.value_or(cores * (megahertz > 0 ? megahertz : 1000));
  attributes["cpu.totalcompute"] = std::to_string(total);
  attributes["cpu.usablecompute"] = std::to_string(std::max<std::int64_t>(0, total - options.reserved.cpu));
  findings.resources.cpu = total;
  findings.resources.cores = cores;

  std::int64_t numa_nodes = 0;
  const std::string nodes = machine.path("/sys/devices/system/node");
  if (os::exists(nodes)) {
    for (const auto& entry : os::list_directory(nodes))
      if (entry.name.starts_with("node") && entry.name.size() > 4 && entry.name[4] >= '0' && entry.name[4] <= '9')
        ++numa_nodes;
  }
  attributes["numa.node.count"] = std::to_string(std::max<std::int64_t>(1, numa_nodes));
}

void fingerprint_memory(const Machine& machine, const Options& options, Findings& findings) {
  const std::string meminfo = os::find_file(machine.path("/proc/meminfo")).value_or("");
  const std::string total = detail::proc_field(meminfo, "MemTotal");
  std::int64_t kibibytes = 0;
  std::from_chars(total.data(), total.data() + total.size(), kibibytes);
  const std::int64_t bytes = options.memory_total_mb ? *options.memory_total_mb * 1024 * 1024 : kibibytes * 1024;
  if (bytes > 0) findings.attributes["memory.totalbytes"] = std::to_string(bytes);
  findings.resources.memory_mb = bytes / (1024 * 1024);
}

}  // namespace underway::node
