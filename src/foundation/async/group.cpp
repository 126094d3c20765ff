#include "async/group.hpp"

#include <list>

#include "async/event.hpp"
#include "base/log.hpp"

namespace underway::async {

struct TaskGroup::State {
  struct Task {
    std::string what;
    asio::cancellation_signal signal;
  };

  std::string name;
  std::list<Task> tasks;
  Event ended;
  bool stopping = false;

  void report(const std::string& what, const std::exception_ptr& failure) const {
    if (failure == nullptr || is_cancellation(failure)) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      log::error("{}: {}: {}", name, what, error.what());
    } catch (...) {
      log::error("{}: {}: failed with an object that is no exception", name, what);
    }
  }

  void cancel() {
    // Emitting may end tasks at once, so the list is walked over a copy of its positions.
    std::vector<asio::cancellation_signal*> signals;
    for (auto& task : tasks) signals.push_back(&task.signal);
    for (auto* signal : signals) signal->emit(asio::cancellation_type::terminal);
  }
};

TaskGroup::TaskGroup(Executor executor, std::string name)
    : executor_(std::move(executor)), state_(std::make_shared<State>()) {
  state_->name = std::move(name);
}

TaskGroup::~TaskGroup() {
  state_->stopping = true;
  state_->cancel();
}

void TaskGroup::spawn(std::string what, awaitable<void> task) {
  if (state_->stopping) return;
  auto& tasks = state_->tasks;
  const auto place = tasks.emplace(tasks.end());
  place->what = std::move(what);
  auto done = [state = state_, place](const std::exception_ptr& failure) {
    state->report(place->what, failure);
    state->tasks.erase(place);
    state->ended.notify_all();
  };
  asio::co_spawn(executor_, std::move(task), asio::bind_cancellation_slot(place->signal.slot(), std::move(done)));
}

void TaskGroup::cancel() { state_->cancel(); }

awaitable<void> TaskGroup::stop() {
  const auto state = state_;
  state->stopping = true;
  state->cancel();
  while (!state->tasks.empty()) co_await state->ended.wait();
}

awaitable<void> TaskGroup::wait() {
  const auto state = state_;
  while (!state->tasks.empty()) co_await state->ended.wait();
}

std::size_t TaskGroup::size() const { return state_->tasks.size(); }

}  // namespace underway::async
