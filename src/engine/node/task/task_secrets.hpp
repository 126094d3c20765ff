#pragma once
/// @file
/// The `secret` blocks of a task: variables of the cluster that it sees as ${secret.<name>.<item>}, and that nobody
/// else reads in what is told of it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/server/cluster_data.hpp"
#include "node/task/task_environment.hpp"

namespace underway::node {

class TaskSecrets {
 public:
  /// All outlive it.
  TaskSecrets(RunnerContext& context, TaskSubject& subject, TaskEnvironment& environment)
      : context_(context), subject_(subject), environment_(environment) {}

  /// Waits until the variables are all there, and adds them to the environment. Nothing more is done until take_anew().
  /// Errors: unsupported without a server; denied.
  awaitable<void> fetch();
  /// The next fetch() takes what the variables hold then.
  void take_anew() { known_ = false; }
  /// The text without values of secrets.
  std::string redact(std::string text) const;
  /// What is known is forgotten, unless somebody else watches it.
  void stop_watching() { watch_.reset(); }

 private:
  /// Those of `task`, if all are there; else what is missing. Nothing: the server has not answered for all of them yet.
  std::optional<std::vector<std::string>> take(const model::Task& task, const TemplateAsker& asker);

  RunnerContext& context_;
  TaskSubject& subject_;
  TaskEnvironment& environment_;
  bool known_ = false;
  bool changed_ = false;
  std::shared_ptr<void> watch_;  ///< kept, so that a start without a link finds what was known
};

}  // namespace underway::node
