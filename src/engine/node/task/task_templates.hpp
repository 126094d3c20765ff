#pragma once
/// @file
/// The templates of a task: rendered before it starts, and again when what they asked for changes, or the task itself
/// does.

#include <memory>
#include <optional>

#include "node/task/task_environment.hpp"
#include "node/task/task_secrets.hpp"

namespace underway::node {

class TaskTemplates {
 public:
  /// All outlive it.
  TaskTemplates(RunnerContext& context, TaskSubject& subject, TaskEnvironment& environment, TaskSecrets& secrets)
      : context_(context), subject_(subject), environment_(environment), secrets_(secrets) {}

  /// Renders until nothing is missing, and adds to the environment what they give.
  awaitable<void> render_first(const TemplateInputs& inputs);
  /// Renders again beside the runner, and does what the templates want done when they change. One at a time.
  void update();
  /// Whether what they asked for has changed since they were rendered for the start. Nobody acts on that by itself: to
  /// be asked when the task has started, which may take minutes.
  bool outdated() const { return data_changed_; }
  /// What changes from now on is not looked at.
  void stop_watching();

 private:
  awaitable<void> apply_updates();
  awaitable<void> update_once();
  awaitable<void> run_change(TemplateChange change, std::shared_ptr<RunningTask> process);
  /// Follows what the templates asked for. True if that is more or other than before.
  bool watch(const TemplateAsker& asker, const gotemplate::Dependencies& what);
  void data_changed();
  /// How long data that has changed is left to settle.
  Duration settling();
  bool runs() const { return subject_.process() != nullptr && !subject_.killed(); }

  RunnerContext& context_;
  TaskSubject& subject_;
  TaskEnvironment& environment_;
  TaskSecrets& secrets_;
  gotemplate::Dependencies watched_;
  std::shared_ptr<void> watch_;
  std::shared_ptr<void> settle_timer_;
  std::optional<TimePoint> unsettled_since_;
  bool data_changed_ = false;
  bool updating_ = false;
  bool update_again_ = false;
};

}  // namespace underway::node
