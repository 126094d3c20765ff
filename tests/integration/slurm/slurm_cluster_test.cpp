// The administrator's session on the real thing: up, Slurm jobs, plan, apply, kill, down.
#include <signal.h>
#include <unistd.h>

#include "harness/cluster.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

std::string daemons(const Cluster& cluster) {
  return cluster.on("mgmt", "pgrep -x '(slurmctld|slurmd)(-wlm)?|munged|mariadbd|slurmdbd|chronyd' | xargs").out;
}

/// Submits a Slurm job that takes `duration` seconds; returns once it runs and the controller has saved that: it does
/// so asynchronously, and a job that is not on disk yet dies with it.
std::string submit(const Cluster& cluster, int duration) {
  const auto submitted =
      cluster.on("login", "sbatch --parsable --chdir=/home --wrap 'sleep " + std::to_string(duration) + "; hostname'");
  EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
  const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
  EXPECT_TRUE(eventually(
      seconds(20), [&] { return cluster.on("login", "squeue -h -t R -j " + id).out.find(id) != std::string::npos; }));
  const std::string started = cluster.on("mgmt", "date +%s").out;
  EXPECT_TRUE(eventually(seconds(30), [&] {
    return std::atoll(cluster.on("mgmt", "stat -c %Y /var/lib/slurm/slurmctld/job_state").out.c_str()) >
           std::atoll(started.c_str());
  })) << "the controller never saved its jobs";
  return id;
}

std::string state_of(const Cluster& cluster, const std::string& job) {
  return cluster.on("login", "sacct -n -X -P -o State -j " + job).out;
}

class SlurmCluster : public testing::Test {
 protected:
  void edit(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = read_text(file);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text(file, text.replace(at, from.size(), to));
  }
  Cluster cluster_;
};

TEST_F(SlurmCluster, IsChangedUnderARunningJobAndSurvivesTheDeathOfEveryAgent) {
  cluster_.up();
  const auto srun = cluster_.underway({"host", "exec", "login", "--", "srun", "-N4", "hostname"});
  ASSERT_EQ(srun.exit_code, 0) << srun.err;
  for (const char* host : {"c1", "c2", "c3", "c4"}) EXPECT_NE(srun.out.find(host), std::string::npos) << srun.out;
  const std::string job = submit(cluster_, 30);

  // Nothing to do is told as such.
  const auto unchanged = cluster_.underway({"plan", cluster_.slurm()});
  EXPECT_EQ(unchanged.exit_code, 0) << unchanged.out << unchanged.err;
  EXPECT_NE(unchanged.out.find("Nothing changes"), std::string::npos) << unchanged.out;

  // A setting of slurm.conf: the plan shows the line and where it matters; applying it replaces the controller alone.
  const std::string before = daemons(cluster_);
  edit(cluster_.slurm() + "/slurm.conf", "KillWait=30", "KillWait=7");
  const auto plan = cluster_.underway({"plan", cluster_.slurm()});
  EXPECT_EQ(plan.exit_code, 1) << plan.err;
  EXPECT_NE(plan.out.find("+KillWait=7"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("replace slurmctld.slurmctld[0] on mgmt"), std::string::npos) << plan.out;
  const auto applied = cluster_.underway({"apply", cluster_.slurm()}, seconds(150));
  EXPECT_EQ(applied.exit_code, 0) << applied.out << applied.err;
  EXPECT_NE(cluster_.on("login", "scontrol show config | grep KillWait").out.find("7 sec"), std::string::npos);
  EXPECT_NE(daemons(cluster_), before);
  EXPECT_NE(state_of(cluster_, job).find("RUNNING"), std::string::npos);

  // Every agent and the server at once: the daemons keep their pids, and `up` takes them over.
  const std::string running = daemons(cluster_);
  const auto agents = cluster_.agents();
  ASSERT_EQ(agents.size(), 7u);
  for (const int pid : agents) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually(seconds(10), [&] { return cluster_.server_agents().empty(); }));
  cluster_.up();
  EXPECT_EQ(daemons(cluster_), running);

  // One host more, by one number.
  const auto grown = cluster_.underway({"apply", "-var", "compute_nodes=5", cluster_.slurm()}, seconds(150));
  EXPECT_EQ(grown.exit_code, 0) << grown.out << grown.err;
  EXPECT_TRUE(
      eventually(seconds(40), [&] { return cluster_.on("login", "srun -N5 --immediate=5 true").exit_code == 0; }));

  // What would take a running Slurm job away says which, and is refused where nobody can be asked.
  const auto pinned = cluster_.on("login", "sbatch --parsable -w c5 --wrap 'sleep 600' | tee /dev/stderr");
  ASSERT_EQ(pinned.exit_code, 0) << pinned.err;
  const std::string id = pinned.out.substr(0, pinned.out.find('\n'));
  ASSERT_TRUE(eventually(seconds(20), [&] { return state_of(cluster_, id).find("RUNNING") != std::string::npos; }));
  for (const auto& words : std::vector<std::vector<std::string>>{{"apply", "-var", "compute_nodes=4", cluster_.slurm()},
                                                                 {"up", "-var", "compute_nodes=4", cluster_.slurm()}}) {
    const auto shrunk = cluster_.underway(words);
    EXPECT_EQ(shrunk.exit_code, 2) << words[0] << shrunk.out << shrunk.err;
    EXPECT_NE(shrunk.err.find("1 Slurm job runs: " + id), std::string::npos) << shrunk.err;
  }
  const auto gone = cluster_.underway({"down", "-all", "-purge"});
  EXPECT_EQ(gone.exit_code, 2) << gone.err;
  for (const std::string said : {id.c_str(), "secrets: nomad/jobs", "the disks of 7 hosts", "-yes"})
    EXPECT_NE(gone.err.find(said), std::string::npos) << said << "\n" << gone.err;
  EXPECT_NE(state_of(cluster_, id).find("RUNNING"), std::string::npos);
  EXPECT_EQ(cluster_.on("login", "scancel " + id).exit_code, 0);

  EXPECT_TRUE(eventually(seconds(90), [&] { return state_of(cluster_, job).find("COMPLETED") != std::string::npos; }))
      << state_of(cluster_, job);
  const auto status = cluster_.underway({"status"});
  EXPECT_NE(status.out.find("is up"), std::string::npos) << status.out;
  EXPECT_EQ(status.out.find("Needs you"), std::string::npos) << status.out;
}

TEST_F(SlurmCluster, RefusesABrokenFileWholeWithEveryErrorAtItsPlace) {
  edit(cluster_.slurm() + "/munge.hcl", "priority", "prioriti");
  edit(cluster_.slurm() + "/munge.hcl", "\"raw_exec\"", "var.driver");
  const auto finished = cluster_.underway({"up", cluster_.slurm()});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_NE(finished.err.find("munge.hcl:3:3"), std::string::npos) << finished.err;
  EXPECT_NE(finished.err.find("'priority'"), std::string::npos) << finished.err;
  EXPECT_NE(finished.err.find("driver"), std::string::npos) << finished.err;
  EXPECT_TRUE(cluster_.server_agents().empty()) << "an agent was started for a directory that cannot be read";
}

TEST_F(SlurmCluster, RefusesDependenciesThatFormACycle) {
  edit(cluster_.slurm() + "/munge.hcl", "  group \"munge\" {",
       "  depends_on {\n    job = \"slurmctld\"\n  }\n\n  group \"munge\" {");
  const auto finished = cluster_.underway({"up", cluster_.slurm()});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_NE(finished.err.find("munge → slurmctld → munge"), std::string::npos) << finished.err;
}

TEST_F(SlurmCluster, LetsTwoChangesWaitForEachOther) {
  Background first(cluster_.command({"up", cluster_.slurm()}, seconds(150)));
  const std::string held =
      "test -e " + cluster_.state() + "/up.lock && ! flock -n " + cluster_.state() + "/up.lock true";
  ASSERT_TRUE(eventually(seconds(10), [&] { return shell(held).exit_code == 0; }));
  const auto refused = cluster_.underway({"up", "-no-wait", cluster_.slurm()});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("underway up"), std::string::npos) << refused.err;
  const auto second = cluster_.underway({"up", cluster_.slurm()}, seconds(150));
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(first.wait(seconds(60)), 0);
}

TEST_F(SlurmCluster, IsBroughtUpAfterInterruptionsAtAnyStep) {
  for (const int milliseconds : {50, 200, 500, 900, 1500}) {
    SCOPED_TRACE(milliseconds);
    Background up(cluster_.command({"up", cluster_.slurm()}, seconds(150)));
    ::usleep(static_cast<useconds_t>(milliseconds) * 1000);
    up.signal(SIGINT);
    EXPECT_NE(up.wait(seconds(30)), -1);
    if (milliseconds == 500) {
      EXPECT_TRUE(cluster_.down().empty());
    }
  }
  cluster_.up();
  EXPECT_EQ(cluster_.underway({"host", "exec", "login", "--", "srun", "-N4", "hostname"}).exit_code, 0);
}

TEST_F(SlurmCluster, AcceptsThePapersListingsAsTheyStand) {
  cluster_.up();
  const std::string listings = source_dir() + "/src/state/jobspec/tests/listings/";
  for (const char* file : {"slurmctld.hcl", "munge.hcl", "slurmd.hcl"}) {
    SCOPED_TRACE(file);
    const auto plan =
        cluster_.underway({"job", "plan", "-var", "datacenter=dc1", "-var", "slurm-ctld-host=mgmt", listings + file});
    EXPECT_TRUE(plan.exit_code == 0 || plan.exit_code == 1) << plan.out << plan.err;
    EXPECT_NE(plan.out.find("Scheduler dry-run"), std::string::npos) << plan.out;
  }
}

}  // namespace
}  // namespace underway::harness
