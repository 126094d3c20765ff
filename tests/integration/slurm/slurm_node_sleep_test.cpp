// Nodes whose machine sleeps, by the words of src/hpc/slurm/sleep/node_sleep.hpp, with the real daemons of each
// release. A host that sleeps is one whose processes all stand still, and whose cable is out.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "harness/places.hpp"
#include "harness/slurm/slurm_site.hpp"
#include "slurm/sleep/node_sleep.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// slurmctld asks who was silent for a third of it, and gives up who was for all of it.
constexpr int kSlurmdTimeout = 9;

class SlurmNodesSleep : public testing::TestWithParam<SlurmRelease> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GetParam().root + "/usr/sbin/slurmctld"))
      GTEST_SKIP() << "needs Slurm " << GetParam().version << " below " << GetParam().root
                   << ": packaging/slurm-roots makes it";
    site_ = std::make_unique<SlurmPool>(
        GetParam(), fmt::format("SelectType=select/cons_tres\nSlurmdTimeout={}\nReturnToService=2\n"
                                "NodeName=e[1-3] CPUs=2 RealMemory=2000 State=UNKNOWN NodeAddr=10.9.0.[11-13]\n"
                                "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE\n",
                                kSlurmdTimeout));
    line("for n in 1 2 3; do echo 10.9.0.1$n e$n >> /etc/hosts; done");
    for (const auto* n : {"1", "2", "3"}) {
      const std::string name = "e";
      site_->boot(name + n, std::string("10.9.0.1") + n, {"-N", name + n, "-b"});
    }
    ASSERT_TRUE(eventually(seconds(30), [&] { return line("sinfo -h -N -t idle -o %N | wc -l") == "3\n"; }))
        << line("sinfo");
  }

  std::string line(const std::string& text) const { return site_->shell(text).out; }
  std::vector<slurm::NodeRecord> records() const {
    return slurm::parse_records(site_->run(slurm::records_command()).out);
  }
  static const slurm::NodeRecord* find(const std::vector<slurm::NodeRecord>& all, const std::string& name) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& record) { return record.name == name; });
    return at == all.end() ? nullptr : &*at;
  }
  slurm::NodeRecord record(const std::string& name) const {
    const auto all = records();
    const auto* found = find(all, name);
    return found == nullptr ? slurm::NodeRecord() : *found;
  }
  std::vector<slurm::NodeJob> jobs(const std::string& node) const {
    return slurm::parse_node_jobs(site_->run(slurm::node_jobs_command({node})).out);
  }
  std::string state(const std::string& job) const { return line("squeue -h -t all -o %T -j " + job); }
  void tell(const std::vector<slurm::Command>& commands) const {
    for (const auto& command : commands) {
      const auto said = site_->run(command);
      EXPECT_EQ(said.exit_code, 0) << testing::PrintToString(command) << ": " << said.err;
    }
  }
  std::string running(const std::string& node, const std::string& ticks) const {
    const auto job = site_->submit(
        fmt::format("-w {} --wrap 'for i in 1 2 3 4 5 6 7 8; do echo $i >> /srv/{}; sleep 1; done'", node, ticks));
    EXPECT_TRUE(eventually(seconds(20), [&] { return state(job) == "RUNNING\n"; })) << line("squeue");
    return job;
  }

  /// Until their machines may sleep; the jobs that sleep with them, by node. Each of them has its say in turn, as if it
  /// knew nothing of what the others were told.
  std::map<std::string, std::vector<std::string>> put_to_rest(const std::vector<std::string>& nodes) const {
    std::map<std::string, std::vector<std::string>> suspended;
    const slurm::Sleepers all{.to_sleep = {nodes.begin(), nodes.end()}, .away = {nodes.begin(), nodes.end()}};
    EXPECT_TRUE(eventually(seconds(30), [&] {
      bool done = true;
      for (const auto& node : nodes) {
        const auto records = this->records();
        const auto* now = find(records, node);
        const auto there = jobs(node);
        const auto answers = slurm::stand_in(records, nodes, there, now->address);
        const auto next = slurm::plan_sleep(node, now, there, suspended[node], answers, all);
        suspended[node] = next.suspended;
        tell(next.commands);
        done = done && next.done;
      }
      return done;
    })) << line("sinfo -N -l; squeue");
    return suspended;
  }
  /// `away`: those that sleep on.
  void wake_up(const std::string& node, std::vector<std::string> suspended,
               const std::set<std::string>& away = {}) const {
    EXPECT_TRUE(eventually(seconds(30), [&] {
      const auto now = record(node);
      const auto next = slurm::plan_waking(node, &now, jobs(node), suspended, "10.9.0.1" + node.substr(1), true,
                                           {.to_sleep = away, .away = away});
      suspended = next.suspended;
      tell(next.commands);
      return next.done;
    })) << line("sinfo -N -l; squeue");
  }
  void freeze(const std::string& node) const {
    // Not whom Slurm has stopped already: those are Slurm's to go on.
    line(fmt::format(
        "ip link set {0} down; for p in $(ip netns pids {0}); do case $(ps -o stat= -p $p) in T*) ;; *) kill "
        "-STOP $p && echo $p ;; esac; done > /srv/frozen-{0}",
        node));
  }
  void thaw(const std::string& node) const {
    line(fmt::format("xargs kill -CONT < /srv/frozen-{0}; ip link set {0} up", node));
  }
  bool is_quiet(const std::string& node) const {
    const auto now = record(node);
    return now.state != "DOWN" && now.draining() && now.responds();
  }

  std::unique_ptr<SlurmPool> site_;
};

TEST_P(SlurmNodesSleep, KeepTheirJobsForLongerThanSlurmWaitsForANode) {
  const auto job = running("e1", "ticks"), other = running("e1", "others");
  const auto own = site_->submit("-w e1 --wrap 'sleep 300'");
  ASSERT_EQ(line("squeue -h -t PENDING -o %A"), own + "\n") << "the node is full";
  const auto suspended = put_to_rest({"e1"})["e1"];
  EXPECT_THAT(suspended, testing::UnorderedElementsAre(job, other));
  EXPECT_EQ(record("e1").reason, slurm::kAsleepReason);
  freeze("e1");
  const auto ticks = line("wc -l < /srv/ticks");
  EXPECT_TRUE(stays(seconds(3 * kSlurmdTimeout), [&] { return is_quiet("e1") && state(job) == "SUSPENDED\n"; }))
      << line("sinfo -N -l; squeue; tail -n 30 /srv/log/slurmctld");
  EXPECT_EQ(line("wc -l < /srv/ticks"), ticks);
  EXPECT_EQ(state(own), "PENDING\n") << "no job comes";

  thaw("e1");
  wake_up("e1", suspended);
  EXPECT_EQ(record("e1").address, "10.9.0.11");
  EXPECT_TRUE(eventually(seconds(40), [&] {
    return line("xargs < /srv/ticks; xargs < /srv/others") == "1 2 3 4 5 6 7 8\n1 2 3 4 5 6 7 8\n";
  })) << line("cat /srv/ticks; squeue");
  EXPECT_TRUE(eventually(seconds(20), [&] { return state(own) == "RUNNING\n"; }))
      << "jobs may come: " << line("squeue");
  EXPECT_THAT(line("scontrol show job " + job), HasSubstr("Restarts=0"));
}

TEST_P(SlurmNodesSleep, LetGoOfAJobThatIsCancelledMeanwhile) {
  const auto job = running("e2", "ticks");
  const auto suspended = put_to_rest({"e2"})["e2"];
  freeze("e2");
  line("scancel " + job);
  EXPECT_TRUE(eventually(seconds(20), [&] { return line("squeue -h -w e2 -o %A").empty(); })) << line("squeue -t all");
  thaw("e2");
  wake_up("e2", suspended);
  EXPECT_TRUE(eventually(seconds(30), [&] { return record("e2").state == "IDLE" && record("e2").responds(); }));
  EXPECT_TRUE(eventually(
      seconds(60),
      [&] { return line("ip netns pids e2 | xargs ps -o args= -p").find("slurmstepd") == std::string::npos; }))
      << "what was left of it is ended: " << line("ip netns pids e2 | xargs ps -o args= -p");
  EXPECT_EQ(site_->shell("srun -w e2 --time=1 true").exit_code, 0);
}

/// A job of two nodes: suspended once for both, it goes on when the second of them is awake, and on both.
TEST_P(SlurmNodesSleep, GoOnTogetherWithAJobOfBoth) {
  const auto job = site_->submit(
      "-N2 -w e[1-2] --wrap \"srun sh -c 'for i in 1 2 3 4 5 6 7 8; do echo \\$i >> /srv/ticks-\\$SLURM_PROCID; sleep "
      "1; done'\"");
  const auto ticks = [&] { return line("cat /srv/ticks-0 /srv/ticks-1 2>/dev/null | wc -l"); };
  ASSERT_TRUE(eventually(seconds(20), [&] { return line("ls /srv | grep -c ticks-") == "2\n"; })) << line("squeue");
  auto suspended = put_to_rest({"e1", "e2"});
  EXPECT_THAT(suspended["e1"], testing::ElementsAre(job));
  EXPECT_THAT(suspended["e2"], testing::ElementsAre(job));
  freeze("e1");
  freeze("e2");
  const auto before = ticks();
  EXPECT_TRUE(stays(seconds(2 * kSlurmdTimeout), [&] {
    return is_quiet("e1") && is_quiet("e2") && state(job) == "SUSPENDED\n";
  })) << line("sinfo -N -l; squeue; tail -n 30 /srv/log/slurmctld");
  thaw("e1");
  wake_up("e1", suspended["e1"], {"e2"});
  EXPECT_TRUE(stays(seconds(3), [&] { return state(job) == "SUSPENDED\n"; })) << "e2 sleeps still";
  EXPECT_EQ(ticks(), before);
  thaw("e2");
  wake_up("e2", suspended["e2"]);
  EXPECT_TRUE(eventually(seconds(40), [&] {
    return line("xargs < /srv/ticks-0; xargs < /srv/ticks-1") == "1 2 3 4 5 6 7 8\n1 2 3 4 5 6 7 8\n";
  })) << line("cat /srv/ticks-*; squeue; tail -n 30 /srv/log/slurmctld");
  EXPECT_TRUE(eventually(seconds(20), [&] { return state(job) == "COMPLETED\n"; })) << line("squeue -t all");
  EXPECT_THAT(line("scontrol show job " + job), HasSubstr("Restarts=0"));
}

/// Its memory was lost. slurmd is not there yet, as nothing has let it start.
TEST_P(SlurmNodesSleep, ThatWereBootedInsteadHaveTheirJobsQueuedAgainAtOnce) {
  const auto job = site_->submit("-w e1 --wrap 'sleep $((300 * (1 - ${SLURM_RESTART_COUNT:-0})))'"),
             kept = site_->submit("-w e1 --no-requeue --wrap 'sleep 300'"),
             after = site_->submit("--dependency=afterok:" + job + " --wrap true");
  for (const auto& id : {job, kept})
    ASSERT_TRUE(eventually(seconds(20), [&] { return state(id) == "RUNNING\n"; })) << line("squeue");
  const auto suspended = put_to_rest({"e1"})["e1"];
  EXPECT_THAT(suspended, testing::UnorderedElementsAre(job, kept));
  site_->cut("e1");
  const auto begun = std::chrono::steady_clock::now();
  tell(slurm::lost_commands(record("e1"), jobs("e1"), suspended, "10.9.0.11"));
  EXPECT_TRUE(eventually(seconds(5), [&] { return state(job) == "PENDING\n" && state(kept) == "NODE_FAIL\n"; }))
      << line("squeue -t all; sinfo -N -l");
  std::cerr << "queued again after " << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()
            << " s, to start in " << line("squeue -h -o %S -j " + job + "; date +%FT%T");
  EXPECT_EQ(line("squeue -h -o %r -j " + after), "Dependency\n") << "it will never start otherwise";

  tell(slurm::arrival_commands(records(), {{"e1", "10.9.0.11"}}));
  site_->boot("e1", "10.9.0.11", {"-N", "e1", "-b"});
  EXPECT_TRUE(eventually(seconds(30), [&] { return record("e1").state == "IDLE" && !record("e1").draining(); }))
      << line("sinfo -N -l");
  line("scontrol update jobid=" + job + " starttime=now");
  EXPECT_TRUE(eventually(seconds(30), [&] { return state(after) == "COMPLETED\n"; })) << line("squeue -t all");
  EXPECT_THAT(line("scontrol show job " + job), HasSubstr("Restarts=1"));
}

/// What would be without: so it is known that this test can tell.
TEST_P(SlurmNodesSleep, AreGivenUpWithTheirJobsWhenNobodyAnswersForThem) {
  const auto job = running("e3", "ticks");
  line("scontrol suspend " + job);
  freeze("e3");
  EXPECT_TRUE(eventually(seconds(10 * kSlurmdTimeout), [&] { return record("e3").state == "DOWN"; }))
      << line("sinfo -N -l");
  EXPECT_TRUE(eventually(seconds(20), [&] { return state(job) != "SUSPENDED\n"; })) << line("squeue -t all");
}

INSTANTIATE_TEST_SUITE_P(Releases, SlurmNodesSleep, testing::ValuesIn(slurm_releases()), [](const auto& made) {
  auto name = "Slurm" + made.param.version;
  std::erase(name, '.');
  return name;
});

}  // namespace
}  // namespace underway::harness
