#include "acl/capability.hpp"

#include <algorithm>
#include <array>

namespace underway::acl {

namespace {

constexpr std::pair<Access, std::string_view> kAccesses[] = {{Access::deny, "deny"},
                                                             {Access::list, "list"},
                                                             {Access::read, "read"},
                                                             {Access::write, "write"},
                                                             {Access::destroy, "destroy"}};

const Capabilities& reading() {
  static const Capabilities capabilities{Capability::list_jobs,
                                         Capability::parse_job,
                                         Capability::read_job,
                                         Capability::csi_list_volume,
                                         Capability::csi_read_volume,
                                         Capability::read_job_scaling,
                                         Capability::list_scaling_policies,
                                         Capability::read_scaling_policy,
                                         Capability::host_volume_read};
  return capabilities;
}

const Capabilities& writing() {
  static const Capabilities capabilities = [] {
    Capabilities all{Capability::scale_job,         Capability::submit_job,
                     Capability::dispatch_job,      Capability::read_logs,
                     Capability::read_fs,           Capability::alloc_exec,
                     Capability::alloc_lifecycle,   Capability::csi_mount_volume,
                     Capability::csi_write_volume,  Capability::submit_recommendation,
                     Capability::host_volume_create};
    all.add(reading());
    return all;
  }();
  return capabilities;
}

const Capabilities& scaling() {
  static const Capabilities capabilities{Capability::list_scaling_policies,
                                         Capability::read_scaling_policy,
                                         Capability::read_job_scaling,
                                         Capability::scale_job,
                                         Capability::read_job,
                                         Capability::submit_recommendation};
  return capabilities;
}

}  // namespace

void Capabilities::add(Capability capability) {
  bits_.set(static_cast<std::size_t>(capability));
  switch (capability) {
    case Capability::submit_job:
      for (auto i = static_cast<std::size_t>(Capability::register_job);
           i <= static_cast<std::size_t>(Capability::delete_service_registration); ++i)
        bits_.set(i);
      break;
    case Capability::read_fs:
      add(Capability::read_logs);
      break;
    case Capability::alloc_lifecycle:
      add(Capability::pause_allocation);
      break;
    case Capability::host_volume_write:
      add(Capability::host_volume_register);
      add(Capability::host_volume_delete);
      break;
    case Capability::host_volume_register:
      add(Capability::host_volume_create);
      break;
    case Capability::host_volume_create:
      add(Capability::host_volume_read);
      break;
    default:
      break;
  }
}

std::string_view spell(Capability capability) {
  return dashed_names<Capability>().at(static_cast<std::size_t>(capability));
}

std::optional<Capability> parse_capability(std::string_view text) {
  const auto& names = dashed_names<Capability>();
  const auto it = std::find(names.begin(), names.end(), text);
  if (it == names.end()) return std::nullopt;
  return static_cast<Capability>(it - names.begin());
}

const std::vector<std::string>& capability_names() {
  static const std::vector<std::string> names(dashed_names<Capability>().begin(), dashed_names<Capability>().end());
  return names;
}

std::optional<Capabilities> expand_policy(std::string_view policy) {
  if (policy == "read") return reading();
  if (policy == "write") return writing();
  if (policy == "scale") return scaling();
  if (policy == "deny") return Capabilities{Capability::deny};
  return std::nullopt;
}

std::string_view spell(Access access) {
  for (const auto& [value, name] : kAccesses) {
    if (value == access) return name;
  }
  return {};
}

std::optional<Access> parse_access(std::string_view text) {
  for (const auto& [value, name] : kAccesses) {
    if (name == text) return value;
  }
  return std::nullopt;
}

const std::vector<std::string>& access_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const auto& [value, name] : kAccesses) out.emplace_back(name);
    return out;
  }();
  return names;
}

std::string_view spell(Level level) { return name_of(level); }

}  // namespace underway::acl
