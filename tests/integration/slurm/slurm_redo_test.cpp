// Slurm jobs that are done again, by the words of src/hpc/slurm/elastic/redo.hpp, with the real daemons of each
// release.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "harness/places.hpp"
#include "harness/slurm/slurm_site.hpp"
#include "slurm/elastic/redo.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class SlurmRedo : public testing::TestWithParam<SlurmRelease> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GetParam().root + "/usr/sbin/slurmctld"))
      GTEST_SKIP() << "needs Slurm " << GetParam().version << " below " << GetParam().root
                   << ": packaging/slurm-roots makes it";
    site_ = std::make_unique<SlurmPool>(GetParam(),
                                        "SelectType=select/cons_tres\nReturnToService=2\n"
                                        "SchedulerParameters=bf_interval=1,sched_min_interval=100000,sched_interval=1\n"
                                        "NodeName=e[1-3] CPUs=2 RealMemory=2000 State=UNKNOWN NodeAddr=10.9.0.[11-13]\n"
                                        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE\n");
    line("for n in 1 2 3; do echo 10.9.0.1$n e$n >> /etc/hosts; done");
    for (const std::string n : {"1", "2", "3"}) site_->boot("e" + n, "10.9.0.1" + n, {"-N", "e" + n, "-b"});
    ASSERT_TRUE(eventually(seconds(30), [&] { return line("sinfo -h -N -t idle -o %N | wc -l") == "3\n"; }))
        << line("sinfo");
  }

  std::string line(const std::string& text) const { return site_->shell(text).out; }
  void tell(const slurm::Command& command) const {
    const auto said = site_->run(command);
    EXPECT_EQ(said.exit_code, 0) << testing::PrintToString(command) << ": " << said.err;
  }
  std::string running(const std::string& words) const {
    const auto job = site_->submit(words);
    EXPECT_TRUE(eventually(seconds(20), [&] { return line("squeue -h -o %T -j " + job).find("RUNNING") == 0; }))
        << line("squeue");
    return job;
  }
  slurm::RedoFacts facts(const std::string& id) const {
    for (auto& found : slurm::parse_redo_facts(site_->run(slurm::redo_facts_command({id})).out))
      if (found.id == id) return found;
    return {};
  }
  std::string state(const std::string& id) const { return facts(id).state; }
  std::optional<std::set<std::string>> listeners(const std::string& node) const {
    const std::string enter = R"(nsenter --mount --pid --target $(ip netns pids "$1" | tail -n 1) -- /bin/sh -c "$2")";
    return slurm::parse_listeners(
        site_->run({"/bin/sh", "-c", enter, "sh", node, slurm::listeners_command().back()}).out);
  }
  std::string why(const std::string& id) const {
    const auto known = facts(id);
    return slurm::why_not_redone(id, &known);
  }

  std::unique_ptr<SlurmPool> site_;
};

TEST_P(SlurmRedo, WhoListensIsToldAndWhoFailsThenCanBeDoneAgain) {
  const auto listens = running("-w e1 --wrap 'trap \"exit 3\" TERM; while :; do sleep 0.2; done'");
  const auto deaf = running("-w e1 --wrap 'sleep 300'");
  const auto heard = listeners("e1");
  EXPECT_EQ(heard, std::set<std::string>{facts(listens).number}) << line("ip netns pids e1 | xargs ps -o args= -p");
  tell(slurm::notice_command({listens}));
  ASSERT_TRUE(eventually(seconds(10), [&] { return state(listens) == "FAILED"; })) << line("squeue -t all");
  EXPECT_EQ(state(deaf), "RUNNING");
  tell(slurm::redo_command(listens, {"e1", "e2"}));
  ASSERT_TRUE(eventually(seconds(10), [&] { return state(listens) == "PENDING"; })) << line("squeue -t all");
  EXPECT_EQ(facts(listens).kept_off, (std::set<std::string>{"e1", "e2"}));
}

TEST_P(SlurmRedo, AJobThatRunsIsQueuedAgainAndKeptOffNodesFromThenOn) {
  const auto job = running("-w e1 --wrap 'hostname >> /srv/where; sleep $((300 * (1 - ${SLURM_RESTART_COUNT:-0})))'");
  const auto after = site_->submit("--dependency=afterok:" + job + " --wrap true");
  EXPECT_EQ(why(job), "");
  EXPECT_EQ(facts(job).batch_host, "e1");
  tell(slurm::redo_command(job, {"e1", "e2"}));
  EXPECT_EQ(facts(job).kept_off, (std::set<std::string>{"e1", "e2"})) << "while it still ends";
  ASSERT_TRUE(eventually(seconds(40), [&] { return state(job) == "PENDING"; })) << line("squeue -t all");
  EXPECT_THAT(line("scontrol show job " + job), HasSubstr("Restarts=1"));
  // What it was to have at first it need not have any more: that was this test's wish.
  line("scontrol update jobid=" + job + " reqnodelist= starttime=now");
  ASSERT_TRUE(eventually(seconds(30), [&] { return state(job) == "COMPLETED"; })) << line("squeue -t all; sinfo");
  EXPECT_EQ(line("cat /srv/where"), "e1\ne3\n");
  EXPECT_TRUE(eventually(seconds(30), [&] { return state(after) == "COMPLETED"; })) << line("squeue -t all");
}

TEST_P(SlurmRedo, TasksOfArraysAreDoneAgainByThemselves) {
  const auto array = site_->submit("-a 1-2 --wrap 'sleep 300'");
  const auto task = array + "_2";
  ASSERT_TRUE(eventually(seconds(20), [&] { return state(task) == "RUNNING"; })) << line("squeue");
  EXPECT_EQ(why(task), "");
  tell(slurm::redo_command(task, {"e1"}));
  ASSERT_TRUE(eventually(seconds(40), [&] { return state(task) == "PENDING"; })) << line("squeue -t all");
  tell(slurm::keep_off_command(task, {"e1", "e2"}));
  EXPECT_EQ(facts(task).kept_off, (std::set<std::string>{"e1", "e2"}));
  EXPECT_EQ(state(array + "_1"), "RUNNING");
}

TEST_P(SlurmRedo, WhoCannotBeDoneAgainIsKnown) {
  EXPECT_EQ(why(running("--no-requeue --wrap 'sleep 300'")), "may not be requeued");
  line("salloc -n1 sleep 300 > /dev/null 2>&1 &");
  ASSERT_TRUE(eventually(seconds(20), [&] { return line("squeue -h -t RUNNING -o %i | wc -l") == "2\n"; }));
  EXPECT_EQ(why(line("squeue -h -t RUNNING -o %i | sort -n | tail -n 1 | tr -d '\\n'")), "is interactive");
  EXPECT_EQ(facts("99999").id, "") << "and asked for alone it is no error";
}

INSTANTIATE_TEST_SUITE_P(Releases, SlurmRedo, testing::ValuesIn(slurm_releases()), [](const auto& made) {
  auto name = "Slurm" + made.param.version;
  std::erase(name, '.');
  return name;
});

}  // namespace
}  // namespace underway::harness
