// Bad input and faults, on a node of its own (agent -dev like, without a cluster): what a task event says, and what is
// left alone when processes are killed at random moments.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <set>

#include "harness/command.hpp"

#include <gtest/gtest.h>

namespace underway::harness {
namespace {

using std::chrono::seconds;

/// One agent with both roles, restarted by the test when it was killed.
class Machine {
 public:
  Machine() { start(); }
  ~Machine() {
    for (const auto& job : jobs_) underway({"job", "stop", "-purge", job});
    agent_.reset();
    // Tasks outlive agents: what the killed ones left is ended by the last one that runs.
    shell("for p in /proc/[0-9]*; do grep -qsz " + directory_.path() +
          " $p/environ $p/cmdline && kill -9 ${p#/proc/}; done; true");
    eventually(seconds(5), [&] {
      return shell("umount -q $(awk '{print $5}' /proc/self/mountinfo | grep " + directory_.path() +
                   ") 2>/dev/null; ! grep -q " + directory_.path() + " /proc/self/mountinfo")
                 .exit_code == 0;
    });
    shell("find /sys/fs/cgroup -depth -type d -path '*underway*' -exec rmdir {} \\; 2>/dev/null; true");
  }

  void start() {
    agent_.emplace(command({"agent", "-server", "-client", "-http=none", "-plugin=raw_exec", "-data-dir=" + state()}));
    ASSERT_TRUE(eventually(seconds(20), [&] {
      return underway({"node", "status"}).out.find("ready") != std::string::npos;
    })) << "the agent did not come up";
  }
  void kill_agent() {
    agent_->signal(SIGKILL);
    agent_->wait(seconds(5));
  }
  Command command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), UNDERWAY_BINARY_DIR "/bin/underway");
    return {
        .argv = std::move(arguments), .env = {{"UNDERWAY_STATE", state()}, {"NO_COLOR", "1"}}, .limit = seconds(60)};
  }
  Finished underway(std::vector<std::string> arguments) const { return run(command(std::move(arguments))); }
  /// Runs a job file; returns the whole output and exit code of `job run`.
  Finished run_job(const std::string& id, const std::string& text) {
    jobs_.insert(id);
    const std::string file = directory_.path() + "/" + id + ".hcl";
    write_text(file, text);
    return underway({"job", "run", file});
  }
  std::string state() const { return directory_.path() + "/state"; }
  const std::string& directory() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  std::optional<Background> agent_;
  std::set<std::string> jobs_;
};

std::string job(const std::string& id, const std::string& type, const std::string& driver, const std::string& config,
                const std::string& more = "") {
  return "job \"" + id + "\" {\n  type = \"" + type +
         "\"\n  group \"g\" {\n    restart {\n      attempts = 0\n      mode = \"fail\"\n    }\n    task \"t\" {\n     "
         " driver = \"" +
         driver + "\"\n      config {\n" + config + "\n      }\n" + more +
         "\n      resources {\n        cpu = 10\n        memory = 20\n      }\n    }\n  }\n}\n";
}

TEST(Faults, AreToldInTheWordsOfTheTaskEvent) {
  Machine machine;
  const auto missing =
      machine.run_job("missing", job("missing", "batch", "raw_exec", "command = \"/no/such/program\""));
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_NE(missing.err.find("/no/such/program"), std::string::npos) << missing.err;

  const auto user = machine.run_job(
      "stranger", job("stranger", "batch", "raw_exec", "command = \"/bin/true\"", "user = \"nosuchuser\""));
  EXPECT_NE(user.exit_code, 0);
  EXPECT_NE(user.err.find("nosuchuser"), std::string::npos) << user.err;

  const auto driver = machine.run_job("driverless", job("driverless", "batch", "podman", "command = \"/bin/true\""));
  EXPECT_EQ(driver.exit_code, 2) << driver.err;
  EXPECT_NE(driver.err.find("podman"), std::string::npos) << driver.err;

  const auto memory = machine.run_job("hungry", job("hungry", "batch", "exec",
                                                    "command = \"/bin/sh\"\n args = [\"-c\", \"x=$(head -c 200000000 "
                                                    "/dev/zero | tr '\\\\0' x); echo $x | wc -c\"]"));
  // The job was accepted and began: what became of it stands in its allocation.
  EXPECT_EQ(memory.exit_code, 0) << memory.err;
  std::string allocations;
  EXPECT_TRUE(eventually(seconds(20), [&] {
    allocations = machine.underway({"operator", "api", "/v1/job/hungry/allocations"}).out;
    return allocations.find("OOM") != std::string::npos;
  })) << allocations;
}

TEST(Faults, APortThatIsTakenIsNamedWithItsHolder) {
  Machine machine;
  const auto with_port = [](const std::string& id) {
    std::string text = job(id, "service", "raw_exec", "command = \"/bin/sleep\"\n args = [\"1000\"]");
    return text.insert(text.find("    task"),
                       "    network {\n      port \"p\" {\n        static = 24680\n      }\n    }\n");
  };
  ASSERT_EQ(machine.run_job("first", with_port("first")).exit_code, 0);
  const auto second = machine.run_job("second", with_port("second"));
  EXPECT_EQ(second.exit_code, 2) << second.err;
  EXPECT_NE(second.err.find("24680"), std::string::npos) << second.err;
}

TEST(Faults, AKilledAgentLosesNothingAndStartsNothingTwice) {
  Machine machine;
  std::mt19937 random(42);
  std::set<std::string> acknowledged;
  int number = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    for (int i = 0; i < 3; ++i) {
      const std::string id = "j" + std::to_string(number++);
      // Every start is one line in a file that outlives everything.
      const std::string marks = machine.directory() + "/" + id + ".starts";
      const std::string file = machine.directory() + "/" + id + ".hcl";
      write_text(file,
                 job(id, "service", "raw_exec",
                     "command = \"/bin/sh\"\n args = [\"-c\", \"echo started >> " + marks + "; exec sleep 86399\"]"));
      if (i == 2) {  // one that the kill may catch in the middle
        Background registering(machine.command({"job", "run", "-detach", file}));
        ::usleep(static_cast<useconds_t>(random() % 30'000));
        machine.kill_agent();
        if (registering.wait(seconds(30)) == 0) acknowledged.insert(id);
      } else if (machine.underway({"job", "run", "-detach", file}).exit_code == 0) {
        acknowledged.insert(id);
      }
    }
    machine.start();
  }
  ASSERT_GE(acknowledged.size(), 24u);
  const auto jobs = machine.underway({"job", "status"}).out;
  for (const auto& id : acknowledged)
    EXPECT_NE(jobs.find(id + " "), std::string::npos) << id << " was acknowledged and is lost";
  for (const auto& id : acknowledged) {
    const std::string marks = machine.directory() + "/" + id + ".starts";
    EXPECT_TRUE(eventually(seconds(30), [&] { return read_text(marks) == "started\n"; }))
        << id << ": '" << read_text(marks) << "'";
  }
  // Also those that were registered though the answer was lost with the agent.
  for (int i = 0; i < number; ++i) machine.underway({"job", "stop", "-detach", "-purge", "j" + std::to_string(i)});
  EXPECT_TRUE(eventually(seconds(30), [&] { return shell("pgrep -xf 'sleep 86399' >/dev/null").exit_code != 0; }));
}

}  // namespace
}  // namespace underway::harness
