#include "model/validate/first_cause.hpp"

#include <algorithm>

namespace underway::model {

namespace {

/// An attempt that did not get as far as a process.
bool is_failed_start(std::string_view type) {
  return type == "Driver Failure" || type == "Setup Failure" || type == "Failed Artifact Download" ||
         type == "Failed Validation";
}

/// The task ended because of others: they know why.
bool is_consequence(std::string_view type) {
  return type == "Sibling Task Failed" || type == "Leader Task Dead" || type == "Main Tasks Dead";
}

/// The event that says what the newest attempt failed of; null: none does.
const TaskEvent* telling(const TaskState& state) {
  const TaskEvent* end = nullptr;
  for (auto it = state.events.rbegin(); it != state.events.rend(); ++it) {
    if (is_failed_start(it->type)) return end != nullptr ? end : &*it;
    if (is_consequence(it->type)) return nullptr;
    // Why it was ended.
    if (it->type == "Disk Resources Exceeded" && state.failed) return &*it;
    // A check that had it restarted is why it ended by a signal.
    if (it->type == "Restart Signaled" && end != nullptr) return &*it;
    if (it->type == "Started") return end;
    if (it->type == "Terminated" && end == nullptr) end = &*it;
  }
  return end;
}

bool has_failed(const TaskState& state) { return state.failed || (state.restarts > 0 && !state.events.empty()); }

bool is_hopeless(const TaskState& state) {
  return state.failed && std::any_of(state.events.begin(), state.events.end(),
                                     [](const TaskEvent& event) { return event.message == kUnrecoverable; });
}

}  // namespace

std::string cause_of(const TaskState& state) {
  if (!has_failed(state)) return {};
  const TaskEvent* event = telling(state);
  return event != nullptr ? event->message : std::string();
}

std::optional<Cause> first_cause(const std::map<std::string, TaskState>& tasks) {
  std::optional<Cause> first;
  std::int64_t at = 0;
  for (const auto& [name, state] : tasks) {
    const TaskEvent* event = has_failed(state) ? telling(state) : nullptr;
    if (event == nullptr || (first && event->time >= at)) continue;
    first = Cause{name, event->message, is_hopeless(state)};
    at = event->time;
  }
  return first;
}

}  // namespace underway::model
