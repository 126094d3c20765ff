#include "acl/capability.hpp"

#include <algorithm>
#include <array>

namespace underway::acl {

namespace {

constexpr std::array<std::string_view, kCapabilities> kNames = {
    "deny",
    "list-jobs",
    "parse-job",
    "read-job",
    "submit-job",
    "register-job",
    "revert-job",
    "deregister-job",
    "purge-job",
    "evaluate-job",
    "plan-job",
    "tag-job-version",
    "stable-job",
    "fail-deployment",
    "pause-deployment",
    "promote-deployment",
    "unblock-deployment",
    "cancel-deployment",
    "set-alloc-health-deployment",
    "gc-allocation",
    "force-periodic-job",
    "delete-service-registration",
    "dispatch-job",
    "read-logs",
    "read-fs",
    "alloc-exec",
    "alloc-node-exec",
    "alloc-lifecycle",
    "pause-allocation",
    "sentinel-override",
    "csi-register-plugin",
    "csi-write-volume",
    "csi-read-volume",
    "csi-list-volume",
    "csi-mount-volume",
    "host-volume-create",
    "host-volume-register",
    "host-volume-read",
    "host-volume-write",
    "host-volume-delete",
    "list-scaling-policies",
    "read-scaling-policy",
    "read-job-scaling",
    "scale-job",
    "submit-recommendation",
};

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

std::string_view spell(Capability capability) { return kNames.at(static_cast<std::size_t>(capability)); }

std::optional<Capability> parse_capability(std::string_view text) {
  const auto it = std::find(kNames.begin(), kNames.end(), text);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<Capability>(it - kNames.begin());
}

const std::vector<std::string>& capability_names() {
  static const std::vector<std::string> names(kNames.begin(), kNames.end());
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
  static const std::vector<std::string> names = {"deny", "list", "read", "write", "destroy"};
  return names;
}

std::string_view spell(Level level) {
  static constexpr std::array<std::string_view, 5> kLevels = {"none", "list", "read", "write", "deny"};
  return kLevels.at(static_cast<std::size_t>(level));
}

}  // namespace underway::acl
