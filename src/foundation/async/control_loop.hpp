#pragma once
/// @file
/// Control loops: what a daemon does again and again without being asked. Each is a plan — a name, what it waits for,
/// what it does — and all are run by one function, which backs off when a look fails, says so once, and keeps for
/// operators when each loop last looked, succeeded and failed (`underway status`, /v1/metrics).
///
///     loops.start(tasks, {.area = "server",
///                         .name = "drains",
///                         .trouble = "drains cannot go on",
///                         .wait = [this] { return wait_for_care(); },
///                         .reconcile = [this] { return look_after_drains(); }});

#include <list>

#include "async/event.hpp"
#include "async/group.hpp"
#include "async/loop_clock.hpp"
#include "async/retry.hpp"

namespace underway::async {

/// The failures in a row of something that is tried until it succeeds: when to try next, and what the log says of it,
/// which is one line when it begins and one when it is over, however long it lasts.
class Streak {
 public:
  /// `what` fails, for the log: "server: drains cannot go on". `clock` outlives it.
  Streak(const Clock& clock, std::string what, RetryPolicy policy, std::uint64_t seed = std::random_device{}())
      : clock_(&clock), what_(std::move(what)), policy_(policy), backoff_(policy, seed) {}

  /// How long to wait before the next try.
  Duration failed(std::string why);
  void succeeded();

  int failures() const { return failures_; }
  TimePoint since() const { return since_; }       ///< when the first of them was; only while there are some
  const std::string& why() const { return why_; }  ///< the newest; empty: there are none

 private:
  const Clock* clock_;
  std::string what_;
  RetryPolicy policy_;
  Backoff backoff_;
  std::string why_;
  TimePoint since_{};
  int failures_ = 0;
};

/// How a loop goes. Instants are the clock's, for people; spans are the loop's own time, since a clock may be set.
struct LoopHealth {
  std::string area, name, trouble;  ///< as in its plan
  TimePoint started_at{};
  TimePoint looked_at{};      ///< when its newest look began; zero: it has not looked yet
  TimePoint succeeded_at{};   ///< when one last ended well; zero: none did
  TimePoint failed_at{};      ///< when one last failed; zero: none did
  TimePoint failing_since{};  ///< the first of `failures`
  int failures = 0;           ///< in a row; 0: the newest look succeeded
  std::string failure;        ///< what the newest one failed with
  Duration patience{0};       ///< a look that takes longer is stuck
  bool looking = false;       ///< a look is under way

  Duration looking_for() const { return looking ? LoopClock::now() - look_began : Duration{0}; }
  Duration failing_for() const { return failures > 0 ? LoopClock::now() - streak_began : Duration{0}; }
  /// Since it started when it never succeeded.
  Duration since_success() const { return LoopClock::now() - well_until; }
  bool is_stuck() const { return looking_for() > patience; }
  /// Whether somebody should look at it: it is stuck, or has failed for more than a minute. Until then it is as likely
  /// as not that the next look succeeds.
  bool needs_somebody() const { return is_stuck() || failing_for() > std::chrono::minutes(1); }

  SteadyTime look_began{}, streak_began{}, well_until{};
};

struct LoopPlan {
  std::string area;     ///< "server": begins what the log says of it
  std::string name;     ///< "drains": what operators know it by; one of its kind in a process
  std::string trouble;  ///< what follows while it fails, for people: "drains cannot go on"
  /// Resumes when there is something to look at: a change, a time, an event. Not called before a look that follows on
  /// one that failed.
  std::function<awaitable<void>()> wait;
  /// One look. It throws what keeps it from its end, and is called again after a pause.
  std::function<awaitable<void>()> reconcile;
  RetryPolicy retry = RetryPolicy::up_to(std::chrono::seconds(1));
  Duration patience = std::chrono::minutes(5);
  Event* hurry = nullptr;  ///< ends the pause after a failure: what it wants for may be there now
};

/// The loops of a daemon. Thread: one loop.
class LoopRegistry {
 public:
  /// `clock` outlives it.
  explicit LoopRegistry(const Clock& clock, std::uint64_t seed = std::random_device{}())
      : clock_(clock), random_(seed), loops_(std::make_shared<std::list<LoopHealth>>()) {}
  LoopRegistry(const LoopRegistry&) = delete;
  LoopRegistry& operator=(const LoopRegistry&) = delete;

  /// Waits and looks until `tasks` cancels it; no failure ends it.
  void start(TaskGroup& tasks, LoopPlan plan);
  /// Of those that run, in the order of their start.
  const std::list<LoopHealth>& health() const { return *loops_; }

 private:
  class Listed;
  awaitable<void> run(LoopPlan plan);

  const Clock& clock_;
  std::mt19937_64 random_;
  std::shared_ptr<std::list<LoopHealth>> loops_;  ///< frames of coroutines may outlive us: theirs too
};

}  // namespace underway::async
