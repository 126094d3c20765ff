// What is saved of the Slurm controller's capsule is worth something: snapshots in a storm of submissions, tried in a
// rehearsal, and one of them restored while Slurm jobs run that nobody may notice.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <sstream>

#include "harness/farm.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

/// Slurm saves its jobs within 5 s (state_save.c); the accounting is told within some more.
constexpr long long kDeclaredLoss = 15;

class SavedController : public testing::Test {
 protected:
  std::string inside(const std::string& line) const {
    return cluster_.underway({"alloc", "exec", "-job", "slurm-services", "sh", "-c", line}).out;
  }
  Farm::Options farm_options() const {
    Farm::Options options;
    options.spread = true;
    options.on = [this](const std::string& host, const std::string& line, seconds limit) {
      return cluster_.enter(host, line, limit);
    };
    options.saved = [this] { return std::atoll(inside("stat -c %Y /var/lib/slurm/slurmctld/job_state").c_str()); };
    return options;
  }
  /// Submits short jobs as fast as it can, and writes down when which was acknowledged.
  Background storm() const {
    return Background({.argv = {"nsenter", "--all", "--target", std::to_string(cluster_.agent_of("login")), "sh", "-c",
                                "cd /var/tmp; for i in $(seq 2000); do id=$(sbatch --parsable --mem=16 -o /dev/null "
                                "--wrap true) && echo $(date +%s) $id >> storm; done"}});
  }
  /// By id: when it was acknowledged, in seconds since the epoch.
  std::map<long long, long long> acknowledged() const {
    std::istringstream rows(cluster_.enter("login", "cat /var/tmp/storm").out);
    std::map<long long, long long> out;
    for (long long at = 0, id = 0; rows >> at >> id;) out[id] = at;
    return out;
  }
  std::set<long long> accounted() const {
    std::istringstream rows(cluster_.enter("login", "sacct -n -X -P -a -S now-1hour -o JobIDRaw").out);
    std::set<long long> out;
    for (long long id = 0; rows >> id;) out.insert(id);
    return out;
  }
  long long now_on_login() const { return std::atoll(cluster_.enter("login", "date +%s").out.c_str()); }

  Cluster cluster_{"decoupled"};
};

TEST_F(SavedController, SnapshotsInAStormOfSubmissionsAreWholeAndOneIsRestored) {
  cluster_.declare_processors(8);
  cluster_.up();
  Farm farm(cluster_, farm_options());
  ASSERT_EQ(farm.plant(4), 4);
  ASSERT_TRUE(farm.settled());
  auto submissions = storm();
  ASSERT_TRUE(eventually(seconds(90), [&] {
    const auto all = acknowledged();
    return all.size() > 40 && now_on_login() - all.begin()->second > kDeclaredLoss + 5;
  }));

  // Three snapshots, and a clone of the last starts and passes the capsule's own check, while the storm goes on.
  std::string snapshot;
  long long taken_at = 0;
  for (int n = 0; n < 3; ++n) {
    taken_at = now_on_login();
    const auto taken = cluster_.underway({"capsule", "snapshot", "slurm-services"}, seconds(120));
    ASSERT_EQ(taken.exit_code, 0) << taken.err;
    snapshot = taken.out.substr(0, taken.out.find('\n'));
    std::cout << snapshot << ": " << taken.err;
    const auto seen = acknowledged().size();
    EXPECT_TRUE(eventually(seconds(30), [&] { return acknowledged().size() > seen + 5; })) << "nothing is submitted";
  }
  const auto drill = cluster_.underway({"capsule", "drill", "slurm-services"}, seconds(240));
  EXPECT_EQ(drill.exit_code, 0) << drill.out << drill.err;
  submissions.signal(SIGTERM);
  submissions.wait(seconds(30));
  const auto all = acknowledged();
  ASSERT_GT(all.size(), 60U);
  ASSERT_TRUE(eventually(seconds(60), [&] { return accounted().size() >= all.size(); }))
      << "before anything was restored";

  const auto restored =
      cluster_.underway({"capsule", "restore", "slurm-services", "-snapshot", snapshot}, seconds(240));
  ASSERT_EQ(restored.exit_code, 0) << restored.out << restored.err;
  std::cout << restored.err;
  // It schedules again once it was compared with its nodes.
  const auto srun = cluster_.enter("login", "srun -N4 --mem=16 hostname", seconds(120));
  EXPECT_EQ(srun.exit_code, 0) << srun.err;

  // What was acknowledged before the snapshot is known, up to the loss that Slurm declares.
  const auto known = accounted();
  long long lost = 0, of = 0;
  for (const auto& [id, at] : all) {
    if (at > taken_at - kDeclaredLoss) continue;
    ++of;
    if (!known.contains(id)) ++lost;
  }
  EXPECT_GT(of, 0);
  EXPECT_EQ(lost, 0) << "of " << of << " that were acknowledged " << kDeclaredLoss << " s before the snapshot";
  // And no number is given twice: jobs of the lost time have left files behind.
  const auto next = cluster_.enter("login", "sbatch --parsable --mem=16 -o /dev/null --wrap true");
  EXPECT_GT(std::atoll(next.out.c_str()), all.rbegin()->first) << next.err;
  const auto harvest = farm.harvest();
  EXPECT_THAT(harvest.problems, IsEmpty());
  EXPECT_EQ(harvest.jobs, 4U);
}

}  // namespace
}  // namespace underway::harness
