#include "cli/alloc/failing_tasks.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "model/validate/first_cause.hpp"

namespace underway::cli {

std::string last_line(std::string_view log) {
  log = trim(log);
  return std::string(trim(log.substr(log.rfind('\n') + 1)));
}

namespace {

constexpr std::size_t kShownTasks = 5;

bool has_failed(const model::TaskState& state) {
  return state.failed || (state.restarts > 0 && state.state != model::TaskRunState::running);
}

}  // namespace

std::optional<std::string> trouble_of(const wire::AllocationStub& allocation, Look look) {
  if (look == Look::now && allocation.desired_status != model::DesiredStatus::run &&
      allocation.client_status != model::ClientStatus::failed)
    return std::nullopt;
  // What a task did last is by then that it was stopped.
  const bool unhealthy = allocation.health.healthy.has_value() && !*allocation.health.healthy;
  if (look == Look::afterwards && unhealthy && !allocation.health.description.empty())
    return allocation.health.description;
  const auto tasks = allocation.task_states.value_or(std::map<std::string, model::TaskState>{});
  const auto cause = model::first_cause(tasks);
  for (const auto& [task, state] : tasks) {
    const bool tells = cause ? cause->task == task : has_failed(state);
    if (!tells || !has_failed(state)) continue;
    std::string text = fmt::format("task '{}' {}", task, state.failed ? "failed" : "is being restarted");
    if (state.restarts > 0) text += fmt::format(" ({} restart{})", state.restarts, state.restarts == 1 ? "" : "s");
    if (cause) text += ": " + cause->text;
    return text;
  }
  if (allocation.client_status == model::ClientStatus::failed ||
      allocation.client_status == model::ClientStatus::lost) {
    const std::string status(describe::spell(allocation.client_status));
    return allocation.client_description.empty() ? status : status + ": " + allocation.client_description;
  }
  if (unhealthy)
    return "unhealthy" + (allocation.health.description.empty() ? "" : ": " + allocation.health.description);
  if (look == Look::now && !allocation.waiting_for.empty()) return "waits for " + allocation.waiting_for;
  return std::nullopt;
}

bool is_hopeless(const std::vector<wire::AllocationStub>& allocations) {
  return std::any_of(allocations.begin(), allocations.end(), [](const wire::AllocationStub& allocation) {
    if (allocation.desired_status != model::DesiredStatus::run ||
        allocation.client_status != model::ClientStatus::failed || !allocation.task_states)
      return false;
    const auto cause = model::first_cause(*allocation.task_states);
    return cause && cause->hopeless;
  });
}

std::string FailingTasks::last_line_of(const std::string& allocation, const std::string& task,
                                       const model::TaskState& state) {
  const auto [entry, fresh] =
      known_.try_emplace(fmt::format("{}/{}/{}/{}", allocation, task, state.restarts, state.failed));
  if (!fresh) return entry->second;
  for (const char* stream : {"stderr", "stdout"}) {
    std::string tail;
    try {
      client_.logs(allocation, task, stream, false, "end", 2000, [&](std::string_view piece) {
        tail += piece;
        return true;
      });
    } catch (const Error&) {
      continue;  // a task that never started has no log; the log is a help, not the point
    }
    entry->second = last_line(tail);
    if (!entry->second.empty()) break;
  }
  return entry->second;
}

std::vector<std::string> FailingTasks::lines(const std::vector<wire::AllocationStub>& allocations, Look look) {
  std::vector<std::string> out;
  std::size_t troubled = 0;
  for (const auto& allocation : allocations) {
    const auto trouble = trouble_of(allocation, look);
    if (!trouble || ++troubled > kShownTasks) continue;
    out.push_back(fmt::format("        {} on {}: {}", short_id(allocation.id), allocation.node_name, *trouble));
    for (const auto& [task, state] : allocation.task_states.value_or(std::map<std::string, model::TaskState>{})) {
      if (!has_failed(state)) continue;
      const auto line = last_line_of(allocation.id, task, state);
      if (!line.empty()) out.push_back(fmt::format("          {} wrote: {}", task, line));
    }
  }
  if (troubled > kShownTasks) out.push_back(fmt::format("        and {} more", troubled - kShownTasks));
  return out;
}

}  // namespace underway::cli
