// What is plugged into a machine while it runs, and out of it again.
#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "vm/machine/machine.hpp"
#include "vm/state/lease.hpp"

namespace underway::vm {

void Machine::require_movable(const char* what) const {
  std::vector<std::string> names;
  for (const auto& memory : run_.machine.shared_memory) names.push_back(memory.name);
  for (const auto& device : run_.machine.host_devices) names.push_back(device.name);
  if (names.empty()) return;
  throw Error(Code::unsupported, fmt::format("{} cannot {}", who(), what))
      .because(fmt::format("{} {} of this host", join(names, ", "), names.size() == 1 ? "is" : "are"))
      .advise("unplug it first, and plug one in where the machine goes on");
}

void Machine::write_run_file() const {
  os::write_file(run_directory_ + "/run.json", underway::json::encode(run_) + "\n", 0600, {}, os::Durability::cached);
}

void Machine::remove_device(const std::string& name, Duration within) {
  static_cast<void>(qmp_.take_events());
  const auto id = name + "-device";
  qmp_.execute("device_del", {{"id", id}});
  const Deadline deadline(within);
  for (;;) {
    const auto event = qmp_.wait_event({"DEVICE_DELETED", "DEVICE_UNPLUG_GUEST_ERROR"}, deadline.left());
    if (!event)
      throw Error(Code::timeout, fmt::format("the guest of {} does not let go of {}", who(), name))
          .because(fmt::format("it was waited for {}", human_duration(within)))
          .advise("end what uses it in the guest");
    if (underway::json::text_at(event->data, "device") != id) continue;
    if (event->name == "DEVICE_DELETED") return;
    throw Error(Code::conflict, fmt::format("the guest of {} does not let go of {}", who(), name));
  }
}

/// It does so behind its answer (RCU), some 50 ms later on a busy host. Until then the memory is saved and sent with
/// the machine's own, and nobody takes it.
void Machine::await_freed(const std::string& memory, Duration within) {
  const Deadline deadline(within);
  for (;;) {
    const auto blocks = qmp_.execute("human-monitor-command", {{"command-line", "info ramblock"}});
    if (!blocks.is_string() || blocks.as_string().find(memory) == boost::json::string::npos) return;
    if (deadline.passed()) throw Error(Code::timeout, fmt::format("QEMU does not let go of {} of {}", memory, who()));
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
}

void Machine::unplug(const std::string& name, Duration within) {
  const auto turn = Turn::take(run_.directory, fmt::format("unplugging of {} from {}", name, who()));
  auto& memories = run_.machine.shared_memory;
  auto& devices = run_.machine.host_devices;
  const auto memory = std::find_if(memories.begin(), memories.end(), [&](const auto& m) { return m.name == name; });
  const auto device = std::find_if(devices.begin(), devices.end(), [&](const auto& d) { return d.name == name; });
  if (memory == memories.end() && device == devices.end())
    throw Error(Code::not_found, fmt::format("{} has no device '{}'", who(), name));
  remove_device(name, within);
  const bool is_memory = memory != memories.end();
  if (is_memory) {
    qmp_.execute("object-del", {{"id", name + "-memory"}});
    memories.erase(memory);
  } else {
    devices.erase(device);
  }
  write_run_file();
  if (is_memory) await_freed(name + "-memory", within);
}

void Machine::plug(const SharedMemorySpec& memory) {
  require_port(memory.name, memory.port);
  qmp_.execute("object-add", {{"qom-type", "memory-backend-file"},
                              {"id", memory.name + "-memory"},
                              {"share", true},
                              {"mem-path", memory.file},
                              {"size", memory.memory_mb << 20}});
  try {
    qmp_.execute("device_add", {{"driver", "ivshmem-plain"},
                                {"id", memory.name + "-device"},
                                {"memdev", memory.name + "-memory"},
                                {"bus", fmt::format("port{}", memory.port)}});
  } catch (...) {
    qmp_.execute("object-del", {{"id", memory.name + "-memory"}});
    throw;
  }
  run_.machine.shared_memory.push_back(memory);
  write_run_file();
}

void Machine::plug(const HostDeviceSpec& device) {
  require_port(device.name, device.port);
  qmp_.execute("device_add", {{"driver", "vfio-pci"},
                              {"id", device.name + "-device"},
                              {"host", device.address},
                              {"bus", fmt::format("port{}", device.port)}});
  run_.machine.host_devices.push_back(device);
  write_run_file();
}

void Machine::require_port(const std::string& name, std::int64_t port) const {
  if (port < 0 || port >= run_.machine.ports)
    throw Error(Code::exhausted, fmt::format("{} has no room for {}", who(), name))
        .because(fmt::format("it has {} ports", run_.machine.ports));
}

}  // namespace underway::vm
