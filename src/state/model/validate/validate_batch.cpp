#include "base/error.hpp"
#include "base/text.hpp"
#include "model/detail/place.hpp"
#include "model/job/cron.hpp"

#include <set>

namespace underway::model::detail {
namespace {

constexpr std::size_t kUiDescription = 1000;

void check_periodic(const Place& place, const Job& job) {
  const Periodic& periodic = *job.periodic;
  place.require(job.runs_to_its_end(), "periodic: a {} job runs all the time; batch and sysbatch jobs can be periodic",
                describe::spell(job.type));
  place.require(periodic.spec.empty() || periodic.specs.empty(), "periodic: cron and crons exclude each other");
  place.require(!periodic.expressions().empty(), "periodic: neither cron nor crons is given");
  place.require(periodic.spec_type == "cron", "periodic: type '{}' is not cron", periodic.spec_type);
  const auto hold = [&](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      place.say("periodic: {}", error.one_line());
    }
  };
  for (const auto& expression : periodic.expressions()) hold([&] { (void)Cron::parse(expression); });
  hold([&] { (void)zone::get_time_zone(periodic.time_zone); });
}

void check_parameterized(const Place& place, const Job& job) {
  place.require(job.runs_to_its_end(), "parameterized: a {} job cannot be dispatched; batch and sysbatch jobs can",
                describe::spell(job.type));
  const std::set<std::string> required(job.parameterized->meta_required.begin(),
                                       job.parameterized->meta_required.end());
  for (const auto& key : job.parameterized->meta_optional)
    place.require(!required.contains(key), "parameterized: '{}' is both required and optional", key);
}

void check_actions(const Place& place, const Task& task) {
  std::set<std::string> names;
  for (const auto& action : task.actions) {
    place.require(!action.name.empty() && action.name.find_first_of(" \t/\\") == std::string::npos,
                  "action '{}': a name has no spaces and no slashes", action.name);
    place.require(!action.command.empty(), "action '{}': command is empty", action.name);
    place.require(names.insert(action.name).second, "action '{}' is declared twice", action.name);
  }
}

void check_scaling(const Place& place, const TaskGroup& group) {
  if (!group.scaling) return;
  const Scaling& scaling = *group.scaling;
  place.require(scaling.type == "horizontal", "scaling: type '{}' of a group is not horizontal", scaling.type);
  if (!scaling.max) return place.say("scaling: max is missing");
  const std::int64_t min = scaling.min.value_or(0);
  place.require(min >= 0, "scaling: min = {} is negative", min);
  place.require(min <= *scaling.max, "scaling: min = {} is above max = {}", min, *scaling.max);
  place.require(group.count >= min && group.count <= *scaling.max,
                "scaling: count = {} is not between min = {} and max = {}", group.count, min, *scaling.max);
}

}  // namespace

void check_starts(const Place& place, const Job& job) {
  if (job.periodic) check_periodic(place, job);
  if (job.parameterized) check_parameterized(place, job);
  if (job.ui)
    place.require(job.ui->description.size() <= kUiDescription, "ui: the description has {} bytes, above {}",
                  job.ui->description.size(), kUiDescription);
}

void check_batch_group(const Place& place, const Job& job, const TaskGroup& group) {
  check_scaling(place, group);
  place.require(!group.max_run_duration || *group.max_run_duration > Duration{0}, "max_run_duration {} is not above 0",
                format_duration(group.max_run_duration.value_or(Duration{0})));
  for (const auto& task : group.tasks) {
    const Place inside = place.inside("task", task.name);
    check_actions(inside, task);
    if (!task.dispatch_payload) continue;
    inside.require(job.parameterized.has_value(), "dispatch_payload: the job is not parameterized");
    const std::string& file = task.dispatch_payload->file;
    inside.require(!file.empty(), "dispatch_payload: file is empty");
    inside.require(file.find("..") == std::string::npos && !file.starts_with('/'),
                   "dispatch_payload: file '{}' leaves the task's local directory", file);
  }
}

}  // namespace underway::model::detail
