#include "node/fingerprint/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::node {

namespace {

constexpr std::int64_t kHighestCore = 65535;

bool parse_id(std::string_view text, std::int64_t& id) {
  id = parse_number<std::int64_t>(trim(text)).value_or(-1);
  return id >= 0 && id <= kHighestCore;
}

std::optional<std::int64_t> find_number(const std::string& path) {
  const auto text = os::find_file(path, 4096);
  return text ? parse_number<std::int64_t>(trim(*text)) : std::nullopt;
}

/// What hwloc found out, until it is freed.
class Hwloc {
 public:
  enum class Wanted { processors, devices };

  Hwloc(const Machine& machine, Wanted wanted) {
    check(::hwloc_topology_init(&raw_), machine);
    try {
      load(machine, wanted);
    } catch (...) {
      ::hwloc_topology_destroy(raw_);
      throw;
    }
  }
  Hwloc(const Hwloc&) = delete;
  Hwloc& operator=(const Hwloc&) = delete;
  ~Hwloc() { ::hwloc_topology_destroy(raw_); }

  hwloc_topology_t get() const { return raw_; }

 private:
  static void check(int result, const Machine& machine) {
    if (result == 0) return;
    if (machine.hardware.empty()) throw errno_error(errno, "cannot tell the topology of this machine's processors");
    throw Error(Code::invalid, fmt::format("'{}' describes no hardware", machine.hardware.substr(0, kShown)));
  }

  void load(const Machine& machine, Wanted wanted) {
    // It would move the process from core to core to look at their caches.
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                          HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS;
    const std::string& description = machine.hardware;
    if (description.starts_with('<'))
      check(::hwloc_topology_set_xmlbuffer(raw_, description.c_str(), static_cast<int>(description.size()) + 1),
            machine);
    else if (!description.empty())
      check(::hwloc_topology_set_synthetic(raw_, description.c_str()), machine);
    else if (wanted == Wanted::processors)
      flags |= HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING;
    const auto keep = [&](hwloc_obj_type_t type, hwloc_type_filter_e what) {
      check(::hwloc_topology_set_type_filter(raw_, type, what), machine);
    };
    check(::hwloc_topology_set_all_types_filter(raw_, HWLOC_TYPE_FILTER_KEEP_NONE), machine);
    keep(HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    keep(HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);  // what NUMA nodes within a package hang on
    if (wanted == Wanted::devices) keep(HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
    check(::hwloc_topology_set_flags(raw_, flags), machine);
    check(::hwloc_topology_load(raw_), machine);
  }

  static constexpr std::size_t kShown = 80;
  hwloc_topology_t raw_ = nullptr;
};

/// All objects of a type, in the order of hwloc.
std::vector<hwloc_obj_t> objects(const Hwloc& hwloc, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> found;
  for (hwloc_obj_t object = nullptr; (object = ::hwloc_get_next_obj_by_type(hwloc.get(), type, object)) != nullptr;)
    found.push_back(object);
  return found;
}

std::int64_t id_of(hwloc_obj_t object) {
  return object == nullptr || object->os_index == HWLOC_UNKNOWN_INDEX ? 0 : object->os_index;
}

/// By core. Memory of another kind, such as HBM, is a NUMA node beside the one that cores are counted to: of several
/// that are as near, the kernel gives the lowest number to the one that has the cores.
std::map<unsigned, std::int64_t> numa_nodes_of_cores(const Hwloc& hwloc) {
  auto nodes = objects(hwloc, HWLOC_OBJ_NUMANODE);
  const auto size = [](hwloc_obj_t node) { return ::hwloc_bitmap_weight(node->cpuset); };
  std::sort(nodes.begin(), nodes.end(), [&](hwloc_obj_t a, hwloc_obj_t b) {
    return std::pair(size(a), a->os_index) < std::pair(size(b), b->os_index);
  });
  std::map<unsigned, std::int64_t> found;
  for (const auto node : nodes) {
    for (int core = -1; (core = ::hwloc_bitmap_next(node->cpuset, core)) >= 0;)
      found.emplace(static_cast<unsigned>(core), id_of(node));
  }
  return found;
}

/// What hwloc calls the cores of the kind, such as "IntelAtom"; empty when the kernel does not tell types apart.
std::string type_of(hwloc_topology_t topology, unsigned kind, hwloc_cpuset_t cores) {
  unsigned count = 0;
  hwloc_info_s* details = nullptr;
  int rank = -1;
  if (::hwloc_cpukinds_get_info(topology, kind, cores, &rank, &count, &details, 0) != 0 || rank < 0) return {};
  for (unsigned i = 0; i < count; ++i)
    if (std::string_view(details[i].name) == "CoreType") return details[i].value;
  return {};
}

/// Cores of another type than the best. A kind that differs only in how fast a core may become is no other type: of
/// equal cores some may be favoured.
std::set<unsigned> efficient_cores(const Hwloc& hwloc) {
  std::set<unsigned> found;
  const int kinds = ::hwloc_cpukinds_get_nr(hwloc.get(), 0);
  if (kinds < 2) return found;
  const std::unique_ptr<hwloc_bitmap_s, decltype(&::hwloc_bitmap_free)> cores(::hwloc_bitmap_alloc(),
                                                                              &::hwloc_bitmap_free);
  // In the order of rank, where there is one.
  const std::string best = type_of(hwloc.get(), static_cast<unsigned>(kinds - 1), cores.get());
  for (int kind = 0; kind < kinds; ++kind) {
    const std::string type = type_of(hwloc.get(), static_cast<unsigned>(kind), cores.get());
    if (type.empty() || type == best) continue;
    for (int core = -1; (core = ::hwloc_bitmap_next(cores.get(), core)) >= 0;)
      found.insert(static_cast<unsigned>(core));
  }
  return found;
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

Processors read_processors(const Machine& machine, std::int64_t usual_mhz) {
  const Hwloc hwloc(machine, Hwloc::Wanted::processors);
  Processors found;
  found.numa_nodes = std::max(1, ::hwloc_get_nbobjs_by_type(hwloc.get(), HWLOC_OBJ_NUMANODE));
  const auto numa = numa_nodes_of_cores(hwloc);
  const auto efficient = efficient_cores(hwloc);
  const hwloc_const_bitmap_t allowed = ::hwloc_topology_get_allowed_cpuset(hwloc.get());
  for (const auto core : objects(hwloc, HWLOC_OBJ_PU)) {
    if (::hwloc_bitmap_isset(allowed, core->os_index) == 0) continue;
    const auto at = numa.find(core->os_index);
    found.cores.cores.push_back(
        {core->os_index, id_of(::hwloc_get_ancestor_obj_by_type(hwloc.get(), HWLOC_OBJ_PACKAGE, core)),
         at == numa.end() ? 0 : at->second,
         frequency_of(machine.path(fmt::format("/sys/devices/system/cpu/cpu{}", core->os_index)), usual_mhz),
         efficient.contains(core->os_index)});
  }
  // hwloc has them by where they lie.
  std::sort(found.cores.cores.begin(), found.cores.cores.end(),
            [](const model::Core& a, const model::Core& b) { return a.id < b.id; });
  return found;
}

PciNumaNodes read_pci_numa_nodes(const Machine& machine) {
  const Hwloc hwloc(machine, Hwloc::Wanted::devices);
  const auto numa = numa_nodes_of_cores(hwloc);
  PciNumaNodes found;
  for (const auto device : objects(hwloc, HWLOC_OBJ_PCI_DEVICE)) {
    const auto at = ::hwloc_get_non_io_ancestor_obj(hwloc.get(), device);
    std::set<std::int64_t> near;
    for (int core = -1; at != nullptr && (core = ::hwloc_bitmap_next(at->cpuset, core)) >= 0;)
      if (const auto node = numa.find(static_cast<unsigned>(core)); node != numa.end()) near.insert(node->second);
    if (near.size() != 1) continue;
    const auto& pci = device->attr->pcidev;
    found.emplace(fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func), *near.begin());
  }
  return found;
}

}  // namespace underway::node
