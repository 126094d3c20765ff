#include "os/process/capability.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::os {

const std::vector<std::string>& all_capability_names() {
  // In the order of their numbers, linux/capability.h of kernel 6.1.
  static const std::vector<std::string> kNames = {"chown",
                                                  "dac_override",
                                                  "dac_read_search",
                                                  "fowner",
                                                  "fsetid",
                                                  "kill",
                                                  "setgid",
                                                  "setuid",
                                                  "setpcap",
                                                  "linux_immutable",
                                                  "net_bind_service",
                                                  "net_broadcast",
                                                  "net_admin",
                                                  "net_raw",
                                                  "ipc_lock",
                                                  "ipc_owner",
                                                  "sys_module",
                                                  "sys_rawio",
                                                  "sys_chroot",
                                                  "sys_ptrace",
                                                  "sys_pacct",
                                                  "sys_admin",
                                                  "sys_boot",
                                                  "sys_nice",
                                                  "sys_resource",
                                                  "sys_time",
                                                  "sys_tty_config",
                                                  "mknod",
                                                  "lease",
                                                  "audit_write",
                                                  "audit_control",
                                                  "setfcap",
                                                  "mac_override",
                                                  "mac_admin",
                                                  "syslog",
                                                  "wake_alarm",
                                                  "block_suspend",
                                                  "audit_read",
                                                  "perfmon",
                                                  "bpf",
                                                  "checkpoint_restore"};
  return kNames;
}

std::optional<Capabilities> find_capability(std::string_view name) {
  std::string key = lower(name);
  if (key.starts_with("cap_")) key.erase(0, 4);
  const auto& names = all_capability_names();
  if (key == "all") return (Capabilities{1} << names.size()) - 1;
  const auto it = std::find(names.begin(), names.end(), key);
  if (it == names.end()) return std::nullopt;
  return Capabilities{1} << (it - names.begin());
}

std::vector<std::string> capability_names(Capabilities set) {
  std::vector<std::string> names;
  for (std::size_t bit = 0; bit < all_capability_names().size(); ++bit) {
    if ((set >> bit & 1) != 0) names.push_back(all_capability_names()[bit]);
  }
  return names;
}

}  // namespace underway::os
