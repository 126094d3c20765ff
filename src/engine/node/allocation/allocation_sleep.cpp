// Allocations whose virtual machines are to sleep, and to go on: model::AllocSleep says what the server wants, and
// since when, AllocSleepReport what became of that.
#include "base/error.hpp"
#include "base/log.hpp"
#include "node/allocation/allocation_runner.hpp"

namespace underway::node {

std::optional<model::AllocSleepReport> AllocationRunner::sleep_report() const {
  const auto& wish = order_.allocation.sleep;
  if (!wish) return std::nullopt;
  return model::AllocSleepReport{
      .of = wish->since, .asleep = asleep(), .trouble = sleep_of_ == wish->since ? sleep_trouble_ : std::string()};
}

/// None of them runs, is being started, or is on its way to sleep.
bool AllocationRunner::asleep() const {
  if (!order_.suspend || stopping_ || on_machines_ > 0) return false;
  const auto stands = [](const auto& entry) { return !entry.second->record().launched && !entry.second->process(); };
  return !dead() && std::ranges::all_of(runners_, stands);
}

/// At each change: a machine that was just being started when it was to sleep is put to sleep when it runs.
void AllocationRunner::follow_sleep() {
  const auto& wish = order_.allocation.sleep;
  if (!wish || stopping_) return;
  if (sleep_of_ != wish->since) {
    sleep_of_ = wish->since;
    sleep_trouble_.clear();
    unreported = true;
  }
  if (!order_.suspend || !sleep_trouble_.empty() || on_machines_ > 0) return;
  for (const auto& [name, runner] : runners_) {
    if (!runner->process()) continue;
    ++on_machines_;
    work_.spawn("sleep of " + name, put_to_sleep(name));
  }
}

awaitable<void> AllocationRunner::put_to_sleep(std::string task) {
  const auto of = sleep_of_;
  const TaskRunner& runner = get_task(task);
  try {
    const auto machine = runner.process();
    co_await get_task(task).suspend();
    while (runner.process() == machine) co_await task_event_.wait();
  } catch (const Error& error) {
    if (of == sleep_of_) sleep_trouble_ = error.one_line();
    log::warn("node: allocation {} does not sleep: {}", id().substr(0, 8), error.one_line());
  }
  --on_machines_;
  unreported = true;
  task_event_.notify_all();
  reported_();
  review();
}

}  // namespace underway::node
