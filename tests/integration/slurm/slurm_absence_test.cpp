// The Slurm controller is away, for less than SlurmdTimeout and for ten times as long; and it is there, and does not
// reach its nodes. Slurm itself takes such nodes for dead then, and their jobs with them. A farm of jobs runs on.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "harness/capsule/slurm_capsule.hpp"

namespace underway::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

/// slurmctld notices within this that a node does not answer.
constexpr const char* kQuick = "TCPTimeout=1\nMessageTimeout=2\n";

class SlurmAbsence : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
  /// Three nodes: one that reaches just half of its nodes does not start at all.
  void bring_up(seconds slurmd_timeout, const std::string& settings = "") {
    timeout_ = slurmd_timeout;
    capsule_.emplace("SlurmdTimeout=" + std::to_string(timeout_.count()) + "\n" + settings, 3);
  }

  /// As Slurm has it, with its flags: "mixed", "mixed*", "down*".
  std::string state_of(const std::string& node) const {
    const auto told = capsule_->on_login("sinfo -h -N -o %T -n " + node).out;
    return told.substr(0, told.find('\n'));
  }
  /// All answer, and take jobs: nobody was taken for dead.
  bool all_answer() const {
    for (const auto* node : {"c1", "c2"}) {
      const std::string state = state_of(node);
      if (state != "mixed" && state != "idle" && state != "allocated") return false;
    }
    return true;
  }
  /// slurmctld does, somewhere.
  bool lives() const { return !capsule_->controllers("infra1").empty() || !capsule_->controllers("infra2").empty(); }
  /// SlurmdTimeout is the site's.
  bool times_out() const {
    const std::string line =
        "scontrol show config | grep -q '^SlurmdTimeout  *= " + std::to_string(timeout_.count()) + " sec'";
    return capsule_->on_login(line).exit_code == 0;
  }
  std::string nodes_and_jobs() const {
    return capsule_->on_login("sinfo -N -o '%N %T %E'; squeue -t all; scontrol show config | grep Timeout").out;
  }
  /// The controller knocks at the node, and gets no answer; the node sees all others.
  void cut_off(const std::string& node) const {
    ASSERT_EQ(capsule_->cluster().enter(node, "ip route add blackhole 10.78.0.5/32").exit_code, 0);
  }
  void let_in(const std::string& node) const {
    ASSERT_EQ(capsule_->cluster().enter(node, "ip route del blackhole 10.78.0.5/32").exit_code, 0);
  }
  /// For so many SlurmdTimeouts the node is never taken for dead.
  void expect_spared(const std::string& node, int times) const {
    const auto until = Clock::now() + times * timeout_;
    bool silent = false;
    EXPECT_TRUE(stays(times * timeout_,
                      [&] {
                        const auto state = state_of(node);
                        silent = silent || state.ends_with("*");
                        return !state.starts_with("down") && Clock::now() <= until + timeout_;
                      }))
        << node << " was taken for dead\n"
        << nodes_and_jobs() << capsule_->status();
    EXPECT_TRUE(silent) << node << " was never missed: that proves nothing";
  }

  /// What Slurm does by itself, while the server is away: a job that runs is to be started once more.
  void expect_slurm_gives_up(const std::string& node) const {
    for (const int pid : capsule_->cluster().server_agents()) ::kill(pid, SIGKILL);
    const auto job = capsule_->on_login("sbatch --parsable -o /dev/null --mem=16 -w " + node + " --wrap 'sleep 1000'");
    ASSERT_EQ(job.exit_code, 0) << job.err;
    const auto is = [&](const std::string& state) {
      return capsule_->on_login("squeue -h -t all -n wrap -o %T").out == state + "\n";
    };
    ASSERT_TRUE(eventually(seconds(20), [&] { return is("RUNNING"); })) << nodes_and_jobs();
    cut_off(node);
    EXPECT_TRUE(eventually(seconds(60), [&] { return is("PENDING"); })) << nodes_and_jobs();
    EXPECT_THAT(capsule_->cluster().enter(node, "pgrep -fc '^sleep 1000$'").out, testing::StartsWith("1"))
        << "nobody has told it to end";
    let_in(node);
    capsule_->up();
    EXPECT_EQ(capsule_->on_login("scancel -n wrap").exit_code, 0);
    EXPECT_TRUE(eventually(seconds(60), [&] { return all_answer(); })) << nodes_and_jobs();
  }

  std::optional<SlurmCapsule> capsule_;
  seconds timeout_{0};
};

TEST_F(SlurmAbsence, OfAnyLengthIsNoticedByNoJobAndNodesComeBackByThemselves) {
  bring_up(seconds(3));
  Farm farm(capsule_->cluster(), capsule_->farm_options());
  ASSERT_EQ(farm.plant(4), 4);
  for (const milliseconds away :
       {milliseconds(timeout_) / 2, 3 * milliseconds(timeout_), 10 * milliseconds(timeout_)}) {
    SCOPED_TRACE(std::to_string(away.count()) + " ms");
    const std::string to = capsule_->other_than(capsule_->owner());
    ASSERT_EQ(farm.plant(1, seconds(3)), 1);
    // What starts on the target asks first whether it reaches the nodes: that takes so long.
    capsule_->hold("start");
    ASSERT_EQ(capsule_->cluster().underway({"capsule", "move", capsule_->name(), "-to", to, "-detach"}).exit_code, 0);
    ASSERT_TRUE(eventually(seconds(40), [&] { return !lives(); })) << capsule_->status();
    const auto since = Clock::now();
    eventually(std::chrono::ceil<seconds>(away), [&] { return lives() || Clock::now() - since > away; });
    EXPECT_FALSE(lives());
    capsule_->let_go("start");
    ASSERT_TRUE(eventually(seconds(40), [&] { return capsule_->at_rest(); })) << capsule_->status();
    EXPECT_TRUE(capsule_->schedules()) << nodes_and_jobs();
    EXPECT_TRUE(eventually(seconds(30), [&] { return all_answer(); })) << nodes_and_jobs();
  }
  EXPECT_THAT(farm.harvest().problems, testing::IsEmpty())
      << capsule_->on_login("sacct -D -X -P -o JobIDRaw,State,ExitCode,Start,End").out;
}

TEST_F(SlurmAbsence, ANodeThatTheControllerDoesNotReachIsNotTakenForDeadWhileItsJobsRun) {
  bring_up(seconds(8), kQuick);
  expect_slurm_gives_up("c2");
  if (HasFatalFailure()) return;
  Farm farm(capsule_->cluster(), capsule_->farm_options());
  ASSERT_EQ(farm.plant(4), 4);
  ASSERT_TRUE(farm.settled());

  // A move to where it does not reach one of its nodes: the dangerous case.
  cut_off("c2");
  const std::string to = capsule_->other_than(capsule_->owner());
  const auto moved = capsule_->cluster().underway({"capsule", "move", capsule_->name(), "-to", to}, seconds(90));
  ASSERT_EQ(moved.exit_code, 0) << moved.err << capsule_->status();
  expect_spared("c2", 2);
  EXPECT_THAT(capsule_->cluster().underway({"status"}).out, testing::HasSubstr("slurmctld does not reach c2"));
  EXPECT_TRUE(capsule_->schedules()) << "the other node works\n" << nodes_and_jobs();
  let_in("c2");
  EXPECT_TRUE(eventually(seconds(30), [&] { return all_answer() && times_out(); })) << nodes_and_jobs();

  EXPECT_THAT(farm.harvest().problems, testing::IsEmpty());
}

}  // namespace
}  // namespace underway::harness
