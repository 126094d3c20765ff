#include "nomad/text/group_failure.hpp"

#include <map>

#include "base/json/json.hpp"
#include "model/evaluation.hpp"
#include "scheduler/schedule.hpp"

namespace underway::nomad {

std::string GroupFailure::title() const {
  return fmt::format("Task Group \"{}\" (failed to place {} allocation{}):", group, failed, failed == 1 ? "" : "s");
}

std::string GroupFailure::reasons(std::string_view prefix) const {
  std::string out;
  for (const auto& line : lines) out += fmt::format("{}{}\n", prefix, line);
  return out;
}

std::vector<GroupFailure> failures_of(const Json& failed_groups) {
  std::vector<GroupFailure> out;
  if (failed_groups.is_null()) return out;
  for (const auto& [group, metric] :
       json::decode<std::map<std::string, model::AllocMetric>>(failed_groups, "FailedTGAllocs"))
    out.push_back({group, metric.coalesced_failures + 1, scheduler::explain(metric)});
  return out;
}

}  // namespace underway::nomad
