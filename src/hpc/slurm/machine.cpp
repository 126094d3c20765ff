#include "slurm/machine.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/cgroup.hpp"

namespace underway::slurm {
namespace {

std::int64_t number_in(const std::string& path, std::int64_t otherwise) {
  return parse_number<std::int64_t>(trim(os::find_file(path).value_or(""))).value_or(otherwise);
}

/// "cpu12"
bool is_processor(std::string_view name) {
  return name.starts_with("cpu") && name.size() > 3 &&
         name.find_first_not_of("0123456789", 3) == std::string_view::npos;
}

void read_processors(const std::string& root, Machine& machine) {
  const std::string directory = root + "/sys/devices/system/cpu";
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> sockets;  // threads by core by socket
  std::int64_t all = 0;
  if (!os::exists(directory)) return;
  for (const auto& entry : os::list_directory(directory)) {
    const auto place = directory + "/" + entry.name;
    // cpu0 has no such file where it cannot be switched off.
    if (!is_processor(entry.name) || number_in(place + "/online", 1) == 0) continue;
    ++sockets[number_in(place + "/topology/physical_package_id", 0)][number_in(place + "/topology/core_id", all)];
    ++all;
  }
  if (all == 0) return;
  std::set<std::int64_t> cores, threads;
  for (const auto& [_, socket] : sockets) {
    cores.insert(static_cast<std::int64_t>(socket.size()));
    for (const auto& [_, count] : socket) threads.insert(count);
  }
  machine.cores_per_socket = all;
  if (cores.size() != 1 || threads.size() != 1) return;
  machine.sockets = static_cast<std::int64_t>(sockets.size());
  machine.cores_per_socket = *cores.begin();
  machine.threads_per_core = *threads.begin();
}

std::int64_t read_memory_mb(const std::string& root) {
  for (const auto& line : split(os::find_file(root + "/proc/meminfo").value_or(""), '\n')) {
    if (!line.starts_with("MemTotal:")) continue;
    return leading_number_or<std::int64_t>(trim(std::string_view(line).substr(9)), 0) / 1024 / 100 * 100;
  }
  return 0;
}

/// cgroup.conf(5): cgroup/v1 takes the controllers one by one, cgroup/v2 none of a machine that has others.
std::string read_cgroup(const std::string& root) {
  const auto system = os::CgroupSystem::probe(root);
  if (std::ranges::all_of(std::array{"freezer", "memory", "cpuset", "cpuacct", "devices"},
                          [&](const char* name) { return system.v1_mounts().contains(name); }))
    return "v1";
  const auto& found = system.v2_controllers();
  if (system.mode() == "v2" && std::ranges::all_of(std::array{"cpu", "cpuset", "memory"}, [&](const char* name) {
        return std::ranges::find(found, name) != found.end();
      }))
    return "v2";
  return "none";
}

}  // namespace

Machine read_machine(const std::string& root) {
  Machine machine;
  read_processors(root, machine);
  machine.memory_mb = read_memory_mb(root);
  machine.cgroup = read_cgroup(root);
  return machine;
}

}  // namespace underway::slurm
