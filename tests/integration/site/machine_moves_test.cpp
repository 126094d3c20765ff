// Virtual machines that go from node to node, with what they do: real QEMU, and a program in them that does not notice.
#include <gmock/gmock.h>
#include <signal.h>

#include <atomic>
#include <iostream>
#include <thread>

#include "harness/cluster.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class MachineMoves : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("test -e " + images() + "/root.erofs").exit_code != 0)
      GTEST_SKIP() << "there is no root for virtual machines, see " << images();
    cluster_.emplace();
    shell("mkdir -p " + directory());
    write_text(directory() + "/cluster.hcl", R"(namespace "default" {
  raw_exec_as_root = true
}
cluster "moving" {
  network "lan" {
    cidr = "10.94.0.0/24"
    nat  = true
  }
  pool "metal" {
    size     = 2
    hostname = "m%d"
    bridges  = true
  }
  pool "burst" {
    provider = "qemu"
    size     = 1
    hostname = "v%d"
    cpus     = 1
    memory   = 384
    machine {
      on     = "metal"
      image  = ")" + images() + R"(/root.erofs"
      kernel = ")" + images() + R"(/vmlinuz"
      initrd = ")" + images() + R"(/initrd"
      append = "console=ttyS0 panic=-1 quiet"
      disk   = "1G"
      migrate = ")" + how() + R"("
    }
  }
}
)");
    // A file that is open all the time, and a sum of all that is in it.
    write_text(directory() + "/count.hcl", R"(job "count" {
  type      = "system"
  node_pool = "burst"
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args = ["-c", "echo begun >> /var/lib/begun; exec 5>/var/lib/sums; i=0; while :; do i=$((i+1)); echo $i | sha256sum >&5; echo $i > /var/lib/count; sleep 0.1; done"]
      }
      resources {
        cpu    = 10
        memory = 10
      }
    }
  }
}
)");
    const auto done = cluster_->underway({"up", directory()}, seconds(240));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
    ASSERT_TRUE(eventually(seconds(60), [&] { return count() > 0; })) << told();
    boot_ = inside("/proc/sys/kernel/random/boot_id");
    nodes_ = cluster_->underway({"node", "status"}).out;
  }
  virtual std::string how() const { return "auto"; }
  static std::string images() { return binary_dir() + "/node-image"; }
  std::string directory() const { return cluster_->examples() + "/moving"; }
  std::string id_of(const std::string& job) const {
    const auto list = cluster_->underway({"operator", "api", "/v1/job/" + job + "/allocations"}, seconds(30)).out;
    for (std::size_t at = list.find("{\"ID\":\""); at != std::string::npos; at = list.find("{\"ID\":\"", at + 1)) {
      const auto id = list.substr(at + 7, 36);
      if (cluster_->underway({"alloc", "status", id}).out.find("Desired Status      = run") != std::string::npos)
        return id;
    }
    return {};
  }
  std::string inside(const std::string& file) {
    if (counter_.empty()) counter_ = id_of("count");
    return cluster_->underway({"alloc", "exec", counter_, "/bin/cat", file}, seconds(15)).out;
  }
  int count() { return std::atoi(inside("/var/lib/count").c_str()); }
  /// The hosts on which a QEMU runs its machine.
  static std::string machines() { return shell("pgrep -f 'guest=moving[.]v1[ ,]'").out; }
  bool holds(const std::string& host) const {
    return cluster_->on(host, "ls /var/lib/underway-node/machines/moving.v1/lease 2>/dev/null").exit_code == 0;
  }
  std::string holder() const { return holds("m1") ? "m1" : holds("m2") ? "m2" : ""; }
  static std::string other(const std::string& host) { return host == "m1" ? "m2" : "m1"; }
  /// It is the machine that it was, and counts on from there.
  void expect_to_go_on(int from) {
    EXPECT_TRUE(eventually(seconds(60), [&] { return count() > from; })) << count() << " and was " << from << told();
    EXPECT_EQ(inside("/proc/sys/kernel/random/boot_id"), boot_);
    EXPECT_EQ(inside("/var/lib/begun"), "begun\n");
    const auto sums = inside("/var/lib/sums");
    const auto lines = std::ranges::count(sums, '\n');
    EXPECT_EQ(
        sums,
        shell("i=0; while [ $i -lt " + std::to_string(lines) + " ]; do i=$((i+1)); echo $i | sha256sum; done").out)
        << "each sum is there, once";
    EXPECT_TRUE(eventually(seconds(10), [] { return std::ranges::count(machines(), '\n') == 1; })) << machines();
  }
  std::string told() const {
    std::string out = cluster_->underway({"host", "list"}).out;
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"node", "status", "-verbose"}, {"job", "status", "moving-burst-hosts"}, {"status"}})
      out += cluster_->underway(words, seconds(30)).out;
    const auto id = id_of("moving-burst-hosts");
    if (!id.empty()) out += cluster_->underway({"alloc", "status", id}).out;
    return out + shell("tail -n 40 " + cluster_->state() + "/agent.log").out;
  }

  std::string counter_, boot_, nodes_;
  std::optional<Cluster> cluster_;
};

TEST_F(MachineMoves, WithWhatTheyDo) {
  auto from = holder();
  const auto before = count();
  const auto begun = std::chrono::steady_clock::now();
  const auto drained = cluster_->underway({"node", "drain", "-enable", "-yes", "-deadline", "5m", from}, seconds(180));
  ASSERT_EQ(drained.exit_code, 0) << drained.out << drained.err << told();
  std::cerr << from << " is empty after "
            << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() << " s\n";
  expect_to_go_on(before);
  EXPECT_TRUE(holds(other(from))) << told();
  EXPECT_EQ(cluster_->on(from, "ls /var/lib/underway-node/machines").out, "") << "nothing of it is kept there";
  EXPECT_TRUE(eventually(seconds(30), [&] {
    const auto hosts = cluster_->underway({"host", "list"}).out;
    return hosts.find("asleep") == std::string::npos && hosts.find("go on") == std::string::npos;
  })) << told();
  ASSERT_EQ(cluster_->underway({"node", "drain", "-disable", "-yes", from}).exit_code, 0);
  EXPECT_TRUE(eventually(seconds(30), [&] { return cluster_->underway({"node", "status"}).out == nodes_; }))
      << "it is the node that it was\n"
      << nodes_ << cluster_->underway({"node", "status"}).out;

  // Back again and there again, asleep, which it stays until it is woken.
  from = other(from);
  const auto there = count();
  ASSERT_EQ(cluster_->underway({"host", "suspend", "v1"}, seconds(120)).exit_code, 0) << told();
  for (int time = 0; time < 2; ++time) {
    const auto asleep = cluster_->underway({"node", "drain", "-enable", "-yes", from}, seconds(180));
    ASSERT_EQ(asleep.exit_code, 0) << asleep.out << asleep.err << told();
    EXPECT_TRUE(eventually(seconds(30), [&] { return !holds(from); })) << told();
    EXPECT_EQ(machines(), "");
    EXPECT_THAT(cluster_->underway({"host", "list"}).out, HasSubstr("asleep"));
    ASSERT_EQ(cluster_->underway({"node", "drain", "-disable", "-yes", from}).exit_code, 0);
    from = other(from);
  }
  const auto woken = cluster_->underway({"host", "wake", "v1"}, seconds(120));
  ASSERT_EQ(woken.exit_code, 0) << woken.err << told();
  expect_to_go_on(there);
}

/// As who asks for it sees it.
TEST_F(MachineMoves, WhenTheyAreAskedTo) {
  const auto from = holder();
  const auto before = count();
  const auto id = id_of("moving-burst-hosts");
  const auto unknown = cluster_->underway({"alloc", "move", "-node", "m9", id}, seconds(30));
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("no node is called 'm9'"));
  const auto same = cluster_->underway({"alloc", "move", "-node", from, id}, seconds(30));
  EXPECT_EQ(same.exit_code, 1);
  EXPECT_THAT(same.err, HasSubstr("it is there"));
  const auto counter = cluster_->underway({"alloc", "move", id_of("count")}, seconds(30));
  EXPECT_EQ(counter.exit_code, 1);
  EXPECT_THAT(counter.err, HasSubstr("only virtual machines can"));

  const auto moved = cluster_->underway({"alloc", "move", "-node", other(from), id}, seconds(120));
  ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err << told();
  EXPECT_THAT(moved.out, HasSubstr("runs on node " + other(from)));
  expect_to_go_on(before);
  EXPECT_TRUE(holds(other(from)) && !holds(from));

  const auto again = count();
  const auto emptied = cluster_->underway({"node", "maintain", "-yes", other(from)}, seconds(180));
  ASSERT_EQ(emptied.exit_code, 0) << emptied.out << emptied.err << told();
  EXPECT_THAT(emptied.err + emptied.out, HasSubstr("1 virtual machine goes to other nodes"));
  EXPECT_THAT(emptied.out, HasSubstr("is empty: it can be shut down"));
  expect_to_go_on(again);
  EXPECT_TRUE(holds(from) && !holds(other(from)));
  EXPECT_THAT(cluster_->underway({"node", "status"}).out, HasSubstr("ineligible"));
  ASSERT_EQ(cluster_->underway({"node", "maintain", "-end", other(from)}).exit_code, 0);
  EXPECT_THAT(cluster_->underway({"node", "status"}).out, testing::Not(HasSubstr("ineligible")));

  // Nowhere else is room: it waits for that, and runs on.
  ASSERT_EQ(cluster_->underway({"node", "eligibility", "-disable", other(from)}).exit_code, 0);
  const auto here = id_of("moving-burst-hosts");
  const auto status = [&] { return cluster_->underway({"alloc", "status", here}).out; };
  // A node is empty as soon as another one has it all, which may be a moment before it goes on there.
  ASSERT_TRUE(eventually(seconds(30), [&] {
    return status().find("Client Status       = running") != std::string::npos;
  })) << status();
  const auto asked = cluster_->underway({"alloc", "move", "-detach", here}, seconds(30));
  ASSERT_EQ(asked.exit_code, 0) << asked.err << told();
  EXPECT_TRUE(eventually(seconds(10), [&] { return status().find("as soon as a node has room") != std::string::npos; }))
      << status();
  ASSERT_EQ(cluster_->underway({"alloc", "move", "-cancel", here}, seconds(30)).exit_code, 0);
  ASSERT_EQ(cluster_->underway({"node", "eligibility", "-enable", other(from)}).exit_code, 0);
  EXPECT_TRUE(stays(seconds(3), [&] { return holds(from) && !holds(other(from)); }));
}

/// Everybody is killed all the time; it arrives once, whole.
TEST_F(MachineMoves, WhoeverDies) {
  const auto from = holder();
  const auto before = count();
  ASSERT_EQ(cluster_->underway({"node", "drain", "-enable", "-yes", "-detach", from}).exit_code, 0);
  for (int round = 0; round < 6; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400 + 350 * round));
    switch (round % 3) {
      case 0:
        ::kill(cluster_->agent_of(from), SIGKILL);
        break;
      case 1:
        for (const int agent : cluster_->server_agents()) ::kill(agent, SIGKILL);
        break;
      default:
        ::kill(cluster_->agent_of(other(from)), SIGKILL);
    }
    EXPECT_LE(std::ranges::count(machines(), '\n'), 1) << "never twice: " << machines();
    const auto done = cluster_->underway({"up", directory()}, seconds(240));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err << told();
  }
  EXPECT_TRUE(eventually(seconds(120), [&] { return holds(other(from)) && !holds(from); })) << told();
  expect_to_go_on(before);
}

/// While they run: translated, as they are here, because their pool says so.
class MachineMovesLive : public MachineMoves {
 protected:
  std::string how() const override { return "live"; }
  std::string status() const { return cluster_->underway({"alloc", "status", id_of("moving-burst-hosts")}).out; }
};

TEST_F(MachineMovesLive, WhileWhatTheyDoGoesOn) {
  const auto from = holder();
  const auto before = count();
  // Over the connection of the agent in it, to the server: from before to after.
  Finished watched;
  std::jthread watching([&] {
    watched = cluster_->underway({"alloc", "exec", counter_, "/bin/sh", "-c",
                                  "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo $i; sleep 0.1; done"},
                                 seconds(120));
  });
  const auto moved =
      cluster_->underway({"alloc", "move", "-node", other(from), id_of("moving-burst-hosts")}, seconds(120));
  ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err << told();
  EXPECT_THAT(moved.out, HasSubstr("sent while it runs"));
  EXPECT_THAT(moved.out, HasSubstr("runs on node " + other(from)));
  EXPECT_THAT(status(), HasSubstr("arrived, while it ran"));
  const auto said = status();
  const auto at = said.find("came from another node");
  EXPECT_NE(at, std::string::npos) << said << told();
  if (at != std::string::npos) std::cerr << said.substr(at, said.find('\n', at) - at) << "\n";
  expect_to_go_on(before);
  EXPECT_TRUE(holds(other(from)));
  EXPECT_TRUE(eventually(seconds(20), [&] { return !holds(from); })) << "nothing of it is kept there";
  watching.join();
  EXPECT_EQ(watched.exit_code, 0) << watched.err;
  EXPECT_EQ(watched.out, shell("seq 200").out);
  EXPECT_THAT(cluster_->underway({"host", "list"}).out, testing::Not(HasSubstr("asleep")));
}

/// Somebody is killed at every moment of the way: it goes on, in one place, in the middle of what it did.
TEST_F(MachineMovesLive, WhoeverDies) {
  for (int round = 0; round < 9; ++round) {
    const auto from = holder();
    const auto before = count();
    const auto id = id_of("moving-burst-hosts");
    ASSERT_EQ(cluster_->underway({"alloc", "move", "-detach", "-node", other(from), id}).exit_code, 0) << told();
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + 250 * (round / 3)));
    const std::string whose[] = {"the agent that it leaves", "the agent that it comes to", "the server"};
    SCOPED_TRACE(whose[round % 3] + ", round " + std::to_string(round));
    if (round % 3 == 0) ::kill(cluster_->agent_of(from), SIGKILL);
    if (round % 3 == 1) ::kill(cluster_->agent_of(other(from)), SIGKILL);
    if (round % 3 == 2)
      for (const int agent : cluster_->server_agents()) ::kill(agent, SIGKILL);
    const auto done = cluster_->underway({"up", directory()}, seconds(240));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err << told();
    expect_to_go_on(before);
    EXPECT_TRUE(eventually(seconds(60),
                           [&] {
                             return status().find("Client Status       = running") != std::string::npos &&
                                    holds("m1") != holds("m2");
                           }))
        << status() << told();
    std::cerr << whose[round % 3] << ": " << (holder() == from ? "it stayed" : "it went") << "\n";
  }
}

/// The other node has another image of that name: it stays where it is, and runs on.
TEST_F(MachineMoves, NotToWhereTheirImageIsAnother) {
  const auto from = holder();
  const auto at = other(from);
  const auto changed =
      cluster_->on(at, "cp " + images() + "/root.erofs /tmp/other && echo x >> /tmp/other && mount --bind /tmp/other " +
                           images() + "/root.erofs");
  ASSERT_EQ(changed.exit_code, 0) << changed.err;
  const auto before = count();
  ASSERT_EQ(cluster_->underway({"node", "drain", "-enable", "-yes", "-detach", from}).exit_code, 0);
  const auto status = [&] { return cluster_->underway({"alloc", "status", id_of("moving-burst-hosts")}).out; };
  EXPECT_TRUE(eventually(seconds(60), [&] { return status().find("is another image here") != std::string::npos; }))
      << status() << told();
  EXPECT_TRUE(holds(from));
  expect_to_go_on(before);
}

}  // namespace
}  // namespace underway::harness
