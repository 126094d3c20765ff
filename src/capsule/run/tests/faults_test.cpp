// The agent is killed at every step of a start, and nothing is left when the next one has looked.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include "os/file.hpp"
#include "tests/capsules.hpp"

namespace underway::run {
namespace {

class Killed : public Capsules {
 protected:
  /// A child process as an agent that is killed before `step`; false when it came through.
  bool start_and_die(const TaskSpec& run, const std::string& step) {
    driver_.reset();
    ledger_.reset();
    const pid_t child = ::fork();
    if (child == 0) {
      ledger_.emplace(directory_ + "/ledger");
      auto options = this->options();
      options.on_step = [&](const std::string& at) {
        if (at == step) ::kill(::getpid(), SIGKILL);
      };
      const auto driver = make_capsule(options);
      try {
        const auto task = driver->start(run);
      } catch (const Error& e) {
        std::cerr << e.text() << "\n";
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ledger_.emplace(directory_ + "/ledger");
    driver_ = make_capsule(options());
    return WIFSIGNALED(status);
  }
};

TEST_F(Killed, AtEveryStepOfAStartTheNextAgentClearsAwayOrTakesOver) {
  const auto overlay = R"({"overlay": [{"kind": "ext4", "size": "32M"}]})";
  int attempt = 1;
  for (const std::string step :
       {"image", "overlay", "mount", "layer", "links", "launch", "probe", "addresses", "record", "go", "unmount"}) {
    SCOPED_TRACE(step);
    const auto run = spec("web", config("echo acted; sleep 1000", "10.9.0.5/24", overlay), attempt++);
    ASSERT_TRUE(start_and_die(run, step));
    const auto task = driver_->recover(run);
    // From `record` on it is known to be complete, and once told to go it stays.
    const bool complete = step == "unmount";
    const auto acted = [&] {
      return os::find_file(run.alloc_dir + "/logs/capsule.stdout.0").value_or("").find("acted") != std::string::npos;
    };
    if (complete) {
      EXPECT_EQ(task->status().phase, TaskStatus::Phase::running);
      EXPECT_TRUE(eventually([&] { return control(run).status().healthy() && acted(); }));
      task->stop(SIGTERM, seconds{10});
    }
    EXPECT_TRUE(task->wait(seconds{20}));
    EXPECT_EQ(acted(), complete);
    task->destroy();
    EXPECT_EQ(traces(), std::vector<std::string>{});
  }
}

TEST_F(Killed, AfterAllOfItTheCapsuleStartsAgainWithWhatItHadWritten) {
  const auto first = spec("web", config("echo kept > /var/lib/state; sleep 1000", "10.9.0.5/24"), 1);
  auto& task = start(first);
  EXPECT_TRUE(eventually([&] { return shell(task, "cat /var/lib/state") == "kept"; }));
  const auto process = task.status().process;
  ::kill(process.pid, SIGKILL);
  EXPECT_TRUE(task.wait(seconds{20}));
  task.destroy();
  tasks_.clear();
  auto& again = start(spec("web", config("sleep 1000", "10.9.0.5/24"), 2));
  EXPECT_EQ(shell(again, "cat /var/lib/state"), "kept");
  end(again);
}

}  // namespace
}  // namespace underway::run
