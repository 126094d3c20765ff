#pragma once
/// @file
/// A pool "burst" of a cluster "demo" with its hosts and nodes, for tests of what follows for them.

#include "slurm/elastic/membership.hpp"

namespace underway::slurm::burst {

using model::SlurmMember;
using model::SlurmMembership;

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kNow = 1'800'000'000 * kSecond;

inline model::Pool pool(const std::string& join = "auto") {
  model::Pool out;
  out.name = "burst";
  out.hostname = "b%d";
  out.size = 2;
  out.slurm = model::SlurmJoin{.join = join, .most = 4, .features = {"vm"}};
  return out;
}
inline MemberHost host(const std::string& name, const std::string& address) {
  return {.name = name, .address = address, .node_id = "node-" + name, .reasons = std::vector<std::string>{}};
}
inline SlurmMember member(const std::string& name, SlurmMembership status) {
  return {.cluster = "demo",
          .host = name,
          .status = status,
          .node_id = "node-" + name,
          .admitted_at = kNow - 3600 * kSecond};
}
inline NodeRecord idle(const std::string& name, const std::string& address, bool dynamic = true) {
  NodeRecord out{name, address, name, "IDLE", {dynamic ? "DYNAMIC_NORM" : "CLOUD"}};
  out.weight = 1;
  out.features = {"burst", "vm"};
  return out;
}
inline NodeRecord absent(const std::string& name) {
  NodeRecord out{name, kNowhere, name, "DOWN", {"CLOUD"}, kAbsentReason};
  out.weight = 1;
  out.features = {"burst", "vm"};
  return out;
}
inline MembershipPlan plan(const model::Pool& of, const std::vector<MemberHost>& hosts, const SlurmView& slurm) {
  return plan_members(&of, "demo", hosts, slurm, kNow);
}

}  // namespace underway::slurm::burst
