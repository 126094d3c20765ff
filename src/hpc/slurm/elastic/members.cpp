#include "slurm/elastic/members.hpp"

#include "base/text.hpp"
#include "slurm/hostlist.hpp"
#include "slurm/queue.hpp"

namespace underway::slurm {
namespace {

Command update(const std::vector<std::string>& nodes, std::vector<std::string> words) {
  words.insert(words.begin(), {"scontrol", "update", "nodename=" + fold_hosts(nodes)});
  return words;
}

}  // namespace

bool held_by_us(const NodeRecord& record) {
  return record.reason == kAbsentReason || record.reason == kLeavingReason || record.reason == kAsleepReason ||
         record.reason.starts_with(kNotReadyPrefix) || record.reason.starts_with(kNoBootPrefix);
}

Command address_command(const std::map<std::string, std::string>& addresses) {
  std::vector<std::string> names, places;
  for (const auto& [name, address] : addresses) {
    names.push_back(name);
    places.push_back(address);
  }
  // Not folded: the n-th address is that of the n-th name.
  return {"scontrol", "update", "nodename=" + join(names, ","), "nodeaddr=" + join(places, ",")};
}

std::map<std::string, std::string> moved(const std::vector<NodeRecord>& records,
                                         const std::map<std::string, std::string>& actual) {
  std::map<std::string, std::string> out;
  for (const auto& record : records) {
    const auto at = actual.find(record.name);
    if (at != actual.end() && at->second != record.address) out.insert(*at);
  }
  return out;
}

Command absent_command(const std::vector<std::string>& nodes) {
  // As many addresses as nodes.
  const std::vector<std::string> nowhere(nodes.size(), kNowhere);
  return update(nodes, {"nodeaddr=" + join(nowhere, ","), "state=down", std::string("reason=") + kAbsentReason});
}

std::vector<Command> arrival_commands(const std::vector<NodeRecord>& records,
                                      const std::map<std::string, std::string>& actual) {
  std::vector<Command> out;
  if (const auto elsewhere = moved(records, actual); !elsewhere.empty()) out.push_back(address_command(elsewhere));
  std::vector<std::string> drained;
  for (const auto& record : records) {
    if (actual.contains(record.name) && record.draining() && record.reason == kAbsentReason)
      drained.push_back(record.name);
  }
  if (!drained.empty()) out.push_back(update(drained, {"state=undrain"}));
  return out;
}

Command admit_command(const std::vector<std::string>& nodes) { return resume_command(nodes); }

namespace {

/// The rest of the way of a node whose machine is stopped, and on which nothing is.
LeaveVerdict decide_forget(JoinMode mode, const std::string& node, const NodeRecord& record) {
  if (mode == JoinMode::dynamic)
    return {LeaveStep::forget, {"scontrol", "delete", "nodename=" + node}, fmt::format("{} is empty and off", node)};
  if (record.state != "DOWN" || record.address != kNowhere)
    return {LeaveStep::forget, absent_command({node}), fmt::format("{} is empty and off", node)};
  return {LeaveStep::gone, {}, fmt::format("{} is down, and nobody is asked for it", node)};
}

}  // namespace

LeaveVerdict decide_leave(JoinMode mode, const std::string& node, const NodeRecord* record,
                          const std::vector<std::string>& jobs, bool runs) {
  if (record == nullptr || record->state == "FUTURE")
    return {runs ? LeaveStep::stop : LeaveStep::gone, {}, fmt::format("Slurm does not know {}", node)};
  const bool absent = record->state == "DOWN" && record->reason == kAbsentReason;
  if (record->draining() && !held_by_us(*record) && record->reason != kDrainReason)
    return {LeaveStep::kept, {}, fmt::format("{} is drained by somebody else: '{}'", node, record->reason)};
  if (!record->draining() && !(absent && !runs))
    return {LeaveStep::drain, drain_command({node}, kLeavingReason), fmt::format("{} takes jobs", node)};
  if (!jobs.empty())
    return {
        LeaveStep::wait,
        {},
        fmt::format("{} has {} Slurm job{}: {}", node, jobs.size(), jobs.size() == 1 ? "" : "s", join_some(jobs, 5))};
  if (!record->empty()) return {LeaveStep::wait, {}, fmt::format("Slurm still clears away what ran on {}", node)};
  if (runs) return {LeaveStep::stop, {}, fmt::format("{} is drained and empty", node)};
  return decide_forget(mode, node, *record);
}

Command no_boot_command(const std::string& node, const std::string& why) {
  // Its jobs are ended there: its name, which is its address as long as it has not come, may be looked up for seconds.
  return update({node}, {std::string("nodeaddr=") + kNowhere, "state=down", "reason=" + (kNoBootPrefix + why)});
}

Command power_down_command(const std::vector<std::string>& nodes) { return update(nodes, {"state=power_down"}); }

LeaveVerdict decide_powered_leave(const std::string& node, const NodeRecord* record,
                                  const std::vector<std::string>& jobs, bool runs) {
  if (record == nullptr || record->state == "FUTURE")
    return {runs ? LeaveStep::stop : LeaveStep::gone, {}, fmt::format("Slurm does not know {}", node)};
  if (!runs) {
    // Powered down it has its name for an address again, which is asked nothing.
    if (record->address != kNowhere && record->address != node)
      return {LeaveStep::forget, address_command({{node, kNowhere}}), fmt::format("{} is off", node)};
    return {LeaveStep::gone, {}, fmt::format("{} is off, and nobody is asked for it", node)};
  }
  if (!record->powered_down() && record->state != "DOWN")
    return {LeaveStep::wait, {}, fmt::format("Slurm has not powered {} down: it is {}", node, lower(record->state))};
  if (!jobs.empty())
    return {
        LeaveStep::wait,
        {},
        fmt::format("{} has {} Slurm job{}: {}", node, jobs.size(), jobs.size() == 1 ? "" : "s", join_some(jobs, 5))};
  if (!record->empty()) return {LeaveStep::wait, {}, fmt::format("Slurm still clears away what ran on {}", node)};
  return {LeaveStep::stop, {}, fmt::format("Slurm has powered {} down", node)};
}

}  // namespace underway::slurm
