#pragma once
/// @file
/// One check of an allocation, done again and again while what it is about runs. Never two attempts at once: a script
/// that does not return is killed at its timeout, counts as failed, and the next one waits until it is really gone.

#include <memory>
#include <optional>
#include <string>

#include "async/event.hpp"
#include "node/allocation/check_plan.hpp"

namespace underway::node {

/// What counts and what follows, attempt by attempt. Pure.
class CheckState {
 public:
  /// `known`: what an earlier agent had found.
  CheckState(const CheckPlan& plan, std::optional<model::CheckResult> known);

  /// What it is about has started (anew): back to the status that a check has before its first attempt.
  void reset();

  struct Outcome {
    bool changed = false;  ///< the status is another than before
    bool restart = false;  ///< check_restart's limit is reached
  };
  /// `in_grace`: failures do not count towards a restart.
  Outcome take(const ProbeAnswer& answer, bool in_grace, TimePoint now);

  const model::CheckResult& result() const { return result_; }
  /// Whether it passes as far as readiness and rollouts are concerned.
  bool passes() const;

 private:
  const CheckPlan& plan_;
  model::CheckResult result_;
  bool warning_ = false;                                              ///< the newest attempt
  std::int64_t successes_ = 0, failures_ = 0, restart_failures_ = 0;  ///< in a row
};

/// What checks need of the allocation that they look at.
class CheckSubject {
 public:
  virtual ~CheckSubject() = default;
  /// Null when it does not run.
  virtual std::shared_ptr<RunningTask> check_process(const std::string& task) const = 0;
  /// With everything that the task's environment knows filled in.
  virtual std::vector<std::string> check_command(const std::string& task,
                                                 const std::vector<std::string>& command) const = 0;
  virtual void check_changed() = 0;
  /// Empty task: all that run.
  virtual void check_failed(const std::string& task, const std::string& reason) = 0;
};

/// Held by its coroutine too: whoever lets go of one calls end() first. `subject` outlives run().
class CheckRunner : public std::enable_shared_from_this<CheckRunner> {
 public:
  CheckRunner(Runtime& runtime, CheckSubject& subject, CheckPlan plan, std::optional<model::CheckResult> known);
  CheckRunner(const CheckRunner&) = delete;
  CheckRunner& operator=(const CheckRunner&) = delete;

  /// Until end().
  awaitable<void> run();
  /// What it is about runs, since a moment ago or since before this agent came: attempts begin.
  void begin();
  /// It does not run any more: attempts pause, and what was found is void.
  void pause();
  void end();

  bool active() const { return active_; }
  const CheckPlan& plan() const { return plan_; }
  const model::CheckResult& result() const { return state_.result(); }
  bool passes() const { return state_.passes(); }
  /// Why it does not pass: "check 'ping' of service 'web' was critical: connection refused"; empty: it does.
  std::string problem() const;

 private:
  awaitable<void> attempts(std::int64_t round);
  awaitable<void> attempt(std::int64_t round);
  awaitable<void> attempt_script(std::int64_t round);
  awaitable<void> sleep(Duration span, std::int64_t round);
  void take(const ProbeAnswer& answer, std::int64_t round);

  Runtime& runtime_;
  CheckSubject& subject_;
  CheckPlan plan_;
  CheckState state_;
  bool active_ = false, over_ = false;
  bool known_ = false;  ///< what was found belongs to what runs now
  /// Grows with every begin and pause: what began in another round is of no interest any more.
  std::int64_t round_ = 0;
  std::shared_ptr<void> grace_;  ///< a timer; null: over
  async::Event wake_;
};

}  // namespace underway::node
