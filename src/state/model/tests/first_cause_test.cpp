#include "model/validate/first_cause.hpp"

#include <gtest/gtest.h>

namespace underway::model {
namespace {

TaskEvent event(std::string type, std::string message, std::int64_t time = 0) {
  TaskEvent out;
  out.type = std::move(type);
  out.message = std::move(message);
  out.time = time;
  return out;
}

TaskState failed(std::vector<TaskEvent> events) {
  TaskState state;
  state.state = TaskRunState::dead;
  state.failed = true;
  state.events = std::move(events);
  return state;
}

TEST(FirstCause, IsWhatFailedAndNotWhatFollowedFromIt) {
  struct Case {
    const char* name;
    std::vector<TaskEvent> events;
    const char* expect;
  };
  const std::vector<Case> cases = {
      {"a program that is not there",
       {event("Received", "Task received by client"), event("Task Setup", "Building Task Directory"),
        event("Driver Failure", "cannot run '/nonexistent/slurmd': No such file or directory"),
        event("Not Restarting", std::string(kUnrecoverable))},
       "cannot run '/nonexistent/slurmd': No such file or directory"},
      {"the newest attempt counts",
       {event("Started", ""), event("Terminated", "Exit Code: 1"), event("Restarting", "Task restarting in 15s"),
        event("Started", ""), event("Terminated", "Exit Code: 2"),
        event("Not Restarting", "Exceeded allowed attempts")},
       "Exit Code: 2"},
      {"a check that had it restarted",
       {event("Started", ""), event("Restart Signaled", "check 'port' does not pass"),
        event("Terminated", "Exit Code: 143, Signal: 15"), event("Not Restarting", "Policy allows no restarts")},
       "check 'port' does not pass"},
      {"ended because of another",
       {event("Started", ""), event("Sibling Task Failed", "Task's sibling 'a' failed"),
        event("Killing", "Sent SIGTERM"), event("Terminated", "Exit Code: 143, Signal: 15"), event("Killed", "")},
       ""},
      {"nothing is known", {event("Received", "Task received by client")}, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(cause_of(failed(c.events)), c.expect);
  }
  TaskState well;
  well.events = {event("Started", ""), event("Terminated", "Exit Code: 0")};
  EXPECT_EQ(cause_of(well), "") << "it did not fail";
}

TEST(FirstCause, IsThatOfTheTaskThatFailedByItself) {
  std::map<std::string, TaskState> tasks;
  EXPECT_FALSE(first_cause(tasks));
  tasks["a"] = failed({event("Started", "", 1), event("Sibling Task Failed", "Task's sibling 'b' failed", 5),
                       event("Terminated", "Exit Code: 143, Signal: 15", 6)});
  tasks["b"] =
      failed({event("Driver Failure", "no such image", 4), event("Not Restarting", std::string(kUnrecoverable), 4)});
  const auto cause = first_cause(tasks);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->task, "b");
  EXPECT_EQ(cause->text, "no such image");
  EXPECT_TRUE(cause->hopeless);
  tasks["b"].events.back().message = "Policy allows no restarts";
  EXPECT_FALSE(first_cause(tasks)->hopeless);
}

}  // namespace
}  // namespace underway::model
