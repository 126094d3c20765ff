#include "migrate/nomad_names.hpp"

#include <array>
#include <map>
#include <set>

namespace underway::migrate {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

/// Stanza and attribute, in the order of the table.
constexpr Pair kTable[] = {
#include "nomad_attributes.inc"
};

struct Names {
  std::set<Pair> pairs;
  std::set<std::string_view> stanzas;
};

const Names& names() {
  static const Names kNames = [] {
    Names out;
    for (const auto& pair : kTable) {
      out.pairs.insert(pair);
      out.stanzas.insert(pair.first);
    }
    out.pairs.insert({{"job", "group"}, {"group", "task"}});  // in the table they are stanzas only
    return out;
  }();
  return kNames;
}

/// Refused by Nomad's free edition. Source: nomad/job_endpoint_hook_numa_ce.go.
constexpr Pair kEnterprise[] = {{"resources", "numa"}};

}  // namespace

bool nomad_knows(const describe::Structure& block, const describe::Field& field) {
  if (field.form == describe::Form::wire || field.form == describe::Form::label) return true;
  const Pair pair{block.name, field.hcl};
  for (const auto& enterprise : kEnterprise) {
    if (pair == enterprise) return false;
  }
  // Blocks that the table shows within a line of their parent (dns, wait, weights) go with it as a whole.
  return !names().stanzas.contains(block.name) || names().pairs.contains(pair);
}

bool nomad_driver_knows(const std::string& driver, std::string_view key) {
  // Source: the documentation of the drivers raw_exec and exec.
  static const std::map<std::string, std::set<std::string_view>> kKeys = {
      {"raw_exec",
       {"command", "args", "work_dir", "oom_score_adj", "cgroup_v2_override", "cgroup_v1_override", "denied_envvars"}},
      {"exec", {"command", "args", "pid_mode", "ipc_mode", "cap_add", "cap_drop", "work_dir"}}};
  const auto keys = kKeys.find(driver);
  return keys == kKeys.end() || keys->second.contains(key);
}

bool nomad_has_driver(const std::string& driver) {
  static const std::set<std::string_view> kDrivers = {"docker", "exec", "exec2",    "java",
                                                      "podman", "qemu", "raw_exec", "virt"};
  return kDrivers.contains(driver);
}

}  // namespace underway::migrate
