// A server whose state is gone, or is an older copy, and a node that runs what that does not know: nothing is stopped
// until somebody has decided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

std::string job(const std::string& id) {
  return "job \"" + id +
         "\" {\n  update {\n    min_healthy_time = \"100ms\"\n  }\n  group \"g\" {\n    task \"t\" {\n"
         "      driver = \"raw_exec\"\n      user = \"root\"\n      config {\n        command = \"/bin/sleep\"\n"
         "        args = [\"86396\"]\n      }\n      resources {\n        cpu = 10\n        memory = 20\n      }\n"
         "    }\n  }\n}\n";
}

class LostState : public testing::Test {
 protected:
  std::string run_job(const std::string& id) {
    const auto ran = machine.run_job(id, job(id));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return pid_of_task(id);
  }
  std::string pid_of_task(const std::string& id) const {
    return shell("for p in $(pgrep -x sleep); do tr '\\0' '\\n' < /proc/$p/environ | grep -qx NOMAD_JOB_ID=" + id +
                 " && grep -qsz " + machine.directory() + " /proc/$p/environ && echo $p; done")
        .out;
  }
  std::string copy(const std::string& from, const std::string& to) const {
    return shell("rm -f " + to + "/state.db*; mkdir -p " + to + "; cp -p " + from + "/state.db* " + to).err;
  }
  void lose_state() const { shell("rm " + server() + "/state.db " + server() + "/state.db-wal"); }
  std::string refusal() const {
    const auto started =
        machine.underway({"agent", "-server", "-client", "-http=none", "-data-dir=" + machine.state()});
    EXPECT_EQ(started.exit_code, 1);
    return started.err;
  }
  std::string orphans() const { return machine.underway({"node", "orphans"}).out; }
  bool orphans_name(const std::string& id) const {
    return eventually(seconds(20), [&] { return orphans().find(" " + id + " ") != std::string::npos; });
  }
  bool no_orphans() const {
    return eventually(seconds(20), [&] { return orphans().find("No orphans") != std::string::npos; });
  }
  std::string server() const { return machine.state() + "/server"; }
  std::string backup() const { return machine.directory() + "/backup"; }

  Machine machine;
};

TEST_F(LostState, IsRefusedAndBegunAnewOnPurposeWithoutStoppingWhatRuns) {
  const auto pid = run_job("kept");
  ASSERT_FALSE(pid.empty());
  machine.kill_agent();
  ASSERT_EQ(copy(server(), backup()), "");
  lose_state();
  EXPECT_THAT(refusal(), HasSubstr("the server's state is gone"));
  EXPECT_THAT(refusal(), HasSubstr("-new-cluster"));
  shell(": > " + server() + "/state.db");
  EXPECT_THAT(refusal(), HasSubstr("state.db' is empty"));
  shell("head -c 30000 /dev/urandom > " + server() + "/state.db");
  EXPECT_THAT(refusal(), HasSubstr("state.db"));
  EXPECT_EQ(pid_of_task("kept"), pid);

  lose_state();
  machine.start({"-new-cluster"});
  ASSERT_TRUE(orphans_name("kept")) << orphans();
  const auto status = machine.underway({"status"}).out;
  EXPECT_THAT(status, HasSubstr("runs 1 allocation that this server does not know"));
  EXPECT_THAT(status, HasSubstr("underway node orphans"));
  EXPECT_THAT(machine.underway({"node", "status"}).out, HasSubstr("ineligible"));
  EXPECT_EQ(pid_of_task("kept"), pid);
  // Its agent forgets nothing by dying, and the flag is for one start.
  machine.kill_agent();
  machine.start();
  ASSERT_TRUE(orphans_name("kept"));
  EXPECT_EQ(pid_of_task("kept"), pid);

  const auto kept = machine.underway({"node", "orphans", "-keep", "-all"});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_TRUE(no_orphans());
  EXPECT_THAT(machine.underway({"job", "status", "kept"}).out, HasSubstr("running"));
  EXPECT_THAT(machine.underway({"node", "status"}).out, Not(HasSubstr("ineligible")));
  EXPECT_EQ(pid_of_task("kept"), pid);
  const auto stopped = machine.underway({"job", "stop", "kept"});
  EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_TRUE(eventually(seconds(20), [&] { return pid_of_task("kept").empty(); })) << "it is a job as any other";
}

TEST_F(LostState, AnOlderCopyStopsNothingThatItDoesNotKnow) {
  const auto kept = run_job("kept");
  machine.kill_agent();
  ASSERT_EQ(copy(server(), backup()), "");
  machine.start();
  const auto later = run_job("later");
  ASSERT_FALSE(later.empty());
  machine.kill_agent();
  ASSERT_EQ(copy(backup(), server()), "");
  machine.start();
  ASSERT_TRUE(orphans_name("later")) << orphans();
  EXPECT_THAT(orphans(), Not(HasSubstr(" kept ")));
  EXPECT_EQ(pid_of_task("later"), later);
  EXPECT_EQ(pid_of_task("kept"), kept);
  EXPECT_EQ(machine.underway({"node", "orphans", "-stop"}).exit_code, 1) << "of which node?";
  const auto stopped = machine.underway({"node", "orphans", "-stop", "-all"});
  EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_TRUE(eventually(seconds(20), [&] { return pid_of_task("later").empty(); }));
  EXPECT_TRUE(no_orphans());
  EXPECT_EQ(run_job("later").empty(), false) << "the node takes what is new again";
  EXPECT_EQ(pid_of_task("kept"), kept);
}

TEST_F(LostState, ASnapshotThatIsRestoredAfterALossFindsWhatRunsAgain) {
  const std::string file = machine.directory() + "/state.snap";
  const auto kept = run_job("kept");
  ASSERT_EQ(machine.underway({"operator", "snapshot", "save", file}).exit_code, 0);
  const auto later = run_job("later");
  machine.kill_agent();
  lose_state();
  machine.start({"-new-cluster"});
  ASSERT_TRUE(orphans_name("kept"));
  const auto restored = machine.underway({"operator", "snapshot", "restore", "-yes", file});
  ASSERT_EQ(restored.exit_code, 0) << restored.err;
  // Known again; and what came after the snapshot waits for somebody to decide.
  EXPECT_TRUE(eventually(seconds(20), [&] { return orphans().find(" kept ") == std::string::npos; })) << orphans();
  ASSERT_TRUE(orphans_name("later"));
  EXPECT_THAT(machine.underway({"job", "status", "kept"}).out, HasSubstr("running"));
  EXPECT_EQ(pid_of_task("kept"), kept);
  EXPECT_EQ(pid_of_task("later"), later);
  // The directory is the restored cluster's, too.
  machine.kill_agent();
  machine.start();
  EXPECT_EQ(machine.underway({"node", "orphans", "-keep", "-all"}).exit_code, 0);
  EXPECT_TRUE(no_orphans());
  EXPECT_THAT(machine.underway({"job", "status", "later"}).out, HasSubstr("running"));
  EXPECT_EQ(pid_of_task("later"), later);
}

}  // namespace
}  // namespace underway::harness
