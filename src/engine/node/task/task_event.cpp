#include "node/task/task_event.hpp"

#include "base/text.hpp"
#include "os/process/process.hpp"

namespace underway::node::event {

model::TaskEvent make(std::string_view type, std::string message) {
  model::TaskEvent event;
  event.type = type;
  event.message = std::move(message);
  return event;
}

model::TaskEvent terminated(const TaskEnd& end) {
  std::string text = fmt::format("Exit Code: {}", end.signal != 0 ? 128 + end.signal : end.exit_code);
  if (end.signal != 0) text += fmt::format(", Signal: {}", end.signal);
  if (end.oom_killed) text += ", Exit Message: \"OOM Killed\"";
  if (end.lost) text = "The task's keeper was killed, and the task with it";
  if (!end.message.empty()) text += ": " + end.message;
  model::TaskEvent event = make(protocol::event::kTerminated, std::move(text));
  event.exit_code = end.signal != 0 ? 128 + end.signal : end.exit_code;
  event.signal = end.signal;
  event.details["exit_code"] = std::to_string(event.exit_code);
  event.details["signal"] = std::to_string(end.signal);
  if (end.oom_killed) event.details["oom_killed"] = "true";
  return event;
}

model::TaskEvent left_running(const std::map<std::string, std::size_t>& programs) {
  constexpr std::size_t kNamed = 5;
  std::size_t processes = 0;
  std::vector<std::string> names;
  for (const auto& [name, count] : programs) {
    processes += count;
    if (names.size() < kNamed) names.push_back(count == 1 ? name : fmt::format("{} ({})", name, count));
  }
  if (programs.size() > kNamed) names.emplace_back("…");
  model::TaskEvent event = make(
      protocol::event::kLeftRunning,
      fmt::format("Left {} {} running: {}", processes, processes == 1 ? "process" : "processes", join(names, ", ")));
  event.details["processes"] = std::to_string(processes);
  return event;
}

std::string in_words(const TaskEnd& end) {
  if (end.lost) return "its keeper was killed, and the task with it";
  if (end.oom_killed) return "out of memory";
  if (end.signal != 0) return fmt::format("signal {} ({})", end.signal, os::signal_name(end.signal));
  return fmt::format("exit code {}", end.exit_code);
}

model::TaskEvent killing(std::string_view signal, Duration timeout) {
  model::TaskEvent event = make(protocol::event::kKilling, fmt::format("Sent {}. Waiting {} before force killing",
                                                                       signal, human_duration(timeout)));
  event.details["kill_timeout"] = format_duration(timeout);
  return event;
}

model::TaskEvent restarting(Duration delay, const std::string& reason) {
  model::TaskEvent event =
      make(protocol::event::kRestarting, fmt::format("Task restarting in {}", human_duration(delay)));
  event.details["start_delay"] = std::to_string(delay.count());
  if (!reason.empty()) {
    event.details["restart_reason"] = reason;
    event.message = fmt::format("{} - {}", reason, event.message);
  }
  return event;
}

model::TaskEvent failure(std::string_view type, const Error& error) {
  std::string text = error.one_line();
  if (!error.advice().empty()) text += fmt::format(" ({})", error.advice());
  model::TaskEvent event = make(type, std::move(text));
  event.details["error"] = error.one_line();
  return event;
}

model::TaskEvent missing(const std::vector<std::string>& what) {
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> shown(what.begin(),
                                       what.begin() + static_cast<std::ptrdiff_t>(std::min(what.size(), kShown)));
  std::string text = "Missing: " + join(shown, ", ");
  if (what.size() > kShown) text += fmt::format(", and {} more", what.size() - kShown);
  return make(protocol::event::kTemplate, text);
}

void append(model::TaskState& state, model::TaskEvent event, TimePoint now) {
  constexpr std::size_t kKept = 10;  // as Nomad: maxTaskEvents
  event.time = unix_nanos(now);
  state.events.push_back(std::move(event));
  if (state.events.size() > kKept) state.events.erase(state.events.begin());
}

}  // namespace underway::node::event
