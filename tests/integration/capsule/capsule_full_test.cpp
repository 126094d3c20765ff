// The overlay of the Slurm controller's capsule is full. Everybody hears of it, Slurm jobs go on, what was acknowledged
// is kept, and when there is space again all goes on without anything being started anew.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

#include "harness/farm.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FullOverlay : public testing::Test {
 protected:
  void SetUp() override {
    const std::string file = cluster_.directory() + "/slurm-services.hcl";
    std::string text = read_text(file);
    const std::string after = "hostname = \"ctl\"\n";
    write_text(file,
               text.insert(text.find(after) + after.size(),
                           "        overlay {\n          kind = \"ext4\"\n          size = \"200M\"\n        }\n"));
    cluster_.declare_processors(8);
    cluster_.up();
  }
  std::string inside(const std::string& line) const {
    return cluster_.underway({"alloc", "exec", "-job", "slurm-services", "sh", "-c", line}).out;
  }
  Finished login(const std::string& line) const { return cluster_.enter("login", line); }
  std::string status() const { return cluster_.underway({"capsule", "status", "slurm-services"}).out; }
  std::string needs_you() const { return cluster_.underway({"status"}).out; }
  std::string logs() const {
    return cluster_.underway({"alloc", "logs", "-stderr", "-job", "slurm-services"}).out +
           cluster_.underway({"alloc", "logs", "-job", "slurm-services"}).out;
  }

  Cluster cluster_{"decoupled"};
};

TEST_F(FullOverlay, IsToldByEverybodyAndCostsNoJobAndNothingThatWasAcknowledged) {
  Farm::Options options;
  options.spread = true;
  options.on = [this](const std::string& host, const std::string& line, seconds limit) {
    return cluster_.enter(host, line, limit);
  };
  options.saved = [this] { return std::atoll(inside("stat -c %Y /var/lib/slurm/slurmctld/job_state").c_str()); };
  Farm farm(cluster_, std::move(options));
  ASSERT_EQ(farm.plant(4), 4);
  ASSERT_TRUE(farm.settled());
  EXPECT_TRUE(eventually(seconds(30), [&] { return status().find("% of 1") != std::string::npos; })) << status();
  EXPECT_THAT(needs_you(), Not(HasSubstr("almost full")));
  const std::string pids = inside("pgrep -x slurmctld; pgrep -x mariadbd");

  // To the last block, and again when what was freed meanwhile has come back.
  inside(
      "for n in 1 2 3; do dd if=/dev/zero of=/var/log/ballast.$n bs=1M; sync; dd if=/dev/zero of=/var/log/ballast.s$n "
      "bs=4k; sync; done 2>/dev/null");
  EXPECT_THAT(inside("df /var/log | tail -n 1"), HasSubstr("100%"));
  // What is acknowledged now has to be run, too; who is refused hears why.
  const auto answers = login(
      "for i in 1 2 3 4 5; do timeout 20 sbatch --parsable --mem=16 -o /dev/null --wrap 'echo >>/home/ran'; done");
  std::istringstream ids(answers.out);
  std::vector<std::string> acknowledged;
  for (std::string id; ids >> id;) acknowledged.push_back(id);
  EXPECT_LT(acknowledged.size(), 5U) << "it was not full";
  EXPECT_THAT(answers.err, HasSubstr("I/O error writing script/environment to file"));
  EXPECT_THAT(logs(), HasSubstr("slurmctld: error: ")) << "slurmctld says nothing";
  EXPECT_THAT(logs(), HasSubstr("I/O error writing script/environment to file"));
  EXPECT_TRUE(eventually(seconds(40), [&] {
    return needs_you().find("the overlay of capsule 'slurm-services' is almost full") != std::string::npos;
  })) << needs_you();
  EXPECT_THAT(status(), HasSubstr("its overlay on infra"));
  EXPECT_THAT(read_text(cluster_.state() + "/agent.log"),
              HasSubstr("capsule default/slurm-services: its overlay on infra"));

  inside("rm /var/log/ballast.*");
  EXPECT_TRUE(eventually(seconds(40), [&] { return needs_you().find("almost full") == std::string::npos; }))
      << needs_you();
  const auto srun = login("timeout 60 srun -N4 --mem=16 hostname");
  EXPECT_EQ(srun.exit_code, 0) << srun.err;
  EXPECT_EQ(inside("pgrep -x slurmctld; pgrep -x mariadbd"), pids) << "it was started anew";
  EXPECT_TRUE(eventually(seconds(40), [&] {
    return std::atoll(login("cat /home/ran | wc -l").out.c_str()) >= static_cast<long long>(acknowledged.size());
  }));
  std::cout << acknowledged.size() << " of 5 submissions were acknowledged while it was full\n";
  const auto harvest = farm.harvest();
  EXPECT_THAT(harvest.problems, IsEmpty());
  EXPECT_EQ(harvest.jobs, 4U);
  for (const auto& id : acknowledged)
    EXPECT_THAT(login("sacct -n -X -P -o State -j " + id).out, HasSubstr("COMPLETED")) << id;
}

}  // namespace
}  // namespace underway::harness
