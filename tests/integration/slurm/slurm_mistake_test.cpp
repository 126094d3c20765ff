// What one mistake in a file costs the example cluster, which says nothing about rollouts: one node, for a moment.
#include <signal.h>

#include <set>

#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

class SlurmMistake : public testing::Test {
 protected:
  void edit(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_text(cluster_.slurm() + "/" + file);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text(cluster_.slurm() + "/" + file, text.replace(at, from.size(), to));
  }
  /// Pids of slurmd, by host: not of those that it forks as it launches a step.
  std::map<std::string, std::string> slurmds() const {
    std::map<std::string, std::string> all;
    for (const char* host : {"mgmt", "login", "c1", "c2", "c3", "c4"})
      all[host] = cluster_.on(host, "pgrep -o -x slurmd").out;
    return all;
  }
  std::string slurm_job(const std::string& id) const { return cluster_.on("login", "scontrol show job " + id).out; }

  Cluster cluster_;
};

TEST_F(SlurmMistake, InTheCommandOfSlurmdCostsOneNodeAMomentAndNoSlurmJobAnything) {
  cluster_.up();
  const auto submitted =
      cluster_.on("login", "sbatch --parsable --chdir=/home -N4 --wrap 'srun sleep 45; echo ended > /home/ended'");
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const std::string job = submitted.out.substr(0, submitted.out.find('\n'));
  ASSERT_TRUE(eventually(seconds(20), [&] { return slurm_job(job).find("JobState=RUNNING") != std::string::npos; }))
      << slurm_job(job);
  const auto before = slurmds();

  edit("slurmd.hcl", "/usr/sbin/slurmd", "/nonexistent/slurmd");
  const auto applied = cluster_.underway({"apply", cluster_.slurm()}, seconds(150));
  EXPECT_EQ(applied.exit_code, 1) << applied.out << applied.err;
  EXPECT_NE(applied.err.find("the job went back"), std::string::npos) << applied.out << applied.err;
  EXPECT_NE(applied.err.find("/nonexistent/slurmd"), std::string::npos) << applied.out << applied.err;
  EXPECT_EQ(applied.err.find("is as declared"), std::string::npos) << applied.err;

  // One node has a slurmd that is newer; the others never lost theirs.
  const auto touched = cluster_.nodes_of("slurmd", "1");
  ASSERT_EQ(touched.size(), 1u) << cluster_.underway({"job", "allocs", "slurmd"}).out;
  std::map<std::string, std::string> after;
  EXPECT_TRUE(eventually(seconds(20),
                         [&] {
                           after = slurmds();
                           return !after[*touched.begin()].empty();
                         }))
      << *touched.begin() << " never got its slurmd back";
  for (const auto& [host, pid] : before) {
    SCOPED_TRACE(host);
    if (touched.contains(host))
      EXPECT_NE(after[host], pid);
    else
      EXPECT_EQ(after[host], pid);
  }

  // The Slurm job that ran on all four nodes runs on, was begun once, and ends well.
  EXPECT_NE(slurm_job(job).find("JobState=RUNNING"), std::string::npos) << slurm_job(job);
  EXPECT_TRUE(eventually(seconds(90), [&] {
    return cluster_.on("login", "sacct -n -X -P -o State -j " + job).out.find("COMPLETED") != std::string::npos;
  })) << slurm_job(job);
  EXPECT_NE(slurm_job(job).find("Restarts=0"), std::string::npos) << slurm_job(job);
  EXPECT_EQ(cluster_.on("login", "sinfo -h -N -t down,drain -o %N").out, "");

  // The file is mended: then it is as declared again.
  edit("slurmd.hcl", "/nonexistent/slurmd", "/usr/sbin/slurmd");
  const auto mended = cluster_.underway({"apply", cluster_.slurm()}, seconds(150));
  EXPECT_EQ(mended.exit_code, 0) << mended.out << mended.err;
}

TEST_F(SlurmMistake, IsTakenBackThoughItIsFoundOutWhileTheServerIsAway) {
  cluster_.up();
  // A slurmd that starts and never works: that takes its node until the deadline to see.
  edit("slurmd.hcl", "/usr/sbin/slurmd", "/bin/sleep");
  edit("slurmd.hcl", R"("-D", "-N", "${attr.unique.hostname}", "--conf-server", "mgmt:6817")", "\"1000\"");
  edit("slurmd.hcl", "  group \"slurmd\" {", "  update {\n    healthy_deadline = \"8s\"\n  }\n\n  group \"slurmd\" {");
  ASSERT_EQ(cluster_.underway({"apply", "-detach", cluster_.slurm()}).exit_code, 0);
  std::set<std::string> touched;
  ASSERT_TRUE(eventually(seconds(30), [&] {
    touched = cluster_.nodes_of("slurmd", "1");
    return !touched.empty() && cluster_.on(*touched.begin(), "pgrep -f '^/bin/sleep 1000'").exit_code == 0;
  }));
  ASSERT_EQ(touched.size(), 1u);
  const std::string node = *touched.begin();

  for (const int pid : cluster_.server_agents()) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually(seconds(10), [&] { return cluster_.server_agents().empty(); }));
  const std::string verdict = "grep -rqs 'not healthy within 8s' /var/lib/underway-node";
  ASSERT_TRUE(eventually(seconds(40), [&] { return cluster_.enter(node, verdict).exit_code == 0; })) << node;

  cluster_.up();
  EXPECT_TRUE(eventually(seconds(60), [&] { return !cluster_.on(node, "pgrep -x slurmd").out.empty(); }))
      << cluster_.underway({"job", "deployments", "slurmd"}).out;
  const auto deployments = cluster_.underway({"job", "deployments", "slurmd"}).out;
  EXPECT_NE(deployments.find("rolling back to job version 0"), std::string::npos) << deployments;
}

}  // namespace
}  // namespace underway::harness
