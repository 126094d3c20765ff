// What a slurmctld believes against what its nodes run, on the real thing: a Slurm job whose processes are gone is
// found, and ended; what runs is left alone; what waits and runs is held.
#include "harness/cluster.hpp"
#include "slurm/reconcile/reconcile.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

class SlurmReconcile : public testing::Test {
 protected:
  std::string submit(const std::string& node) {
    const auto told = cluster_.on("login", "sbatch --parsable --chdir=/home -w " + node + " --wrap 'sleep 600'");
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out.substr(0, told.out.find('\n'));
  }
  std::string state_of(const std::string& job) const {
    for (const auto& slurm_job : slurm_jobs())
      if (slurm_job.id == job) return slurm_job.state;
    return "";
  }
  std::vector<slurm::SlurmJob> slurm_jobs() const {
    return slurm::parse_slurm_jobs(
        cluster_.on("login", std::string("squeue -h -t all -o '") + slurm::slurm_jobs_command().back() + "'").out);
  }
  std::map<std::string, std::set<std::string>> hosts() const {
    std::map<std::string, std::set<std::string>> out;
    for (const std::string host : {"c1", "c2", "c3", "c4"}) {
      const auto steps = slurm::parse_host_steps(cluster_.on(host, slurm::kStepsScript).out);
      if (steps) out.emplace(host, *steps);
    }
    return out;
  }
  slurm::Reconciliation compare() const {
    const auto with_steps = slurm::parse_steps(cluster_.on("login", "squeue -s -h -o %i").out);
    return slurm::reconcile(slurm_jobs(), with_steps, {{"c1", "c1"}, {"c2", "c2"}, {"c3", "c3"}, {"c4", "c4"}},
                            hosts());
  }
  Cluster cluster_;
};

TEST_F(SlurmReconcile, EndsWhatRunsNowhereAndLeavesTheRestAlone) {
  cluster_.up();
  const auto real = submit("c1"), ghost = submit("c2");
  ASSERT_TRUE(eventually(seconds(30), [&] { return hosts()["c1"].contains(real) && hosts()["c2"].contains(ghost); }));
  EXPECT_TRUE(compare().findings.empty());

  // Its processes end while nobody hears of it: slurmstepd cannot tell.
  ASSERT_EQ(cluster_.on("c2", "pkill -9 -x slurmstepd; pkill -9 -x sleep; true").exit_code, 0);
  ASSERT_TRUE(eventually(seconds(10), [&] { return hosts()["c2"].empty(); }));
  ASSERT_EQ(state_of(ghost), "RUNNING") << "slurmctld believes in it";
  const auto made = compare();
  ASSERT_EQ(made.findings.size(), 1U);
  EXPECT_EQ(made.findings[0].kind, slurm::Finding::Kind::ghost);
  EXPECT_EQ(made.findings[0].job, ghost);
  ASSERT_EQ(made.commands.size(), 1U);
  std::string line;
  for (const auto& word : made.commands[0]) line += word + " ";
  EXPECT_EQ(cluster_.on("login", line).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(60), [&] { return state_of(ghost) == "CANCELLED" || state_of(ghost).empty(); }))
      << state_of(ghost);
  EXPECT_EQ(state_of(real), "RUNNING");
  EXPECT_TRUE(hosts()["c1"].contains(real));
  EXPECT_TRUE(compare().findings.empty());
}

}  // namespace
}  // namespace underway::harness
