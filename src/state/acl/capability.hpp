#pragma once
/// @file
/// The words of a policy: capabilities in a namespace and of variables, and levels for everything that has no finer
/// ones. Sources: Nomad's policy language, its documentation "ACL policy specification" and acl/policy.go (names and
/// what implies what).

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/enumerators.hpp"

namespace underway::acl {

/// What may be done in a namespace. Spelled with '-' in policies: "read-job".
enum class Capability : std::uint8_t {
  deny,
  list_jobs,
  parse_job,
  read_job,
  submit_job,  ///< implies those from here …
  register_job,
  revert_job,
  deregister_job,
  purge_job,
  evaluate_job,
  plan_job,
  tag_job_version,
  stable_job,
  fail_deployment,
  pause_deployment,
  promote_deployment,
  unblock_deployment,
  cancel_deployment,
  set_alloc_health_deployment,
  gc_allocation,
  force_periodic_job,
  delete_service_registration,  ///< … to here
  dispatch_job,
  read_logs,
  read_fs,  ///< implies read_logs
  alloc_exec,
  alloc_node_exec,  ///< into tasks whose driver does not isolate them: a shell on the node
  alloc_lifecycle,  ///< implies pause_allocation
  pause_allocation,
  sentinel_override,
  csi_register_plugin,
  csi_write_volume,
  csi_read_volume,
  csi_list_volume,
  csi_mount_volume,
  host_volume_create,
  host_volume_register,
  host_volume_read,
  host_volume_write,
  host_volume_delete,
  list_scaling_policies,
  read_scaling_policy,
  read_job_scaling,
  scale_job,
  submit_recommendation,
};
constexpr std::size_t kCapabilities = kEnumerators<Capability>;

class Capabilities {
 public:
  Capabilities() = default;
  Capabilities(std::initializer_list<Capability> list) {
    for (const auto capability : list) add(capability);
  }
  /// With all that it implies.
  void add(Capability capability);
  void add(const Capabilities& other) { bits_ |= other.bits_; }
  bool has(Capability capability) const { return bits_.test(static_cast<std::size_t>(capability)); }
  bool denied() const { return has(Capability::deny); }
  bool empty() const { return bits_.none(); }
  bool operator==(const Capabilities&) const = default;

 private:
  std::bitset<kCapabilities> bits_;
};

std::string_view spell(Capability capability);
std::optional<Capability> parse_capability(std::string_view text);
/// All names, for suggestions and the reference.
const std::vector<std::string>& capability_names();
/// What `policy = "read"`, "write", "scale" or "deny" of a namespace stands for.
std::optional<Capabilities> expand_policy(std::string_view policy);

/// What may be done with variables below a path.
enum class Access : std::uint8_t { deny = 1, list = 2, read = 4, write = 8, destroy = 16 };
using AccessSet = std::uint8_t;
inline bool has(AccessSet set, Access access) { return (set & static_cast<AccessSet>(access)) != 0; }
std::string_view spell(Access access);
std::optional<Access> parse_access(std::string_view text);
const std::vector<std::string>& access_names();

/// Of node, agent, operator, quota, plugin, and of node pools and host volumes by name. In this order: the higher
/// includes the lower, and deny wins over all.
enum class Level : std::uint8_t { none, list, read, write, deny };
std::string_view spell(Level level);

}  // namespace underway::acl
