#include "async/group.hpp"

#include <list>

#include "async/event.hpp"
#include "base/log.hpp"

namespace underway::async {

struct TaskGroup::State {
  struct Task {
    std::string what;
    asio::cancellation_signal signal;
    bool begun = false;
    bool cancelled = false;  ///< before it has begun
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

  /// `task`, as Asio gets it. Asio asks whether a task is cancelled in frames of its own as well, before the first step
  /// and, if the task never waited, after the last. What it throws there leaves the loop, and the task is never off the
  /// list. So a task gets no signal before it has begun, and at its end is no more thrown at. `own` is in the list
  /// until this has returned.
  static awaitable<void> run(Task& own, awaitable<void> task) {
    own.begun = true;
    std::exception_ptr failure;
    try {
      if (!own.cancelled) co_await std::move(task);
    } catch (...) {
      failure = std::current_exception();
    }
    co_await asio::this_coro::throw_if_cancelled(false);
    if (failure) std::rethrow_exception(failure);
  }

  void cancel() {
    // Emitting may end tasks at once, so the list is walked over a copy of its positions.
    std::vector<asio::cancellation_signal*> signals;
    for (auto& task : tasks) {
      if (task.begun)
        signals.push_back(&task.signal);
      else
        task.cancelled = true;
    }
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
  asio::co_spawn(executor_, State::run(*place, std::move(task)),
                 asio::bind_cancellation_slot(place->signal.slot(), std::move(done)));
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
