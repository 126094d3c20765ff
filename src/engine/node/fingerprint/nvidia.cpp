#include <dlfcn.h>

#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "node/fingerprint/devices.hpp"
#include "os/file.hpp"

namespace underway::node {

namespace {

// Of the NVML API Reference, what is used here.
using Handle = void*;
using Result = int;
constexpr Result kSuccess = 0;
constexpr unsigned kClockGraphics = 0, kClockMemory = 2;
constexpr unsigned kTextSize = 96;

struct Memory {
  unsigned long long total = 0, free = 0, used = 0;
};
struct PciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};

model::DeviceAttribute amount(std::int64_t value, const char* unit) {
  model::DeviceAttribute attribute;
  attribute.integer = value;
  attribute.unit = unit;
  return attribute;
}

model::DeviceAttribute words(std::string text) {
  model::DeviceAttribute attribute;
  attribute.text = std::move(text);
  return attribute;
}

/// MB/s of one lane, by generation. Source: PCI Express Base Specification, rates without encoding.
std::int64_t lane_rate(unsigned generation) {
  constexpr std::int64_t kRates[] = {0, 250, 500, 985, 1969, 3938, 7563};
  return generation < std::size(kRates) ? kRates[generation] : 0;
}

class Library final : public Nvidia {
 public:
  Library(void* library, std::string root) : library_(library), root_(std::move(root)) {}
  ~Library() override {
    if (started_) call<Result()>("nvmlShutdown");
    ::dlclose(library_);
  }
  bool start() { return started_ = call<Result()>("nvmlInit_v2") == kSuccess; }
  void lie_at(PciNumaNodes numa_nodes) { numa_nodes_ = std::move(numa_nodes); }

  std::vector<model::NodeDeviceGroup> find() override {
    std::vector<model::NodeDeviceGroup> groups;
    unsigned count = 0;
    if (call<Result(unsigned*)>("nvmlDeviceGetCount_v2", &count) != kSuccess) return groups;
    for (unsigned i = 0; i < count; ++i) {
      Handle gpu = nullptr;
      if (call<Result(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2", i, &gpu) != kSuccess) continue;
      unsigned mig = 0, pending = 0;
      const bool divided =
          call<Result(Handle, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", gpu, &mig, &pending) == kSuccess &&
          mig != 0;
      if (divided)
        add_parts(groups, gpu);
      else
        add(groups, gpu, gpu, {});
    }
    return groups;
  }

 private:
  /// An older library may lack it: then it is as if it did not know the answer.
  template <class Signature, class... Arguments>
  Result call(const char* name, Arguments... arguments) {
    constexpr Result kFunctionNotFound = 13;
    auto* function = reinterpret_cast<Signature*>(::dlsym(library_, name));
    return function == nullptr ? kFunctionNotFound : function(arguments...);
  }
  std::string text(const char* name, Handle device) {
    char buffer[kTextSize] = {};
    return call<Result(Handle, char*, unsigned)>(name, device, buffer, kTextSize) == kSuccess ? buffer : "";
  }
  std::optional<unsigned> number(const char* name, Handle device) {
    unsigned value = 0;
    if (call<Result(Handle, unsigned*)>(name, device, &value) != kSuccess) return std::nullopt;
    return value;
  }
  std::optional<unsigned> clock(Handle gpu, unsigned kind) {
    unsigned megahertz = 0;
    if (call<Result(Handle, unsigned, unsigned*)>("nvmlDeviceGetMaxClockInfo", gpu, kind, &megahertz) != kSuccess)
      return std::nullopt;
    return megahertz;
  }

  void add_parts(std::vector<model::NodeDeviceGroup>& groups, Handle gpu) {
    for (unsigned i = 0; i < number("nvmlDeviceGetMaxMigDeviceCount", gpu).value_or(0); ++i) {
      Handle part = nullptr;
      if (call<Result(Handle, unsigned, Handle*)>("nvmlDeviceGetMigDeviceHandleByIndex", gpu, i, &part) != kSuccess)
        continue;
      add(groups, gpu, part, capabilities(gpu, part));
    }
  }

  /// The files that open a part: /proc/driver/nvidia/capabilities tells their numbers (NVIDIA MIG User Guide, "Device
  /// Nodes and Capabilities").
  std::vector<std::string> capabilities(Handle gpu, Handle part) {
    std::vector<std::string> paths;
    const auto minor = number("nvmlDeviceGetMinorNumber", gpu);
    const auto instance = number("nvmlDeviceGetGpuInstanceId", part);
    const auto compute = number("nvmlDeviceGetComputeInstanceId", part);
    if (!minor || !instance || !compute) return paths;
    const std::string whole =
        fmt::format("{}/proc/driver/nvidia/capabilities/gpu{}/mig/gi{}", root_, *minor, *instance);
    for (const auto& file : {whole + "/access", fmt::format("{}/ci{}/access", whole, *compute)}) {
      for (const auto& line : split(os::find_file(file, 4096).value_or(""), '\n'))
        if (line.starts_with("DeviceFileMinor:"))
          paths.push_back(fmt::format("/dev/nvidia-caps/nvidia-cap{}", trim(line.substr(line.find(':') + 1))));
    }
    return paths;
  }

  model::NodeDevice instance_of(Handle gpu, Handle part, std::vector<std::string> extra) {
    model::NodeDevice device;
    device.id = text("nvmlDeviceGetUUID", part);
    PciInfo pci{};
    if (call<Result(Handle, PciInfo*)>("nvmlDeviceGetPciInfo_v3", gpu, &pci) == kSuccess) {
      device.pci_bus_id = pci.id;
      // NVML writes the domain with eight digits, others with four.
      std::string id = lower(device.pci_bus_id);
      if (id.size() > 12) id = id.substr(id.size() - 12);
      if (const auto at = numa_nodes_.find(id); at != numa_nodes_.end()) device.numa_node = at->second;
    }
    if (const auto minor = number("nvmlDeviceGetMinorNumber", gpu))
      device.paths.push_back(fmt::format("/dev/nvidia{}", *minor));
    for (const auto* path : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}) extra.emplace_back(path);
    for (auto& path : extra)
      if (os::exists(root_ + path)) device.paths.push_back(std::move(path));
    Memory memory;
    if (call<Result(Handle, Memory*)>("nvmlDeviceGetMemoryInfo", part, &memory) != kSuccess) {
      device.healthy = false;
      device.health_description = "its driver does not answer for it";
    }
    return device;
  }

  std::map<std::string, model::DeviceAttribute> attributes_of(Handle gpu, Handle part) {
    std::map<std::string, model::DeviceAttribute> found;
    constexpr int kMebi = 20;
    Memory memory;
    if (call<Result(Handle, Memory*)>("nvmlDeviceGetMemoryInfo", part, &memory) == kSuccess)
      found["memory"] = amount(static_cast<std::int64_t>(memory.total >> kMebi), "MiB");
    if (call<Result(Handle, Memory*)>("nvmlDeviceGetBAR1MemoryInfo", gpu, &memory) == kSuccess)
      found["bar1"] = amount(static_cast<std::int64_t>(memory.total >> kMebi), "MiB");
    if (const auto milliwatt = number("nvmlDeviceGetPowerManagementLimit", gpu))
      found["power"] = amount(*milliwatt / 1000, "W");
    if (const auto megahertz = clock(gpu, kClockGraphics)) found["cores_clock"] = amount(*megahertz, "MHz");
    if (const auto megahertz = clock(gpu, kClockMemory)) found["memory_clock"] = amount(*megahertz, "MHz");
    const auto generation = number("nvmlDeviceGetMaxPcieLinkGeneration", gpu);
    const auto width = number("nvmlDeviceGetMaxPcieLinkWidth", gpu);
    if (generation && width) found["pci_bandwidth"] = amount(lane_rate(*generation) * *width, "MB/s");
    if (const auto mode = number("nvmlDeviceGetDisplayMode", gpu))
      found["display_state"] = words(*mode != 0 ? "Enabled" : "Disabled");
    if (const auto mode = number("nvmlDeviceGetPersistenceMode", gpu))
      found["persistence_mode"] = words(*mode != 0 ? "Enabled" : "Disabled");
    char version[kTextSize] = {};
    if (call<Result(char*, unsigned)>("nvmlSystemGetDriverVersion", version, kTextSize) == kSuccess)
      found["driver_version"] = words(version);
    int cuda = 0;
    if (call<Result(int*)>("nvmlSystemGetCudaDriverVersion", &cuda) == kSuccess)
      found["cuda_version"] = words(fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10));
    return found;
  }

  void add(std::vector<model::NodeDeviceGroup>& groups, Handle gpu, Handle part, std::vector<std::string> extra) {
    const std::string name = text("nvmlDeviceGetName", part);
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const model::NodeDeviceGroup& group) { return group.name == name; });
    if (it == groups.end()) {
      it = groups.insert(groups.end(), model::NodeDeviceGroup{});
      it->vendor = "nvidia";
      it->type = "gpu";
      it->name = name;
      it->attributes = attributes_of(gpu, part);
    }
    it->instances.push_back(instance_of(gpu, part, std::move(extra)));
  }

  void* library_;
  std::string root_;
  PciNumaNodes numa_nodes_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<Nvidia> Nvidia::load(const std::string& library, const std::function<PciNumaNodes()>& locate,
                                     const std::string& root) {
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return nullptr;
  auto nvidia = std::make_unique<Library>(loaded, root);
  if (!nvidia->start()) return nullptr;
  nvidia->lie_at(locate());
  return nvidia;
}

}  // namespace underway::node
