#pragma once
/// @file
/// The parts of validate(): what each looks at, and where it reports.

#include "model/validate/validate.hpp"

#include <fmt/format.h>

namespace underway::model::detail {

/// So many are told: fifteen megabytes of empty groups have as many problems, and nobody reads them.
inline constexpr std::size_t kMostProblems = 100;

/// Collects problems under one path.
class Place {
 public:
  Place(std::vector<Problem>& out, std::string path) : out_(out), path_(std::move(path)) {}

  Place inside(std::string_view what, std::string_view name) const {
    return {out_, fmt::format("{}{}{} '{}'", path_, path_.empty() ? "" : " ", what, name)};
  }
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (out_.size() < kMostProblems)
      out_.push_back({path_, fmt::format(format, std::forward<Args>(args)...)});
    else if (out_.size() == kMostProblems)
      out_.push_back({"", fmt::format("there are more problems than these {}", kMostProblems)});
  }
  /// Says it unless `holds`.
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> format, Args&&... args) const {
    if (!holds) say(format, std::forward<Args>(args)...);
  }

 private:
  std::vector<Problem>& out_;
  std::string path_;
};

void check_constraints(const Place& place, const std::vector<Constraint>& constraints, const ValidateOptions& options,
                       bool of_task);
void check_affinities(const Place& place, const std::vector<Affinity>& affinities, const ValidateOptions& options);
void check_spreads(const Place& place, const std::vector<Spread>& spreads, bool of_group);
/// Of one task: cpu, cores, memory, devices, numa.
void check_resources(const Place& place, const Resources& resources, const ValidateOptions& options);
/// `volume` of the group and `volume_mount` of its tasks.
void check_volumes(const Place& place, const TaskGroup& group);
/// `periodic`, `parameterized`, `ui`.
void check_starts(const Place& place, const Job& job);
/// `scaling`, `max_run_duration`, `action`, `dispatch_payload`.
void check_batch_group(const Place& place, const Job& job, const TaskGroup& group);
/// `update`, `migrate`, `reschedule`, `disconnect`.
void check_policies(const Place& place, const Job& job, const TaskGroup& group);
/// `service` and `check`, of the group and of its tasks.
void check_services(const Place& place, const Job& job, const TaskGroup& group);

}  // namespace underway::model::detail
