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
  type = "service"
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
  Finished ok(std::vector<std::string> arguments) const {
    auto finished = cluster_.underway(std::move(arguments), seconds(150));
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err << read_text(cluster_.state() + "/agent.log");
    return finished;
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

}  // namespace
}  // namespace underway::harness
