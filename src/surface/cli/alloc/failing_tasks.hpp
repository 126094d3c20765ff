#pragma once
/// @file
/// What is wrong with the allocations of a job, in a line each, with the last line that a failing task wrote.

#include "sdk/client.hpp"

namespace underway::cli {

/// The last line of a log that is not empty.
std::string last_line(std::string_view log);

/// While something goes on, what is not wanted any more is in no trouble; afterwards it may be what it failed of.
enum class Look { now, afterwards };

/// One allocation that is not as it should be; nothing when it is, or is merely on its way.
std::optional<std::string> trouble_of(const wire::AllocationStub& allocation, Look look = Look::now);

/// Whether one of them that is wanted failed of what no waiting cures: a program or an image that is not there, a wrong
/// configuration.
bool is_hopeless(const std::vector<wire::AllocationStub>& allocations);

class FailingTasks {
 public:
  explicit FailingTasks(sdk::Client& client) : client_(client) {}
  /// Lines for five of the allocations that are in trouble, each followed by its task's last words; then how many
  /// more there are. A task's log is asked for once per failure.
  std::vector<std::string> lines(const std::vector<wire::AllocationStub>& allocations, Look look = Look::now);

 private:
  std::string last_line_of(const std::string& allocation, const std::string& task, const model::TaskState& state);

  sdk::Client& client_;
  std::map<std::string, std::string> known_;  ///< by allocation, task and failure
};

}  // namespace underway::cli
