#include "node/topology.hpp"

#include <charconv>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::node {

namespace {

constexpr std::int64_t kHighestCore = 65535;

bool parse_id(std::string_view text, std::int64_t& id) {
  text = trim(text);
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id);
  return failed == std::errc{} && end == text.data() + text.size() && id >= 0 && id <= kHighestCore;
}

std::optional<std::int64_t> find_number(const std::string& path) {
  const auto text = os::find_file(path, 4096);
  if (!text) return std::nullopt;
  const std::string_view digits = trim(*text);
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failed != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// What the kernel writes is a list; what it does not write is none.
std::vector<std::int64_t> find_cores(const std::string& path) {
  const auto text = os::find_file(path, 1U << 16);
  return text ? parse_cores(trim(*text)) : std::vector<std::int64_t>();
}

/// Ids of the NUMA nodes; an image of a machine may lack them.
std::vector<std::int64_t> numa_nodes(const Machine& machine) {
  std::vector<std::int64_t> ids;
  const std::string directory = machine.path("/sys/devices/system/node");
  if (!os::exists(directory)) return ids;
  for (const auto& entry : os::list_directory(directory)) {
    std::int64_t id = 0;
    if (entry.name.starts_with("node") && parse_id(std::string_view(entry.name).substr(4), id)) ids.push_back(id);
  }
  return ids;
}

/// MHz: what the core is sold as, before what it can reach.
std::int64_t frequency_of(const std::string& core, std::int64_t usual) {
  for (const char* file : {"/cpufreq/base_frequency", "/cpufreq/cpuinfo_max_freq"}) {
    const auto kilohertz = find_number(core + file);
    if (kilohertz && *kilohertz > 0) return *kilohertz / 1000;
  }
  return usual;
}

}  // namespace

std::vector<std::int64_t> parse_cores(std::string_view text) {
  std::set<std::int64_t> cores;
  if (trim(text).empty()) return {};
  for (const auto& item : split(text, ',')) {
    const auto ends = split(item, '-');
    std::int64_t first = 0, last = 0;
    bool good = ends.size() <= 2 && parse_id(ends[0], first);
    last = first;
    if (good && ends.size() == 2) good = parse_id(ends[1], last) && last >= first;
    if (!good)
      throw Error(Code::invalid, fmt::format("'{}' is no set of cores", text))
          .because(fmt::format("at '{}'", item))
          .advise("write it as \"0-3,8\"");
    for (; first <= last; ++first) cores.insert(first);
  }
  return {cores.begin(), cores.end()};
}

std::string to_text(const std::vector<std::int64_t>& cores) {
  std::string text;
  const std::set<std::int64_t> sorted(cores.begin(), cores.end());
  for (auto it = sorted.begin(); it != sorted.end();) {
    const std::int64_t first = *it;
    std::int64_t last = first;
    for (++it; it != sorted.end() && *it == last + 1; ++it) last = *it;
    text += text.empty() ? "" : ",";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

model::Topology read_topology(const Machine& machine, std::int64_t usual_mhz) {
  model::Topology topology;
  const std::string cpus = machine.path("/sys/devices/system/cpu");
  std::map<std::int64_t, std::int64_t> numa_of;
  for (const auto node : numa_nodes(machine))
    for (const auto id : find_cores(machine.path(fmt::format("/sys/devices/system/node/node{}/cpulist", node))))
      numa_of[id] = node;
  // Hybrid processors: the kernel names the slower ones.
  const auto slow = find_cores(machine.path("/sys/devices/cpu_atom/cpus"));
  for (const auto id : find_cores(cpus + "/online")) {
    const std::string core = fmt::format("{}/cpu{}", cpus, id);
    const auto numa = numa_of.find(id);
    topology.cores.push_back(
        {id, std::max<std::int64_t>(0, find_number(core + "/topology/physical_package_id").value_or(0)),
         numa == numa_of.end() ? 0 : numa->second, frequency_of(core, usual_mhz),
         std::binary_search(slow.begin(), slow.end(), id)});
  }
  return topology;
}

std::int64_t count_numa_nodes(const Machine& machine) {
  return std::max<std::int64_t>(1, std::ssize(numa_nodes(machine)));
}

}  // namespace underway::node
