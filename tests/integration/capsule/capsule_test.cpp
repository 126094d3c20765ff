// A capsule on a cluster of this machine, with the real command line: from a directory to a service that is reached
// from another host, with the agents killed meanwhile.
#include <signal.h>

#include <filesystem>

#include "harness/cluster.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

constexpr const char* kCluster = R"(
namespace "default" {
  raw_exec_as_root = true    # capsules are as good as root on their host
}
cluster "NAME" {
  network "cluster" {
    cidr = "10.79.0.0/24"
  }
  pool "infra" {
    hostname = "sms%d"
    size     = 2
    bridges  = true
  }
}
)";

constexpr const char* kImage = R"(image "greeter" {
  version = "1"
  from directory "tree" {}
  service "greet" {
    command = ["/bin/sh", "-c", "while true; do echo hello | nc -l -p 7; done"]
    ready   = ["/bin/true"]
  }
}
)";

constexpr const char* kJob = R"(job "greeter" {
  type      = "service"
  node_pool = "infra"
  update {
    min_healthy_time = "200ms"
  }
  group "greeter" {
    task "greeter" {
      driver = "capsule"
      config {
        image    = "greeter:1"
        hostname = "greet"
        network "cluster" {
          addresses = ["10.79.0.200/24"]
        }
        step "probe" {
          command = ["/bin/ping", "-c", "1", "-W", "5", "10.79.0.11"]
        }
      }
      template {
        data        = "made by {{ env \"NOMAD_TASK_NAME\" }}\n"
        destination = "local/template"
      }
      resources {
        memory = 64
      }
    }
  }
}
)";

class CapsuleOfACluster : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return std::filesystem::path(cluster_.state()).parent_path() / name; }
  /// Ends the test where it fails: nothing that comes later would say more.
  Finished ok(std::vector<std::string> arguments) const {
    const std::string line = arguments[0] + " " + arguments[1];
    auto finished = cluster_.underway(std::move(arguments), seconds(60));
    if (finished.exit_code == 0) return finished;
    throw std::runtime_error(line + ": exit code " + std::to_string(finished.exit_code) + "\n" + finished.out +
                             finished.err + read_text(cluster_.state() + "/agent.log"));
  }
  void build_image() const {
    const auto made =
        shell("cd " + at("") +
              " && mkdir -p tree/bin tree/etc tree/run && cp /bin/busybox tree/bin && for a in sh echo nc cat ping "
              "hostname true sleep ls; do ln -s busybox tree/bin/$a; done && echo root:x:0:0::/:/bin/sh > "
              "tree/etc/passwd && echo first > tree/etc/motd");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    write_text(at("greeter.hcl"), kImage);
    ok({"capsule", "keys", "generate", "ops"});
    ok({"capsule", "build", "greeter.hcl", "-o", "greeter.capsule", "-key", "ops.key"});
  }
  void declare() const {
    std::filesystem::create_directories(at("site"));
    std::string text = kCluster;
    const auto place = text.find("NAME");
    const std::string name = read_text(cluster_.slurm() + "/cluster.hcl");
    const auto from = name.find("cluster \"") + 9;
    write_text(at("site/cluster.hcl"), text.replace(place, 4, name.substr(from, name.find('"', from) - from)));
  }
  std::string greeting(const std::string& host) const {
    return cluster_
        .on(host,
            "perl -MIO::Socket::INET -e '$c=IO::Socket::INET->new(PeerAddr=>\"10.79.0.200:7\",Timeout=>2) or exit; "
            "print <$c>'")
        .out;
  }
  std::string services() const { return cluster_.underway({"capsule", "services", "greeter"}).out; }

  Cluster cluster_;
};

TEST_F(CapsuleOfACluster, IsBuiltPushedStartedReachedAndLookedInto) {
  if (!std::filesystem::exists("/bin/busybox")) GTEST_SKIP() << "needs busybox-static";
  build_image();
  declare();
  ok({"up", at("site")});
  ok({"capsule", "keys", "trust", "ops.pub"});
  ok({"capsule", "push", "greeter.capsule"});
  write_text(at("site/greeter.hcl"), kJob);
  ok({"apply", "-yes", at("site")});
  for (const auto* host : {"sms1", "sms2"})
    EXPECT_TRUE(eventually(seconds(30), [&] { return greeting(host) == "hello\n"; })) << host << "\n" << services();
  EXPECT_NE(services().find("greet"), std::string::npos);
  EXPECT_NE(services().find("ready"), std::string::npos);

  // Looked into as any other task.
  EXPECT_EQ(ok({"alloc", "exec", "-job", "greeter", "hostname"}).out, "greet\n");
  EXPECT_EQ(ok({"alloc", "exec", "-job", "greeter", "cat", "/local/template"}).out, "made by greeter\n");
  ok({"alloc", "exec", "-job", "greeter", "sh", "-c", "echo changed > /etc/motd; echo new > /etc/new"});
  const auto changes = ok({"capsule", "changes", "greeter"}).out;
  EXPECT_NE(changes.find("modified"), std::string::npos) << changes;
  EXPECT_NE(changes.find("/etc/motd"), std::string::npos) << changes;
  EXPECT_NE(changes.find("/etc/new"), std::string::npos) << changes;
  EXPECT_EQ(changes.find("/etc/hosts"), std::string::npos) << "what follows from the job file is no change";

  // Agents and server may go: the capsule does not notice.
  const auto before = ok({"alloc", "exec", "-job", "greeter", "cat", "/proc/1/stat"}).out;
  for (const int agent : cluster_.agents()) ::kill(agent, SIGKILL);
  ok({"up", at("site")});
  EXPECT_EQ(greeting("sms1"), "hello\n");
  EXPECT_TRUE(eventually(seconds(60), [&] {
    return cluster_.underway({"alloc", "exec", "-job", "greeter", "cat", "/proc/1/stat"}).exit_code == 0;
  }));
  const auto start_of = [](const std::string& stat) {
    std::string rest = stat.substr(stat.rfind(')'));
    for (int n = 0; n < 20; ++n) rest = rest.substr(rest.find(' ') + 1);
    return rest.substr(0, rest.find(' '));
  };
  EXPECT_EQ(start_of(ok({"alloc", "exec", "-job", "greeter", "cat", "/proc/1/stat"}).out), start_of(before));

  ok({"job", "stop", "greeter"});
  EXPECT_TRUE(eventually(seconds(30), [&] { return greeting("sms1").empty(); }));
}

constexpr const char* kSaved = R"(
        step "check" {
          command = ["/bin/sh", "-c", "test \"$(cat /etc/state)\" != bad"]
        }
        snapshot {
          every = "1h"
        }
        backup {
          repository    = "/var/lib/underway-node/backups"
          password_file = "/var/lib/underway-node/backup.password"
          every         = "24h"
        }
)";

TEST_F(CapsuleOfACluster, IsSavedTriedAndRestoredInOneCommandEach) {
  if (!std::filesystem::exists("/bin/busybox")) GTEST_SKIP() << "needs busybox-static";
  if (!std::filesystem::exists("/usr/bin/restic")) GTEST_SKIP() << "needs restic";
  build_image();
  declare();
  std::filesystem::create_directories(cluster_.state());
  write_text(cluster_.state() + "/agent.hcl", "server {\n  capsule_check_timeout = \"5s\"\n}\n");
  ok({"up", at("site")});
  ok({"capsule", "keys", "trust", "ops.pub"});
  ok({"capsule", "push", "greeter.capsule"});
  for (const auto* host : {"sms1", "sms2"})
    EXPECT_EQ(cluster_.on(host, "umask 077; echo a password > /var/lib/underway-node/backup.password").exit_code, 0);
  std::string job = kJob;
  job.insert(job.find("        step \"probe\""), kSaved);
  write_text(at("site/greeter.hcl"), job);
  ok({"apply", "-yes", at("site")});
  ASSERT_TRUE(eventually(seconds(30), [&] { return greeting("sms1") == "hello\n"; })) << services();
  const auto state = [&] { return cluster_.underway({"alloc", "exec", "-job", "greeter", "cat", "/etc/state"}).out; };
  const auto become = [&](const std::string& text) {
    ok({"alloc", "exec", "-job", "greeter", "sh", "-c", "echo " + text + " > /etc/state"});
  };
  const auto snapshot = [&] {
    auto id = ok({"capsule", "snapshot", "greeter"}).out;
    return id.substr(0, id.find('\n'));
  };
  const auto patiently = [&](std::vector<std::string> arguments) {
    return cluster_.underway(std::move(arguments), seconds(240));
  };

  become("one");
  const auto first = snapshot();
  ok({"capsule", "backup", "greeter", "-check"});
  write_text(at("look"), "#!/bin/sh\ncat /etc/state; hostname\n");
  const auto drilled = patiently({"capsule", "drill", "greeter", "-backup", at("look")});
  EXPECT_EQ(drilled.exit_code, 0) << drilled.out << drilled.err;
  EXPECT_NE(drilled.out.find("check: passed"), std::string::npos) << drilled.out;
  EXPECT_NE(drilled.out.find("look: passed"), std::string::npos) << drilled.out;
  become("bad");
  const auto bad = snapshot();
  EXPECT_EQ(patiently({"capsule", "drill", "greeter"}).exit_code, 1) << "its check says that this would not do";

  become("two");
  const auto restored = patiently({"capsule", "restore", "greeter", "-snapshot", first});
  EXPECT_EQ(restored.exit_code, 0) << restored.out << restored.err << read_text(cluster_.state() + "/agent.log");
  EXPECT_EQ(state(), "one\n");
  EXPECT_TRUE(eventually(seconds(30), [&] { return greeting("sms1") == "hello\n"; })) << services();
  EXPECT_NE(ok({"capsule", "snapshots", "greeter"}).out.find("before upgrade"), std::string::npos);

  become("three");
  const auto refused = patiently({"capsule", "restore", "greeter", "-snapshot", bad});
  EXPECT_EQ(refused.exit_code, 1) << refused.out << refused.err;
  EXPECT_NE(refused.err.find("is what it was before"), std::string::npos) << refused.err;
  EXPECT_EQ(state(), "three\n");

  const auto back = patiently({"capsule", "restore", "greeter", "-backup", "-at", "0s"});
  EXPECT_EQ(back.exit_code, 0) << back.out << back.err;
  EXPECT_EQ(state(), "one\n");
  const auto status = [&] { return ok({"capsule", "status", "greeter"}).out; };
  EXPECT_TRUE(eventually(seconds(40), [&] { return status().find("backups   every 1d0h") != std::string::npos; }))
      << status();
  EXPECT_EQ(cluster_.underway({"capsule", "restore", "greeter", "-at", "9600h"}).exit_code, 1);
}

}  // namespace
}  // namespace underway::harness
