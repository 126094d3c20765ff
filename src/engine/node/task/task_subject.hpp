#pragma once
/// @file
/// A task as the parts of its runner see it (TaskEnvironment, TaskSecrets, TaskIdentities, TaskTemplates): of which
/// version it is, what runs of it, and what they may have done to it. Thread: one loop.

#include <memory>
#include <optional>
#include <string>

#include "node/runtime.hpp"

namespace underway::node {

class TaskSubject {
 public:
  virtual ~TaskSubject() = default;

  /// With its job. An order may bring a new version while somebody waits: who goes on with the old one keeps a copy.
  virtual const std::shared_ptr<const model::Allocation>& allocation() const = 0;
  virtual const model::Task& task() const = 0;
  /// Null while it does not run.
  virtual const std::shared_ptr<RunningTask>& process() const = 0;
  /// It shall end for good: nothing is waited for any more.
  virtual bool killed() const = 0;
  /// It was told to stop and to start again, and has not stopped yet.
  virtual bool restarting() const = 0;

  /// Something that people should know of it.
  virtual void tell(model::TaskEvent event) = 0;
  /// The same, unless it is what was told last.
  virtual void tell_once(model::TaskEvent event) = 0;
  /// Stops it and starts it again, without counting as a failure. Errors: invalid when it does not run.
  virtual void restart(const std::string& reason) = 0;
  /// Errors: invalid when it does not run or the signal is unknown.
  virtual void signal(const std::string& name, const std::string& reason) = 0;
  /// Ends it for good. The reason is recorded; `fails` marks the task as failed. Only the first call counts.
  virtual void kill(std::optional<model::TaskEvent> reason, bool fails) = 0;

  /// Returns when it is killed, too.
  virtual awaitable<void> pause(Duration span) = 0;
  /// Until wake(), a kill or whatever else is news: who waits looks again.
  virtual awaitable<void> wait_for_news() = 0;
  virtual void wake() = 0;
  /// Goes on beside what the runner does; cancelled when the process ends.
  virtual void run_beside(const std::string& name, awaitable<void> work) = 0;

 protected:
  TaskSubject() = default;
  TaskSubject(const TaskSubject&) = default;
  TaskSubject& operator=(const TaskSubject&) = default;
};

}  // namespace underway::node
