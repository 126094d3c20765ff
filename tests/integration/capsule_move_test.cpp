// Capsules that move between real hosts: with what they wrote and the address that they have; back; away from a host
// that dies; and not to one that cannot run them.
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "harness/cluster.hpp"
#include "image/key.hpp"
#include "image/pack.hpp"

#include <gtest/gtest.h>

namespace underway::harness {
namespace {

using std::chrono::seconds;

constexpr const char* kHosts = R"(
  datacenter = "dc1"
  network "cluster" { cidr = "10.78.0.0/24" }
  pool "infra" {
    size     = 2
    hostname = "sms%d"
    bridges  = true
  }
  pool "other" {
    size     = 2
    hostname = "c%d"
  }
}
)";

/// A service that counts: each line that it serves is one more than the last, whatever host it is on.
constexpr const char* kJob = R"(
job "counter" {
  type      = "service"
  node_pool = "infra"
  group "counter" {
    restart {
      attempts = 3
      delay    = "1s"
      interval = "1m"
      mode     = "fail"
    }
    task "counter" {
      driver = "capsule"
      config {
        image = "counter"
        network "cluster" {
          bridge    = "br-cluster"
          addresses = ["10.78.0.200/24"]
        }
        service "counter" {
          command = ["/bin/sh", "-c", "while :; do n=$(cat /srv/n 2>/dev/null || echo 0); n=$((n+1)); echo $n >/srv/n.new; mv /srv/n.new /srv/n; echo $n $(hostname) | nc -l -p 7000; done"]
        }
        step "before_stop" {
          command = ["/bin/sh", "-c", "echo flushed >>/srv/flushed"]
        }
        step "check" {
          command = ["/bin/sh", "-c", "grep -q ':1B58 ' /proc/net/tcp /proc/net/tcp6"]
        }
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
)";

class CapsuleMove : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
    const std::string declared = read_text(cluster_.slurm() + "/cluster.hcl");
    const auto from = declared.find("cluster \"");
    const std::string head = declared.substr(from, declared.find('{', from) - from + 1);
    std::filesystem::remove_all(cluster_.slurm());
    std::filesystem::create_directories(cluster_.slurm());
    const std::string allowed = "namespace \"default\" {\n  raw_exec_as_root = true\n}\n";
    write_text(cluster_.slurm() + "/cluster.hcl", allowed + head + kHosts);
    cluster_.up();
    pack();
    const auto trusted = cluster_.underway({"capsule", "keys", "trust", files_.path() + "/ops.pub"});
    ASSERT_EQ(trusted.exit_code, 0) << trusted.err;
    const auto pushed = cluster_.underway({"capsule", "push", files_.path() + "/counter.capsule"});
    ASSERT_EQ(pushed.exit_code, 0) << pushed.err;
    write_text(files_.path() + "/counter.hcl", kJob);
    const auto run = cluster_.underway({"job", "run", files_.path() + "/counter.hcl"}, seconds(25));
    ASSERT_EQ(run.exit_code, 0) << run.out << run.err << last_words(run.err);
    ASSERT_TRUE(eventually(seconds(30), [&] { return ask() > 0; })) << status();
  }

  /// What became of the last allocation that a command spoke of.
  std::string last_words(const std::string& said) const {
    const auto at = said.rfind(" on sms");
    if (at == std::string::npos || at < 8) return "";
    const std::string id = said.substr(at - 8, 8);
    return cluster_.underway({"alloc", "status", id}).out + cluster_.underway({"alloc", "logs", id}).out +
           cluster_.underway({"alloc", "logs", "-stderr", id}).out;
  }

  void pack() {
    const std::string root = files_.path() + "/root";
    for (const auto* part : {"/bin", "/etc", "/srv", "/proc", "/sys", "/dev", "/run", "/tmp"})
      std::filesystem::create_directories(root + part);
    std::filesystem::copy_file("/bin/busybox", root + "/bin/busybox");
    for (const auto* applet : {"sh", "cat", "echo", "mv", "nc", "hostname", "grep", "sleep"})
      std::filesystem::create_symlink("busybox", root + "/bin/" + applet);
    write_text(root + "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
    write_text(root + "/etc/group", "root:x:0:\n");
    const auto expires = SystemClock().now() + std::chrono::hours(24);
    const auto key = image::generate_key(files_.path() + "/ops.key", "ops", expires);
    write_text(files_.path() + "/ops.pub", image::write_public_key(key));
    image::Manifest manifest;
    manifest.name = "counter";
    manifest.version = "1.0";
    manifest.architecture = "amd64";
    manifest.created = 1'700'000'000'000'000'000;
    const auto secret = image::read_private_key(files_.path() + "/ops.key");
    image::pack(root, manifest, files_.path() + "/counter.capsule", {.key = &secret});
  }

  /// What it counts now; 0: it does not answer.
  int ask() const {
    const auto said = cluster_.on("c1", "timeout 2 bash -c 'exec 3<>/dev/tcp/10.78.0.200/7000 && head -1 <&3'").out;
    return said.empty() || said[0] < '0' || said[0] > '9' ? 0 : std::stoi(said);
  }
  std::string status() const { return cluster_.underway({"capsule", "status", "counter"}).out; }
  std::string owner() const {
    const auto text = cluster_.underway({"capsule", "status", "-json", "counter"}).out;
    const std::string key = "\"OwnerName\": \"";
    const auto at = text.find(key);
    return at == std::string::npos ? ""
                                   : text.substr(at + key.size(), text.find('"', at + key.size()) - at - key.size());
  }
  std::string other() const { return owner() == "sms1" ? "sms2" : "sms1"; }

  /// Ends the host's first process, and with it everything on the host.
  bool pull_the_plug(const std::string& host) const {
    std::string own = cluster_.on(host, "readlink /proc/1/ns/pid").out;
    own.erase(own.find_last_not_of('\n') + 1);
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string pid = entry.path().filename();
      if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
      std::error_code gone;
      if (std::filesystem::read_symlink(entry.path() / "ns/pid", gone).string() != own) continue;
      const std::string status = read_text(entry.path() / "status");
      const auto at = status.find("NSpid:");
      const std::string line = status.substr(at, status.find('\n', at) - at);
      if (line.ends_with("\t1")) return ::kill(std::stoi(pid), SIGKILL) == 0;
    }
    return false;
  }

  Cluster cluster_;
  TemporaryDirectory files_;
};

TEST_F(CapsuleMove, TakesWhatItWroteAndItsAddressAlongAndComesBack) {
  for (int round = 0; round < 3; ++round) {
    const int before = ask();
    ASSERT_GT(before, 0);
    const std::string from = owner(), to = other();
    const auto moved = cluster_.underway({"capsule", "move", "counter", "-to", to}, seconds(120));
    ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err << status();
    EXPECT_EQ(owner(), to);
    EXPECT_NE(moved.err.find("it was away for"), std::string::npos) << moved.err;
    std::cerr << moved.err;
    int after = 0;
    ASSERT_TRUE(eventually(seconds(20), [&] { return (after = ask()) > 0; })) << status();
    EXPECT_GT(after, before) << "it began anew";
    EXPECT_EQ(cluster_.on(from, "pgrep -f '[n]c -l -p 7000'").exit_code, 1) << "something of it is left on " << from;
  }
  const auto flushed = cluster_.underway({"capsule", "status", "counter"}).out;
  EXPECT_NE(flushed.find("standby"), std::string::npos) << flushed;
}

TEST_F(CapsuleMove, IsRefusedByAHostThatCannotRunItAndNothingHappens) {
  const std::string from = owner();
  const auto rehearsed = cluster_.underway({"capsule", "move", "counter", "-to", other(), "-dry-run"});
  EXPECT_EQ(rehearsed.exit_code, 0) << rehearsed.err;
  ASSERT_EQ(cluster_.on(other(), "ip link set br-cluster down; ip link set br-cluster name br-gone").exit_code, 0);
  const auto refused = cluster_.underway({"capsule", "move", "counter", "-to", other()}, seconds(60));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("there is no bridge 'br-cluster'"), std::string::npos) << refused.err;
  EXPECT_EQ(owner(), from);
  EXPECT_GT(ask(), 0);
}

TEST_F(CapsuleMove, GoesOnAfterTheServerWasKilledInIt) {
  const std::string to = other();
  ASSERT_EQ(cluster_.underway({"capsule", "move", "counter", "-to", to, "-detach"}).exit_code, 0);
  for (const int pid : cluster_.server_agents()) ::kill(pid, SIGKILL);
  const auto up = cluster_.underway({"up", cluster_.slurm()}, seconds(150));
  EXPECT_EQ(up.exit_code, 0) << up.err;
  EXPECT_TRUE(eventually(seconds(90), [&] { return owner() == to && ask() > 0; })) << status();
}

TEST_F(CapsuleMove, TheStandbyTakesOverWhenTheHostDies) {
  const std::string from = owner(), to = other();
  const auto standby = cluster_.underway({"capsule", "standby", "counter", "-node", to, "-every", "1s"});
  ASSERT_EQ(standby.exit_code, 0) << standby.err;
  const int before = ask();
  ASSERT_TRUE(eventually(seconds(30), [&] { return status().find("standby") != std::string::npos; })) << status();
  ASSERT_TRUE(pull_the_plug(from));
  ASSERT_TRUE(eventually(seconds(90), [&] { return owner() == to && ask() > 0; })) << status();
  EXPECT_GE(ask(), before) << "a copy is at most a second old";
  EXPECT_NE(status().find("Last move"), std::string::npos);
}

}  // namespace
}  // namespace underway::harness
