#pragma once
/// @file
/// The tokens of a task: fetched before it starts, renewed while it runs.

#include <map>
#include <string>

#include "node/task/task_environment.hpp"

namespace underway::node {

class TaskIdentities {
 public:
  /// All outlive it.
  TaskIdentities(RunnerContext& context, TaskSubject& subject, TaskEnvironment& environment)
      : context_(context), subject_(subject), environment_(environment) {}

  /// Asks the server until it answers: a task that wants its token does not start without one. What an earlier start
  /// left in memory serves while it is good. Errors: what the server refuses; unsupported without one.
  awaitable<void> fetch();
  /// Renews them as long as the present process runs, each when half of its time is over.
  awaitable<void> keep();

 private:
  struct Token {
    std::string token;
    TimePoint issued, expires;
  };
  awaitable<std::string> renew(model::Identity identity);
  awaitable<void> write(model::Identity identity);
  awaitable<void> recall();
  TimePoint renewal_of(const model::Identity& identity);
  std::string path_of(const model::Identity& identity) const;

  RunnerContext& context_;
  TaskSubject& subject_;
  TaskEnvironment& environment_;
  std::map<std::string, Token> tokens_;  ///< by identity
};

}  // namespace underway::node
