// Real munged and slurmctld in a capsule, from the packages of this machine.
#include <unistd.h>

#include "base/random.hpp"
#include "os/file.hpp"
#include "tests/capsules.hpp"
#include "tests/slurm_root.hpp"

namespace underway::run {
namespace {

TEST_F(Capsules, RunSlurmctldAndMunge) {
  if (!has_slurm()) GTEST_SKIP() << "needs slurmctld and munge";
  const auto image = pack_image("slurm", fill_slurm_root, slurm_services());
  const auto client = neighbour("client", "10.9.0.1/24");
  const auto run = spec("ctl", fmt::format(R"({{"image": "{}", "hostname": "ctl",
                 "network": [{{"test": [{{"addresses": ["10.9.0.5/24"]}}]}}],
                 "dns": [{{"hosts": [{{"c1": "10.9.0.11"}}]}}]}})",
                                           image));
  auto& task = start(run);
  EXPECT_TRUE(eventually([&] { return control(run).status().healthy(); })) << err(run);
  EXPECT_THAT(shell(task, "munge -n | unmunge | grep STATUS"), HasSubstr("Success"));
  EXPECT_THAT(shell(task, "scontrol ping"), HasSubstr("is UP"));
  EXPECT_TRUE(eventually([&] { return shell(task, "sinfo -h -o %P").find("main") != std::string::npos; }));
  // Its state is written on a clean stop, and read again.
  task.stop(SIGTERM, seconds{30});
  ASSERT_TRUE(task.wait(seconds{40}));
  EXPECT_EQ(task.status().exit.code, 0) << err(run);
  const auto upper = find_run(directory_ + "/capsules", "default", "ctl")->upper;
  EXPECT_TRUE(os::exists(upper + "/var/spool/slurmctld/node_state")) << err(run);
  task.destroy();
  tasks_.clear();
}

}  // namespace
}  // namespace underway::run
