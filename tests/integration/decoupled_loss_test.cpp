// The host of the Slurm controller dies, in examples/decoupled as it is shipped: nobody has moved anything, nobody has
// asked for a standby. What was acknowledged a second before is known afterwards, and nobody is needed.
#include <fmt/format.h>

#include <sstream>

#include "integration/decoupled.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

class DecoupledLoss : public DecoupledCluster {
 protected:
  /// What `command` prints on the login host.
  std::string on_login(const std::string& command) const { return cluster_.enter("login", command).out; }
  std::string submit(const std::string& options, const std::string& command) const {
    const auto sent =
        cluster_.enter("login", "sbatch --parsable --mem=16 -o /dev/null " + options + " --wrap='" + command + "'");
    EXPECT_EQ(sent.exit_code, 0) << sent.err;
    return sent.out.substr(0, sent.out.find('\n'));
  }
  std::string accounted(const std::string& job) const { return on_login("sacct -n -X -P -o State -j " + job); }
  long long saved_at() const {
    return std::atoll(in_capsule("ctl", "stat -c %Y", "/var/lib/slurm/slurmctld/job_state").c_str());
  }
  /// Copies are no older than that, as the server knows, and have been made since `after`.
  bool copied(const std::string& capsule, seconds at_most) const {
    const auto status = cluster_.underway({"capsule", "status", capsule}).out;
    const auto at = status.find("what it wrote in the last ");
    if (at == std::string::npos) return false;
    const auto word = status.substr(at + 26, status.find('\n', at) - at - 26);
    return word.find("ms") != std::string::npos || word == "0s" || word == "1s" ||
           (word.ends_with('s') && std::atoi(word.c_str()) < at_most.count());
  }
};

TEST_F(DecoupledLoss, TheHostOfTheControllerDiesAndWhatWasAcknowledgedIsKnown) {
  const std::string from = host_of("slurm-services"), to = from == "infra1" ? "infra2" : "infra1";
  ASSERT_TRUE(eventually(seconds(120), [&] { return copied("slurm-services", seconds(2)); }))
      << cluster_.underway({"capsule", "status", "slurm-services"}).out << cluster_.underway({"status"}).out;
  EXPECT_THAT(attention(), IsEmpty());

  // Jobs that have ended, as the accounting knows; jobs that wait; and one that runs on.
  std::vector<std::string> ended, waiting;
  for (int i = 0; i < 6; ++i) ended.push_back(submit("", "true"));
  const std::string running = submit("-w c1", "sleep 600");
  for (int i = 0; i < 4; ++i) waiting.push_back(submit("-H", "true"));
  const auto now = [&] { return std::atoll(on_login("date +%s").c_str()); };
  ASSERT_TRUE(eventually(seconds(60), [&] {
    return std::all_of(ended.begin(), ended.end(), [&](const auto& job) { return accounted(job) == "COMPLETED\n"; });
  })) << on_login("sacct -X");
  ASSERT_TRUE(eventually(seconds(30), [&] { return on_login("squeue -h -o %t -j " + running) == "R\n"; }));
  // slurmctld writes its state some seconds late, and only when something has changed; from then on a second is enough.
  const auto acknowledged = now();
  submit("-H", "true");
  ASSERT_TRUE(eventually(seconds(30), [&] { return saved_at() >= acknowledged; }));
  const auto saved = now();
  ASSERT_TRUE(eventually(seconds(10), [&] { return now() > saved + 1; }));

  cluster_.pull_the_plug(from);
  ASSERT_TRUE(eventually(seconds(120), [&] { return host_of("slurm-services") == to; }))
      << cluster_.underway({"status"}).out;
  ASSERT_TRUE(eventually(seconds(120), [&] { return cluster_.enter("login", "squeue -h").exit_code == 0; }));
  ASSERT_TRUE(eventually(seconds(60), [&] { return !accounted(ended.front()).empty(); })) << "slurmdbd answers";
  for (const auto& job : ended) EXPECT_EQ(accounted(job), "COMPLETED\n") << job;
  for (const auto& job : waiting) EXPECT_EQ(on_login("squeue -h -o %t -j " + job), "PD\n") << job;
  EXPECT_EQ(on_login("squeue -h -o %t -j " + running), "R\n");

  // Nobody is needed for the rest: what keeps nothing starts on the host that is made anew, copies go there again.
  EXPECT_TRUE(eventually(seconds(180), [&] { return attention().empty() && copied("slurm-services", seconds(2)); }))
      << cluster_.underway({"status"}).out;
  EXPECT_EQ(cluster_.underway({"up", cluster_.directory()}, seconds(60)).exit_code, 0);
  const auto srun = cluster_.enter("login", "srun -N4 --mem=16 hostname");
  EXPECT_EQ(srun.exit_code, 0) << srun.err;
}

}  // namespace
}  // namespace underway::harness
