#include "api/job/config_refusal.hpp"

#include "base/error.hpp"
#include "drivers/config_problems.hpp"

namespace underway::api {

void refuse_configs(const std::vector<const model::Job*>& jobs) {
  const bool is_single = jobs.size() == 1;
  Error error(Code::invalid, is_single ? fmt::format("job '{}' is not valid", jobs.front()->id)
                                       : std::string("what tasks ask of their drivers is not valid"));
  for (const auto* job : jobs) {
    for (const auto& group : job->groups) {
      for (const auto& task : group.tasks) {
        for (const auto& problem : drivers::config_problems(task))
          error.because(fmt::format("{}group '{}' task '{}': {}", is_single ? "" : fmt::format("job '{}' ", job->id),
                                    group.name, task.name, problem));
      }
    }
  }
  if (!error.reasons().empty()) throw error;
}

}  // namespace underway::api
