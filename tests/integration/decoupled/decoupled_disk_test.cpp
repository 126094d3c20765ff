// The disk below the server breaks: changes wait and say why, the critical services and Slurm jobs go on.
#include <fmt/format.h>
#include <signal.h>

#include "integration/decoupled/decoupled.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

class DecoupledDisk : public DecoupledCluster {
 protected:
  /// What the server keeps lies on a file system in a file, on another file system.
  void SetUp() override {
    const auto made =
        shell(fmt::format("mount -t tmpfs -o size=1500m tmpfs {0} && truncate -s 1400m {0}/disk && "
                          "mkfs.ext4 -q -F {0}/disk && mkdir -p {1} && mount -o loop {0}/disk {1}",
                          disk_.path(), server_directory()));
    ASSERT_EQ(made.exit_code, 0) << made.err;
    DecoupledCluster::SetUp();
  }
  void TearDown() override {
    for (const int pid : cluster_.server_agents()) ::kill(pid, SIGKILL);
    EXPECT_TRUE(eventually(seconds(10), [&] { return cluster_.server_agents().empty(); }));
    const std::string line =
        fmt::format("! mountpoint -q {0} || umount {0} && umount {1}", server_directory(), disk_.path());
    EXPECT_TRUE(eventually(seconds(10), [&] { return shell(line).exit_code == 0; }))
        << shell(line).err << shell("fuser -vm " + server_directory() + " 2>&1 | grep -v Cannot").out;
  }
  std::string server_directory() const { return cluster_.state() + "/server"; }

  /// Nothing new can be written to what is below: it fails like a disk without spare sectors (EIO).
  void break_disk() const { shell("dd if=/dev/zero of=" + disk_.path() + "/filler bs=1M 2>/dev/null"); }

  TemporaryDirectory disk_;
};

TEST_F(DecoupledDisk, BreaksBelowTheServerAndTheServicesGoOn) {
  Farm farm(cluster_, farm_options());
  ASSERT_EQ(farm.plant(8), 8);
  ASSERT_TRUE(farm.settled());
  break_disk();

  // What is known already may still fit; a change that does not is refused, and says why.
  Finished refused;
  EXPECT_TRUE(eventually(seconds(60), [&] {
    refused = cluster_.underway({"var", "put", "-force", "nomad/jobs/filler", "value=" + std::string(60000, 'x')});
    return refused.exit_code != 0;
  }));
  EXPECT_THAT(refused.err, AnyOf(HasSubstr("EIO"), HasSubstr("EROFS")));
  EXPECT_THAT(read_text(cluster_.state() + "/agent.log"), HasSubstr("was written, reading the state again"));
  const auto status = cluster_.underway({"status"});
  EXPECT_EQ(status.exit_code, 1) << "something is wrong with the server";
  EXPECT_THAT(status.out, AllOf(HasSubstr("the server cannot write its state"), HasSubstr("slurm-services")))
      << "and what is known can be read";

  EXPECT_TRUE(prober_->all_answer(seconds(30), 100)) << prober_->report();
  EXPECT_EQ(farm.plant(4), 4);
  for (const auto& [name, reading] : prober_->readings()) EXPECT_EQ(reading.failed, 0) << name;
  const auto harvest = farm.harvest();
  EXPECT_THAT(harvest.problems, IsEmpty());
  EXPECT_EQ(harvest.jobs, 12U);
  std::cout << prober_->report();
}

}  // namespace
}  // namespace underway::harness
