// A drain that asks Slurm first, on the real thing: the Slurm job ends by itself, then its node is emptied; and back.
#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

class SlurmDrain : public testing::Test {
 protected:
  /// Slurm's word for the state of c3, without flags.
  std::string slurm_state() const {
    const auto told = cluster_.on("login", "sinfo -h -N -n c3 -o %T | head -1").out;
    return told.substr(0, told.find_first_of("*~#!%$@^+-\n"));
  }
  bool slurmd_runs() const { return cluster_.on("c3", "pgrep -x 'slurmd(-wlm)?'").exit_code == 0; }
  std::string job_state(const std::string& job) const {
    return cluster_.on("login", "sacct -n -X -P -o State -j " + job).out;
  }
  Cluster cluster_;
};

TEST_F(SlurmDrain, WaitsForSlurmJobsThenStopsSlurmdAndHandsTheNodeBack) {
  cluster_.up();
  const auto submitted = cluster_.on("login", "sbatch --parsable --chdir=/home -w c3 --wrap 'sleep 20; hostname'");
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const std::string job = submitted.out.substr(0, submitted.out.find('\n'));
  ASSERT_TRUE(eventually(seconds(30), [&] {
    return cluster_.on("login", "squeue -h -t R -j " + job).out.find(job) != std::string::npos;
  }));

  const auto asked =
      cluster_.underway({"node", "drain", "-enable", "-yes", "-detach", "-slurm", "-deadline", "10m", "c3"});
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  ASSERT_TRUE(eventually(seconds(20), [&] { return slurm_state() == "draining"; })) << slurm_state();
  EXPECT_TRUE(eventually(seconds(10), [&] {
    return cluster_.underway({"status"}).out.find("waits for 1 Slurm job on c3 (" + job + ")") != std::string::npos;
  })) << cluster_.underway({"status"}).out;
  EXPECT_TRUE(slurmd_runs());
  const auto running = cluster_.on("login", "squeue -h -t R -j " + job).out;  // the accounting is some seconds behind
  EXPECT_NE(running.find(job), std::string::npos) << running;

  // The command that watches tells the same, and returns when the node is empty.
  const auto watched = cluster_.underway({"node", "drain", "-monitor", "c3"}, seconds(120));
  EXPECT_EQ(watched.exit_code, 0) << watched.err;
  EXPECT_NE(watched.out.find("waits for 1 Slurm job on c3"), std::string::npos) << watched.out;
  EXPECT_NE(watched.out.find("Drain complete"), std::string::npos) << watched.out;
  EXPECT_FALSE(slurmd_runs());
  EXPECT_TRUE(eventually(seconds(30), [&] { return job_state(job).find("COMPLETED") != std::string::npos; }))
      << job_state(job);
  EXPECT_EQ(slurm_state(), "drained");

  const auto ended = cluster_.underway({"node", "drain", "-disable", "-yes", "c3"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(eventually(seconds(30), [&] { return slurmd_runs(); }));
  EXPECT_TRUE(eventually(seconds(60), [&] { return slurm_state() == "idle"; })) << slurm_state();
  const auto srun = cluster_.on("login", "srun -w c3 --immediate=30 hostname");
  EXPECT_EQ(srun.out, "c3\n") << srun.err;
}

}  // namespace
}  // namespace underway::harness
