// The farm itself on the real thing: it sees nothing when the controller comes and goes, and it sees what is done to a
// job.
#include "harness/farm.hpp"

#include <gmock/gmock.h>

namespace underway::harness {
namespace {

using std::chrono::seconds;

class SlurmFarm : public testing::Test {
 protected:
  SlurmFarm() { cluster_.declare_processors(8); }
  std::string controller() const { return cluster_.on("mgmt", "pgrep -x slurmctld").out; }
  Cluster cluster_;
};

TEST_F(SlurmFarm, NoJobNoticesThatTheControllerDiesAndIsStartedAgain) {
  cluster_.up();
  Farm farm(cluster_);
  ASSERT_EQ(farm.plant(8), 8);
  ASSERT_EQ(farm.plant(2, seconds(8)), 2);  // these end while it is away, or soon after
  ASSERT_TRUE(farm.settled());
  const std::string before = controller();
  ASSERT_EQ(cluster_.on("mgmt", "pkill -9 -x slurmctld").exit_code, 0);
  ASSERT_TRUE(eventually(seconds(60), [&] {
    const std::string now = controller();
    return !now.empty() && now != before && cluster_.on("login", "squeue").exit_code == 0;
  }));
  EXPECT_EQ(farm.plant(2), 2);
  const auto harvest = farm.harvest();
  EXPECT_THAT(harvest.problems, testing::IsEmpty());
  EXPECT_EQ(harvest.jobs, 12U);
  RecordProperty("longest_gap_ms", static_cast<int>(harvest.longest_gap * 1000));
}

TEST_F(SlurmFarm, SeesAJobThatWasStoppedAndOneThatWasCancelled) {
  cluster_.up();
  Farm::Options options;
  options.gap = 2;
  Farm farm(cluster_, options);
  ASSERT_EQ(farm.plant(3), 3);
  ASSERT_TRUE(farm.settled());
  const std::string& stopped = farm.planted()[0].id;
  const std::string& cancelled = farm.planted()[1].id;
  ASSERT_EQ(cluster_.on("login", "scontrol suspend " + stopped).exit_code, 0);
  const std::string since = cluster_.on("login", "date +%s").out;
  ASSERT_TRUE(eventually(seconds(10), [&] {
    return std::atoll(cluster_.on("login", "date +%s").out.c_str()) > std::atoll(since.c_str()) + 3;
  }));
  ASSERT_EQ(cluster_.on("login", "scontrol resume " + stopped + " && scancel " + cancelled).exit_code, 0);
  const auto problems = farm.harvest().problems;
  EXPECT_THAT(problems, testing::Contains(testing::AllOf(testing::HasSubstr("job " + stopped + " on"),
                                                         testing::HasSubstr("stood still"))));
  EXPECT_THAT(problems, testing::Contains(testing::HasSubstr("job " + cancelled + ": sacct has state CANCELLED")));
}

}  // namespace
}  // namespace underway::harness
