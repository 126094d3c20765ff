#pragma once
/// @file
/// Why an allocation does not do what it should: what failed first, not what followed from it. Pure.

#include <optional>
#include <string_view>

#include "model/allocation.hpp"

namespace underway::model {

/// What a node says of a task that it does not start again because no further try can help. Nomad's words.
inline constexpr std::string_view kUnrecoverable = "Error was unrecoverable";

struct Cause {
  std::string task;
  std::string text;       ///< "cannot run '/nonexistent/slurmd': No such file or directory"
  bool hopeless = false;  ///< another try, and waiting, cannot help: an image that is missing, a wrong configuration
};

/// What the task failed of in its newest attempt, in the words of the event that says so. That it was not started
/// again, was killed or is started again tells nothing. Empty when it did not fail, or was ended because of another
/// task.
std::string cause_of(const TaskState& state);

/// Of the tasks that failed by themselves, what the one that did so first says. Nothing when none did.
std::optional<Cause> first_cause(const std::map<std::string, TaskState>& tasks);

}  // namespace underway::model
