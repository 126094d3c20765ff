// Hosts of a pool are virtual machines on the nodes of another: real QEMU, the agent in it, jobs on both.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>

#include "harness/cluster.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class VirtualHosts : public testing::Test {
 protected:
  void SetUp() override {
    if (!exists(images() + "/root.erofs")) GTEST_SKIP() << "there is no root for virtual machines, see " << images();
    cluster_.emplace();
    shell("mkdir -p " + directory());
    declare(1);
    write_text(directory() + "/hello.hcl",
               "job \"hello\" {\n  type = \"system\"\n  node_pool = \"burst\"\n  group \"g\" {\n    task \"t\" {\n"
               "      driver = \"raw_exec\"\n      config {\n        command = \"/bin/sh\"\n"
               "        args = [\"-c\", \"hostname > /var/lib/greeting; i=0; while :; do i=$((i+1)); echo $i > "
               "/var/lib/count; sleep 0.2; done\"]\n      }\n"
               "      resources {\n        cpu = 10\n        memory = 10\n      }\n    }\n  }\n}\n");
  }
  static std::string images() { return binary_dir() + "/node-image"; }
  static bool exists(const std::string& path) { return shell("test -e " + path).exit_code == 0; }
  std::string directory() const { return cluster_->examples() + "/virtual"; }
  void declare(int size) const {
    write_text(directory() + "/cluster.hcl",
               "namespace \"default\" {\n  raw_exec_as_root = true\n}\ncluster \"virtual\" {\n  network \"lan\" {\n"
               "    cidr = \"10.91.0.0/24\"\n    nat = true\n  }\n  pool \"metal\" {\n    size = " +
                   std::to_string(metal_) +
                   "\n    hostname = \"m%d\"\n    bridges = true\n  }\n  pool \"burst\" {\n    provider = \"qemu\"\n"
                   "    size = " +
                   std::to_string(size) +
                   "\n    hostname = \"v%d\"\n    cpus = 1\n    memory = 384\n    machine {\n      on = \"metal\"\n"
                   "      image = \"" +
                   images() + "/root.erofs\"\n      kernel = \"" + images() + "/vmlinuz\"\n      initrd = \"" +
                   images() + "/initrd\"\n      append = \"console=ttyS0 panic=-1 quiet\"\n      disk = \"1G\"\n" +
                   where_ + "    }\n  }\n}\n");
  }
  void up() const {
    const auto done = cluster_->underway({"up", directory()}, seconds(240));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
  }
  std::string hosts() const { return cluster_->underway({"host", "list"}).out; }
  std::vector<std::string> allocations(const std::string& job) const {
    const auto list = cluster_->underway({"operator", "api", "/v1/job/" + job + "/allocations"}, seconds(30)).out;
    std::vector<std::string> ids;
    for (std::size_t at = list.find("\"ID\":\""); at != std::string::npos; at = list.find("\"ID\":\"", at + 1))
      ids.push_back(list.substr(at + 6, 36));
    return ids;
  }
  /// What the job has written on each node of the pool, by `alloc exec`.
  std::string greeting(const std::string& host, seconds within = seconds(30)) {
    asked_.clear();
    for (const auto& id : allocations("hello")) {
      const auto said = cluster_->underway({"alloc", "exec", id, "/bin/cat", "/var/lib/greeting"}, within);
      if (said.out == host + "\n") return said.out;
      asked_ += id + ": " + said.out + said.err + "\n";
    }
    return {};
  }
  /// How it stands, and what was answered last.
  std::string told() const {
    std::string out = hosts() + asked_;
    for (const auto& words : std::vector<std::vector<std::string>>{{"node", "status", "-verbose"},
                                                                   {"job", "status", "virtual-burst-hosts"},
                                                                   {"job", "status", "hello"},
                                                                   {"status"}})
      out += cluster_->underway(words, seconds(30)).out;
    return out + shell("tail -n 40 " + cluster_->state() + "/agent.log").out;
  }
  /// Pid of QEMU, a line each; of one host's machine, or of all.
  static std::string machines(const std::string& host = "v[0-9]") {
    return shell("pgrep -f 'guest=virtual[.]" + host + "[ ,]'").out;
  }

  /// The host on which its machine runs, also while nobody hears of it.
  std::string holder_of(const std::string& host) const {
    for (int i = 1; i <= metal_; ++i) {
      const auto metal = "m" + std::to_string(i);
      if (cluster_->enter(metal, "pgrep -f 'guest=virtual[.]" + host + "[ ,]'").exit_code == 0) return metal;
    }
    return {};
  }
  std::string inside(const std::string& file) const {
    const auto ids = allocations("hello");
    return ids.empty() ? "" : cluster_->underway({"alloc", "exec", ids[0], "/bin/cat", file}, seconds(30)).out;
  }

  std::string asked_;
  int metal_ = 1;
  std::string where_;  ///< of `machine`: constraints and spreads
  std::optional<Cluster> cluster_;
};

TEST_F(VirtualHosts, JoinRunJobsComeAndGoAndOutliveAgents) {
  up();
  EXPECT_THAT(hosts(), HasSubstr("v1"));
  EXPECT_EQ(greeting("v1"), "v1\n");
  const auto first = machines("v1");
  ASSERT_NE(first, "");

  // Its console is one person's at a time.
  {
    const Background console(cluster_->command({"host", "console", "v1"}));
    EXPECT_TRUE(eventually(seconds(30), [&] {
      cluster_->underway(
          {"alloc", "exec", allocations("hello")[0], "/bin/sh", "-c", "echo spoken to all > /dev/console"});
      return console.told().find("spoken to all") != std::string::npos;
    })) << console.told();
    const auto second = cluster_->underway({"host", "console", "v1"}, seconds(30));
    EXPECT_NE(second.exit_code, 0);
    EXPECT_THAT(second.err, HasSubstr("somebody else is on the console"));
  }
  const auto none = cluster_->underway({"host", "console", "m1"}, seconds(30));
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("its provider is 'local': only virtual machines have one"));

  // Paused it answers nobody; then it goes on where it stood still.
  const auto machine = allocations("virtual-burst-hosts");
  ASSERT_EQ(machine.size(), 1U) << told();
  const auto paused = cluster_->underway({"alloc", "pause", machine[0]});
  ASSERT_EQ(paused.exit_code, 0) << paused.err;
  EXPECT_EQ(greeting("v1", seconds(3)), "");
  EXPECT_THAT(cluster_->underway({"alloc", "status", machine[0]}).out, HasSubstr("Paused"));
  const auto resumed = cluster_->underway({"alloc", "resume", machine[0]});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(eventually(seconds(60), [&] { return greeting("v1") == "v1\n"; })) << told();
  EXPECT_EQ(machines("v1"), first);

  // The agent that started it dies, and the server: nothing of the machine is touched.
  ::kill(cluster_->agent_of("m1"), SIGKILL);
  for (const int agent : cluster_->server_agents()) ::kill(agent, SIGKILL);
  up();
  EXPECT_TRUE(eventually(seconds(60), [&] { return greeting("v1") == "v1\n"; }))
      << "the server listens for machines again, though none is new" << told();
  declare(2);
  up();
  EXPECT_TRUE(eventually(seconds(90), [&] { return greeting("v2") == "v2\n"; })) << told();
  EXPECT_EQ(machines("v1"), first);

  // Its QEMU dies: it is booted again on its disk, and is the node that it was.
  const auto before = cluster_->underway({"node", "status"}).out;
  ::kill(std::stoi(first), SIGKILL);
  EXPECT_TRUE(eventually(seconds(90),
                         [&] {
                           return machines("v1") != "" && machines("v1") != first && greeting("v1") == "v1\n" &&
                                  cluster_->underway({"node", "status"}).out == before;
                         }))
      << before << told();

  declare(1);
  up();
  EXPECT_TRUE(eventually(seconds(90), [&] { return hosts().find("v2") == std::string::npos; })) << hosts();
  EXPECT_EQ(greeting("v1"), "v1\n");
  EXPECT_TRUE(eventually(seconds(20), [&] {
    return cluster_->on("m1", "ls /var/lib/underway-node/machines").out == "virtual.v1\n";
  })) << "nothing is left of its disk";
  EXPECT_EQ(cluster_->underway({"var", "get", "nomad/jobs/virtual-burst-hosts/v2"}).exit_code, 1)
      << "nor what it was told";
}

/// Its memory is on the disk of its node, and it goes on in it, whoever dies meanwhile; what is damaged is booted anew.
TEST_F(VirtualHosts, SleepAndGoOnWhereTheyWere) {
  up();
  ASSERT_EQ(greeting("v1"), "v1\n");
  const std::string kBoot = "/proc/sys/kernel/random/boot_id", kCount = "/var/lib/count";
  const auto boot = inside(kBoot);
  const auto count = std::atoi(inside(kCount).c_str());
  ASSERT_GT(count, 0);

  const auto metal = cluster_->underway({"host", "suspend", "m1"});
  EXPECT_EQ(metal.exit_code, 1);
  EXPECT_THAT(metal.err, HasSubstr("its provider is 'local': only virtual machines can"));
  const auto alone = cluster_->underway({"alloc", "suspend", allocations("virtual-burst-hosts")[0]});
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_THAT(alone.err, HasSubstr("underway host suspend v1"));
  const auto back = cluster_->underway({"alloc", "restore", "-yes", allocations("virtual-burst-hosts")[0], "c-1"});
  EXPECT_EQ(back.exit_code, 1);
  EXPECT_THAT(back.err, HasSubstr("whether a host goes back is its cluster's to say"));
  const auto begun = std::chrono::steady_clock::now();
  const auto slept = cluster_->underway({"host", "suspend", "-reason", "to be moved", "v1"}, seconds(120));
  ASSERT_EQ(slept.exit_code, 0) << slept.out << slept.err << told();
  std::cerr << "asleep after " << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()
            << " s\n";
  EXPECT_EQ(machines("v1"), "") << "its QEMU has ended";
  EXPECT_THAT(hosts(), HasSubstr("asleep"));
  EXPECT_THAT(hosts(), HasSubstr("to be moved"));
  EXPECT_THAT(cluster_->underway({"alloc", "status", allocations("virtual-burst-hosts")[0]}).out, HasSubstr("Sleeps"));

  ::kill(cluster_->agent_of("m1"), SIGKILL);
  for (const int agent : cluster_->server_agents()) ::kill(agent, SIGKILL);
  up();
  EXPECT_TRUE(stays(seconds(5), [&] { return machines("v1").empty(); })) << "nobody wakes it";
  EXPECT_EQ(allocations("virtual-burst-hosts").size(), 1U) << "nor is another one made in its place";

  const auto woken = cluster_->underway({"host", "wake", "v1"}, seconds(120));
  ASSERT_EQ(woken.exit_code, 0) << woken.out << woken.err << told();
  EXPECT_TRUE(eventually(seconds(60), [&] { return greeting("v1") == "v1\n"; })) << told();
  EXPECT_EQ(inside(kBoot), boot);
  EXPECT_TRUE(eventually(seconds(30), [&] { return std::atoi(inside(kCount).c_str()) > count; })) << "it counts on";

  const auto again = cluster_->underway({"host", "suspend", "v1"}, seconds(120));
  ASSERT_EQ(again.exit_code, 0) << again.err << told();
  const auto flipped = cluster_->on("m1",
                                    "f=$(ls /var/lib/underway-node/machines/virtual.v1/memory-*.zst) && "
                                    "printf x | dd of=$f bs=1 seek=20000 conv=notrunc 2>&1");
  ASSERT_EQ(flipped.exit_code, 0) << flipped.out << flipped.err;
  const auto cold = cluster_->underway({"host", "wake", "v1"}, seconds(120));
  ASSERT_EQ(cold.exit_code, 0) << cold.out << cold.err << told();
  EXPECT_TRUE(eventually(seconds(90), [&] { return greeting("v1") == "v1\n" && inside(kBoot) != boot; })) << told();
}

/// Its machine is made anew where there is room: the disk that it had is gone with the host.
TEST_F(VirtualHosts, JoinAnewWhenTheHostThatHeldThemIsLost) {
  metal_ = 2;
  declare(1);
  up();
  ASSERT_EQ(greeting("v1"), "v1\n");
  const auto held_by = [&](const std::string& host) {
    return cluster_->underway({"node", "status", "-verbose"}).out.find(host) != std::string::npos &&
           cluster_->on(host, "ls /var/lib/underway-node/machines 2>/dev/null").out.find("virtual.v1") !=
               std::string::npos;
  };
  const std::string holder = held_by("m1") ? "m1" : "m2";
  ASSERT_TRUE(held_by(holder));
  cluster_->pull_the_plug(holder);
  EXPECT_TRUE(eventually(seconds(120), [&] { return machines() != "" && greeting("v1") == "v1\n"; })) << told();
  EXPECT_EQ(std::ranges::count(machines(), '\n'), 1) << "one, and not two: " << machines();
}

/// Each on a node of its own, as the pool says. One of these is cut off, and its QEMU runs on there: nothing that is
/// done meanwhile starts that machine a second time, until the node has ended it, or somebody says that it is off.
TEST_F(VirtualHosts, RunOnceThoughTheirNodeIsCutOff) {
  metal_ = 2;
  declare(1);
  up();
  where_ = "      spread {\n        attribute = \"${node.unique.name}\"\n      }\n";
  declare(2);
  up();
  const auto holder = holder_of("v1"), other = holder == "m1" ? std::string("m2") : std::string("m1");
  ASSERT_NE(holder, "");
  ASSERT_EQ(holder_of("v2"), other) << told();
  const auto first = machines("v1"), second = machines("v2");
  where_ = "      constraint {\n        distinct_hosts = true\n      }\n";
  declare(2);
  up();
  EXPECT_EQ(machines("v1") + machines("v2"), first + second) << "other words move nobody";
  const auto machine_of = [&](const std::string& host) {
    for (const auto& id : allocations("virtual-burst-hosts")) {
      const auto status = cluster_->underway({"alloc", "status", id}).out;
      if (status.find("virtual-burst-hosts." + host + "[0]") != std::string::npos &&
          status.find("Desired Status      = run") != std::string::npos)
        return id;
    }
    return std::string();
  };
  const auto refused = cluster_->underway({"alloc", "move", "-node", other, machine_of("v1")}, seconds(30));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("distinct_hosts"));
  where_.clear();
  declare(2);
  up();

  const int agent = cluster_->agent_of(holder);
  const auto cut = [&](const std::string& host, int its_agent) {
    ::kill(its_agent, SIGSTOP);
    return cluster_->enter(host, "ip link set br-lan down").exit_code == 0;
  };
  const auto silent = [&](const std::string& host) {
    const auto nodes = cluster_->underway({"node", "status"}).out;
    const auto at = nodes.find(" " + host + " ");
    return at != std::string::npos &&
           nodes.substr(at, nodes.find('\n', at) - at).find("disconnected") != std::string::npos;
  };
  ASSERT_TRUE(cut(holder, agent));
  ASSERT_TRUE(eventually(seconds(60), [&] { return silent(holder); })) << told();
  const auto alone = [&] { return machines("v1") == first; };
  EXPECT_TRUE(stays(seconds(15), alone)) << "beyond every lease: " << machines("v1") << told();
  EXPECT_EQ(allocations("virtual-burst-hosts").size(), 2U) << "nobody takes its place";

  // Somebody wants it elsewhere: it has a place there, and waits.
  const auto old = machine_of("v1");
  ASSERT_EQ(cluster_->underway({"alloc", "stop", "-detach", old}).exit_code, 0) << told();
  ASSERT_TRUE(eventually(seconds(30), [&] { return machine_of("v1") != "" && machine_of("v1") != old; })) << told();
  const auto next = [&] { return cluster_->underway({"alloc", "status", machine_of("v1")}).out; };
  EXPECT_TRUE(eventually(seconds(20), [&] {
    return next().find("underway node purge " + holder) != std::string::npos;
  })) << next();
  EXPECT_TRUE(stays(seconds(10), alone)) << machines("v1") << told();

  // It is back, ends what is not wanted there any more, and then the other one begins.
  cluster_->enter(holder, "ip link set br-lan up");
  ::kill(agent, SIGCONT);
  EXPECT_TRUE(eventually(seconds(120), [&] {
    EXPECT_LE(std::ranges::count(machines("v1"), '\n'), 1) << machines("v1");
    return machines("v1") != first && greeting("v1") == "v1\n";
  })) << told();
  EXPECT_EQ(holder_of("v1"), other) << told();

  // And one whose node is off, which nobody can know but who looks.
  const int its_agent = cluster_->agent_of(other);
  ASSERT_TRUE(cut(other, its_agent));
  ASSERT_TRUE(eventually(seconds(60), [&] { return silent(other); })) << told();
  for (const auto& host : {"v1", "v2"}) ::kill(std::stoi(machines(host)), SIGKILL);
  EXPECT_TRUE(stays(seconds(5), [&] { return machines() == ""; })) << machines();
  const auto purged = cluster_->underway({"node", "purge", "-yes", other});
  ASSERT_EQ(purged.exit_code, 0) << purged.err;
  EXPECT_TRUE(eventually(seconds(120), [&] { return greeting("v1") == "v1\n" && greeting("v2") == "v2\n"; })) << told();
  cluster_->enter(other, "ip link set br-lan up");
  ::kill(its_agent, SIGCONT);
  EXPECT_TRUE(stays(seconds(10), [&] { return std::ranges::count(machines(), '\n') == 2; })) << machines();
}

}  // namespace
}  // namespace underway::harness
