// Bad input and faults, on a node of its own (agent -dev like, without a cluster): what a task event says, and what is
// left alone when processes are killed at random moments.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <set>

#include "harness/machine.hpp"

#include <gtest/gtest.h>

namespace underway::harness {
namespace {

using std::chrono::seconds;

std::string job(const std::string& id, const std::string& type, const std::string& driver, const std::string& config,
                const std::string& more = "") {
  const std::string update = type == "service" ? "  update {\n    min_healthy_time = \"200ms\"\n  }\n" : "";
  return "job \"" + id + "\" {\n  type = \"" + type + "\"\n" + update +
         "  group \"g\" {\n    restart {\n      attempts = 0\n      mode = \"fail\"\n    }\n    ephemeral_disk {\n "
         "     size = 10\n    }\n    task \"t\" {\n     "
         " driver = \"" +
         driver + "\"\n      config {\n" + config + "\n      }\n" + more +
         "\n      logs {\n        max_files = 1\n        max_file_size = 1\n      }\n      resources {\n        cpu = "
         "10\n        memory = 20\n      }\n    }\n  }\n}\n";
}

/// Whether a task of this machine still sleeps: other tests have sleepers, too.
bool anyone_sleeps(const Machine& machine) {
  const std::string mine = "grep -qsz " + machine.directory() + " /proc/$p/environ";
  return !shell("for p in $(pgrep -x sleep); do " + mine + " && echo $p; done; true").out.empty();
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

  const auto driver = machine.run_job("driverless", job("driverless", "batch", "java", "command = \"/bin/true\""));
  EXPECT_EQ(driver.exit_code, 2) << driver.err;
  EXPECT_NE(driver.err.find("java"), std::string::npos) << driver.err;

  const auto memory = machine.run_job("hungry", job("hungry", "batch", "exec",
                                                    "command = \"/bin/sh\"\n args = [\"-c\", \"x=$(head -c 200000000 "
                                                    "/dev/zero | tr '\\\\0' x); echo $x | wc -c\"]"));
  // It is accepted and begins; whoever watches may see it begin, or end already.
  EXPECT_TRUE(memory.exit_code == 0 || memory.err.find("memory") != std::string::npos) << memory.err;
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

TEST(Faults, AFullDiskIsAClearRefusalAndLosesNothing) {
  Machine machine("400m");
  const auto sleeper = [](const std::string& id) {
    return job(id, "service", "raw_exec", "command = \"/bin/sleep\"\n args = [\"86399\"]");
  };
  const auto before = machine.run_job("before", sleeper("before"));
  ASSERT_EQ(before.exit_code, 0) << before.err;
  ASSERT_EQ(shell("dd if=/dev/zero of=" + machine.state() + "/filler bs=64k 2>/dev/null; test -s " + machine.state() +
                  "/filler")
                .exit_code,
            0);

  // The store may still have pages of its own: registrations are refused at the latest after some more.
  std::set<std::string> acknowledged{"before"};
  Finished refused;
  for (int i = 0; i < 200 && refused.exit_code != 1; ++i) {
    const std::string id = "full" + std::to_string(i);
    write_text(machine.directory() + "/" + id + ".hcl", sleeper(id));
    refused = machine.underway({"job", "run", "-detach", machine.directory() + "/" + id + ".hcl"});
    if (refused.exit_code == 0) acknowledged.insert(id);
  }
  ASSERT_EQ(refused.exit_code, 1) << "200 registrations fitted on a full disk";
  EXPECT_NE(refused.err.find("full"), std::string::npos) << refused.err;

  ASSERT_EQ(shell("rm " + machine.state() + "/filler").exit_code, 0);
  EXPECT_TRUE(eventually(seconds(20), [&] { return machine.run_job("after", sleeper("after")).exit_code == 0; }));
  acknowledged.insert("after");
  machine.kill_agent();
  machine.start();
  const auto jobs = machine.underway({"job", "status"}).out;
  for (const auto& id : acknowledged)
    EXPECT_NE(jobs.find(id + " "), std::string::npos) << id << " was acknowledged and is lost";
  ASSERT_TRUE(anyone_sleeps(machine));
  for (const auto& id : acknowledged) machine.underway({"job", "stop", "-detach", "-purge", id});
  EXPECT_TRUE(eventually(seconds(30), [&] { return !anyone_sleeps(machine); }));
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
  ASSERT_TRUE(anyone_sleeps(machine));
  // Also those that were registered though the answer was lost with the agent.
  for (int i = 0; i < number; ++i) machine.underway({"job", "stop", "-detach", "-purge", "j" + std::to_string(i)});
  EXPECT_TRUE(eventually(seconds(30), [&] { return !anyone_sleeps(machine); }));
}

}  // namespace
}  // namespace underway::harness
