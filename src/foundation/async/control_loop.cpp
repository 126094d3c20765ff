#include "async/control_loop.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace underway::async {
namespace {

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.one_line();
  } catch (const std::exception& other) {
    return other.what();
  } catch (...) {
    return "an unknown failure";
  }
}

}  // namespace

Duration Streak::failed(std::string why) {
  const Duration pause = backoff_.next().value_or(policy_.most);
  why_ = std::move(why);
  if (failures_++ > 0) return pause;
  since_ = clock_->now();
  log::error("{}, trying again: {}", what_, why_);
  return pause;
}

void Streak::succeeded() {
  if (failures_ == 0) return;
  log::info("{}: that is over, after {} failure{} in {}", what_, failures_, failures_ == 1 ? "" : "s",
            human_duration(clock_->now() - since_));
  failures_ = 0;
  why_.clear();
  backoff_.reset();
}

/// A loop's place in the list, while its coroutine lives.
class LoopRegistry::Listed {
 public:
  Listed(std::shared_ptr<std::list<LoopHealth>> all, LoopHealth health)
      : all_(std::move(all)), place_(all_->insert(all_->end(), std::move(health))) {}
  ~Listed() { all_->erase(place_); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  LoopHealth& operator*() { return *place_; }

 private:
  std::shared_ptr<std::list<LoopHealth>> all_;
  std::list<LoopHealth>::iterator place_;
};

void LoopRegistry::start(TaskGroup& tasks, LoopPlan plan) {
  std::string name = plan.name;
  tasks.spawn(std::move(name), run(std::move(plan)));
}

awaitable<void> LoopRegistry::run(LoopPlan plan) {
  LoopHealth fresh;
  fresh.area = plan.area;
  fresh.name = plan.name;
  fresh.trouble = plan.trouble;
  fresh.started_at = clock_.now();
  fresh.well_until = LoopClock::now();
  fresh.patience = plan.patience;
  Listed listed(loops_, std::move(fresh));
  LoopHealth& health = *listed;
  Streak streak(clock_, fmt::format("{}: {}", plan.area, plan.trouble), plan.retry, random_());
  Event nobody;
  Event& hurry = plan.hurry != nullptr ? *plan.hurry : nobody;
  while (true) {
    std::exception_ptr failure;
    try {
      if (streak.failures() == 0) co_await plan.wait();
      health.looked_at = clock_.now();
      health.look_began = LoopClock::now();
      health.looking = true;
      co_await plan.reconcile();
    } catch (...) {
      failure = std::current_exception();
    }
    health.looking = false;
    Duration pause{0};
    if (failure) {
      // What a look waited for may have been cancelled by others; the loop goes on unless it is itself.
      const auto state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none) std::rethrow_exception(failure);
      pause = streak.failed(text_of(failure));
      health.failed_at = clock_.now();
      if (streak.failures() == 1) health.streak_began = LoopClock::now();
    } else {
      streak.succeeded();
      health.succeeded_at = clock_.now();
      health.well_until = LoopClock::now();
    }
    health.failures = streak.failures();
    health.failing_since = streak.since();
    health.failure = streak.why();
    if (failure) co_await hurry.wait_until(deadline_in(pause));
  }
}

}  // namespace underway::async
