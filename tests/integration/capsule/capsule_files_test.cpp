// Capsules get the files of the site as nodes do: users and slurm.conf reach the capsule of the Slurm controller, which
// is told of a change exactly once, wherever it runs.
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

class FilesOfACapsule : public testing::Test {
 protected:
  /// What a shell line prints in the capsule.
  std::string inside(const std::string& line) const {
    return cluster_.underway({"alloc", "exec", "-job", "slurm-services", "sh", "-c", line}).out;
  }
  void master(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(cluster_.directory() + "/files");
    write_text(cluster_.directory() + "/files/" + name, bytes);
  }
  void apply() const {
    const auto applied = cluster_.underway({"apply", "-yes", cluster_.directory()}, seconds(150));
    ASSERT_EQ(applied.exit_code, 0) << applied.out << applied.err;
    ASSERT_TRUE(eventually(seconds(60), [&] { return cluster_.underway({"file", "status"}).exit_code == 0; }))
        << cluster_.underway({"file", "status"}).out;
  }
  std::string owner() const {
    const auto text = cluster_.underway({"capsule", "status", "-json", "slurm-services"}).out;
    return text.find("\"OwnerName\": \"infra1\"") != std::string::npos ? "infra1" : "infra2";
  }
  /// How often slurmctld has read its configuration anew since it was started.
  std::string reconfigured() const {
    return inside("grep -c 'Processing Reconfiguration Request' /var/log/slurm/slurmctld.log");
  }

  Cluster cluster_{"decoupled"};
};

constexpr const char* kFiles = R"(
file "/etc/slurm/slurm.conf" {
  source = "files/slurm.conf"
  targets {
    capsules = ["slurm-services"]
  }
  after {
    command = ["/usr/lib/capsule/slurm/after-start"]
  }
}
file "/etc/passwd" {
  source = "files/passwd"
  targets {
    capsules = ["slurm-services"]
    pools    = ["login"]
  }
}
file "/etc/site.key" {
  content = "only-for-the-controller-5521"
  secret  = true
  targets {
    capsules = ["slurm-services"]
  }
}
)";

TEST_F(FilesOfACapsule, ReachTheControllerAndAreReadOnceWhereverItRuns) {
  cluster_.up();
  const std::string conf = inside("cat /etc/slurm/slurm.conf");
  const std::string passwd = inside("cat /etc/passwd");
  ASSERT_NE(conf.find("ClusterName=apart"), std::string::npos) << conf;
  write_text(cluster_.directory() + "/site.files.hcl", kFiles);
  master("slurm.conf", conf + "MaxJobCount=4001\n");
  master("passwd", passwd);
  apply();
  EXPECT_TRUE(eventually(seconds(30), [&] {
    return inside("scontrol show config").find("MaxJobCount             = 4001") != std::string::npos;
  })) << inside("scontrol show config | grep MaxJobCount");
  EXPECT_EQ(inside("stat -c '%a %U' /etc/site.key; cat /etc/site.key"), "600 root\nonly-for-the-controller-5521");
  for (const char* host : {"infra1", "infra2"})
    EXPECT_NE(cluster_.on(host, "test -e /etc/site.key").exit_code, 0)
        << "it is the capsule's, not the host's: " << host;

  // One change, one reconfiguration; nobody else is told, and nothing else is done.
  const int before = std::stoi(reconfigured());
  master("slurm.conf", conf + "MaxJobCount=4002\n");
  master("passwd", passwd + "ann:x:4711:4711:Ann:/home/ann:/bin/sh\n");
  apply();
  EXPECT_NE(inside("scontrol show config").find("MaxJobCount             = 4002"), std::string::npos);
  EXPECT_EQ(inside("id -u ann"), "4711\n");
  EXPECT_EQ(cluster_.on("login", "id -u ann").out, "4711\n");
  EXPECT_EQ(reconfigured(), std::to_string(before + 1) + "\n");

  // The capsule goes to the other host with its files, and is the same target there.
  const std::string from = owner(), to = from == "infra1" ? "infra2" : "infra1";
  const auto moved = cluster_.underway({"capsule", "move", "slurm-services", "-to", to}, seconds(150));
  ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err;
  EXPECT_EQ(inside("id -u ann"), "4711\n");
  // What holds the controller's nodes while it moves lets go by reconfiguring it, too, and in its own time.
  ASSERT_TRUE(eventually(seconds(60), [&] {
    const auto told = reconfigured();
    return stays(seconds(3), [&] { return reconfigured() == told; });
  }));
  const int there = std::stoi(reconfigured());
  master("slurm.conf", conf + "MaxJobCount=4003\n");
  apply();
  EXPECT_NE(inside("scontrol show config").find("MaxJobCount             = 4003"), std::string::npos);
  EXPECT_EQ(reconfigured(), std::to_string(there + 1) + "\n");
  const auto status = cluster_.underway({"file", "status"}).out;
  EXPECT_NE(status.find("slurm-services (" + to + ")"), std::string::npos) << status;
  EXPECT_EQ(status.find("slurm-services (" + from + ")"), std::string::npos) << "it has left: " << status;

  // A local edit in the capsule is drift as any other.
  inside("echo MaxJobCount=1 >> /etc/slurm/slurm.conf");
  EXPECT_EQ(cluster_.underway({"file", "sync", to}).exit_code, 0);
  EXPECT_TRUE(
      eventually(seconds(30), [&] { return inside("cat /etc/slurm/slurm.conf") == conf + "MaxJobCount=4003\n"; }));
}

}  // namespace
}  // namespace underway::harness
