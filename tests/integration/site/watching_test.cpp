// What a person sees of a change while it happens: the rollout of `job run`, `job explain`, `events`, `job stop`.
#include <csignal>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

std::string service(const std::string& id, const std::string& script, const std::string& more = {}) {
  return "job \"" + id + R"(" {
  update {
    min_healthy_time  = "500ms"
    healthy_deadline  = "20s"
    progress_deadline = "0s"
    auto_revert       = true
  }
  )" + more +
         R"(
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", ")" +
         script + R"("]
      }
      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
})";
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Watching, ARolloutIsShownToItsVerdictAndWhatTheFailingTaskWrote) {
  Machine machine;
  machine.start();
  // Long enough to be seen on the way, also by a client that gets its turn late.
  auto text = service("web", "exec sleep 600");
  text.replace(text.find("500ms"), 5, "3s");
  const auto first = machine.run_job("web", text);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_HAS(first.err, "g [....................] 0 of 1 healthy, 1 placed");
  EXPECT_HAS(first.err, "g [####################] 1 of 1 healthy, 1 placed");
  EXPECT_HAS(first.err, "successful");
  EXPECT_EQ(first.err.find('\x1b'), std::string::npos) << "plain lines in a pipe";

  const auto second = machine.run_job("web", service("web", "sleep 0.2; echo cannot bind >&2; exit 3"));
  EXPECT_EQ(second.exit_code, 1) << second.err;
  EXPECT_HAS(second.err, "task 't' failed");
  EXPECT_HAS(second.err, "t wrote: cannot bind");
  EXPECT_HAS(second.err, "rolling back to job version 0");
  EXPECT_HAS(second.err, "The job goes back");

  const auto unplaced = machine.run_job(
      "large",
      service("large", "exec sleep 600", "constraint {\n attribute = \"${attr.kernel.name}\"\n value = \"plan9\"\n }"));
  EXPECT_EQ(unplaced.exit_code, 2) << unplaced.err;
  EXPECT_HAS(unplaced.err, "underway job explain -nodes large");
  const auto why = machine.underway({"job", "explain", "-nodes", "large"});
  EXPECT_HAS(why.out, "1 of 1 nodes: the constraint ${attr.kernel.name} = plan9 does not hold there");
  EXPECT_HAS(why.out, "no: the constraint");
  EXPECT_EQ(machine.underway({"job", "explain", "nobody"}).exit_code, 1);
}

TEST(Watching, EndsWithCtrlCAndTheRolloutGoesOn) {
  Machine machine;
  machine.start();
  const std::string file = machine.directory() + "/slow.hcl", said = machine.directory() + "/said";
  auto text = service("slow", "exec sleep 600");
  text.replace(text.find("500ms"), 5, "8s");
  write_text(file, text);
  auto command = machine.command({"job", "run", file});
  command.argv.insert(command.argv.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>" + said});
  Background watching(command);
  ASSERT_TRUE(eventually(seconds(20), [&] { return read_text(said).find("1 placed") != std::string::npos; }));
  watching.signal(SIGINT);
  EXPECT_EQ(watching.wait(seconds(5)), 128 + SIGINT);
  EXPECT_HAS(read_text(said), "The rollout goes on without being watched.");
  EXPECT_HAS(read_text(said), "underway deployment status -monitor ");
  EXPECT_TRUE(eventually(seconds(30), [&] {
    return machine.underway({"job", "deployments", "slow"}).out.find("successful") != std::string::npos;
  }));
  machine.underway({"job", "stop", "-purge", "slow"});
}

TEST(Watching, EventsAreFollowedThroughARestartOfTheServer) {
  Machine machine;
  machine.start();
  const std::string told = machine.directory() + "/told", said = machine.directory() + "/said";
  auto command = machine.command({"events", "-follow", "-topic", "Job", "-topic", "Allocation:second"});
  command.argv.insert(command.argv.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" >" + told + " 2>" + said});
  command.limit = seconds(300);
  Background following(command);
  ASSERT_EQ(machine.run_job("first", service("first", "exec sleep 600")).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(5),
                         [&] { return read_text(told).find("first version 0 is registered") != std::string::npos; }));
  machine.kill_agent();
  machine.start();
  ASSERT_EQ(machine.run_job("second", service("second", "exec sleep 600")).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(10), [&] { return read_text(told).find("second.g[0]") != std::string::npos; }));
  const auto lines = read_text(told);
  EXPECT_HAS(lines, "second version 0 is registered");
  EXPECT_EQ(lines.find("first.g[0]"), std::string::npos) << "not asked for: " << lines;
  EXPECT_EQ(lines.find("first version 0 is registered"), lines.rfind("first version 0 is registered")) << "told once";
  EXPECT_HAS(read_text(said), "following again");

  const auto kept = machine.underway({"events", "-json", "-topic", "Job:second"});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_HAS(kept.out, R"("Type":"JobRegistered")");
  const auto wrong = machine.underway({"events", "-topic", "Jobs"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_HAS(wrong.err, "did you mean Job?");
  EXPECT_EQ(machine.underway({"events", "-index", "x"}).exit_code, 2) << "the flag takes a number";
}

TEST(Watching, StoppingAJobNamesWhoDependsOnIt) {
  Machine machine;
  machine.start();
  ASSERT_EQ(machine.run_job("base", service("base", "exec sleep 600")).exit_code, 0);
  ASSERT_EQ(machine.run_job("upper", service("upper", "exec sleep 600", "depends_on {\n job = \"base\"\n }")).exit_code,
            0);
  EXPECT_EQ(machine.underway({"job", "stop", "upper"}).err.find("depend"), std::string::npos);
  ASSERT_EQ(machine.run_job("upper", service("upper", "exec sleep 600", "depends_on {\n job = \"base\"\n }")).exit_code,
            0);
  const auto stopped = machine.underway({"job", "stop", "base"});
  EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_HAS(stopped.err, "others depend on 'base', until it works again:");
  EXPECT_HAS(stopped.err, "upper runs on; what of it ends is not started again before");
}

}  // namespace
}  // namespace underway::harness
