// The cluster of examples/urgent, on the real thing: machines of QEMU with slurmd in them; when urgent work has no
// room, one that works on something else sleeps with its Slurm job, which goes on afterwards as if nothing had been.
#include <gmock/gmock.h>

#include <csignal>
#include <iostream>
#include <sstream>

#include "harness/cluster.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class SlurmUrgent : public testing::Test {
 protected:
  void SetUp() override {
    images_ = binary_dir() + "/slurm-node-image";
    if (shell("test -e " + images_ + "/root.erofs").exit_code != 0)
      GTEST_SKIP() << "there is no root for virtual machines, see " << images_;
    cluster_.emplace("urgent");
  }
  void up() const {
    const auto done = cluster_->underway(
        {"up", "-var", "images=" + images_, "-var", "machine_mhz=" + mhz(), cluster_->directory()}, seconds(400));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err << log();
    for (const auto* host : {"b1", "b2"})
      ASSERT_TRUE(eventually(seconds(60), [&] { return node(host).find(" State=IDLE") != std::string::npos; }))
          << log();
  }
  /// Of a machine, when a node has room for two.
  static std::string mhz() {
    return trimmed(shell("awk '/^cpu MHz/ { sum += $4 } END { print int(sum * 0.4) }' /proc/cpuinfo").out);
  }
  static std::string trimmed(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  std::string on_login(const std::string& line) const { return cluster_->on("login", line).out; }
  std::string node(const std::string& name) const { return on_login("scontrol -o show node " + name + " 2>&1"); }
  /// "SUSPENDED 0": how a Slurm job is, and how often it was started again.
  std::string job(const std::string& id) const {
    return on_login("scontrol -o show job " + id +
                    " | sed 's/.* JobState=\\([A-Z]*\\) .* Restarts=\\([0-9]*\\) .*/\\1 \\2/'");
  }
  std::string submit(const std::string& words) const {
    const auto told = cluster_->on("login", "sbatch --parsable --chdir=/ --output=/dev/null " + words);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out.substr(0, told.out.find('\n'));
  }
  /// It computes, with a file that is open all the time; and it says how often it was begun.
  std::string compute(const std::string& host, int sums) const {
    return submit("-p batch -t 30 -w " + host +
                  " --wrap 'echo begun >> /var/lib/begun; exec 5>/var/lib/sums; i=0; while [ $i -lt " +
                  std::to_string(sums) +
                  " ]; do i=$((i+1)); echo $i | sha256sum >&5; sleep 0.1; done; sha256sum < /var/lib/sums > "
                  "/var/lib/result'");
  }
  void expect_exact(const std::string& host, int sums) const {
    EXPECT_EQ(on(host, "cat /var/lib/begun"), "begun\n");
    EXPECT_EQ(on(host, "cat /var/lib/result"), shell("i=0; while [ $i -lt " + std::to_string(sums) +
                                                     " ]; do i=$((i+1)); echo $i | sha256sum; done | sha256sum")
                                                   .out)
        << "every sum is there, once";
  }
  std::string hosts() const { return cluster_->underway({"host", "list"}).out; }
  std::string machines(const std::string& host) const {
    return shell("pgrep -f 'guest=" + cluster_->name() + "[.]" + host + "[ ,]'").out;
  }
  std::string on(const std::string& host, const std::string& line) const {
    return cluster_->underway({"host", "exec", host, "--", "/bin/sh", "-c", line}, seconds(30)).out;
  }
  std::string log() const {
    return hosts() + cluster_->underway({"status"}).out + cluster_->underway({"elastic", "status"}).out +
           on_login("sinfo -N -l; squeue -l; tail -n 30 /var/log/slurm/slurmctld.log") +
           cluster_->on("mgmt", "tail -n 30 /var/log/slurm/slurmctld.log").out +
           shell("tail -n 60 " + cluster_->state() + "/agent.log").out;
  }

  std::string images_;
  std::optional<Cluster> cluster_;
};

TEST_F(SlurmUrgent, WorkThatCanWaitSleepsForWorkThatCannot) {
  up();
  const std::map<std::string, std::string> low = {{"b1", compute("b1", 300)}, {"b2", compute("b2", 300)}};
  for (const auto& [host, id] : low) {
    ASSERT_TRUE(eventually(seconds(60), [&] { return job(id) == "RUNNING 0\n"; })) << log();
    ASSERT_TRUE(eventually(seconds(30), [&] { return !on(host, "cat /var/lib/sums").empty(); })) << log();
  }

  const auto begun = std::chrono::steady_clock::now();
  const auto since = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  const auto high = submit("-p urgent -t 5 --wrap 'sleep 5'");
  std::string sleeper;
  ASSERT_TRUE(eventually(seconds(60), [&] {
    for (const auto& [host, id] : low)
      if (job(id) == "SUSPENDED 0\n" && machines(host).empty()) sleeper = host;
    return !sleeper.empty();
  })) << log();
  std::cerr << sleeper << " is asleep after " << since() << " s\n";
  const std::string other = sleeper == "b1" ? "b2" : "b1";
  EXPECT_THAT(hosts(), HasSubstr("makes room for u1"));
  EXPECT_THAT(cluster_->underway({"elastic", "status"}).out, HasSubstr(sleeper + " sleeps"));
  ASSERT_TRUE(eventually(seconds(120), [&] { return job(high) == "COMPLETED 0\n"; })) << log();
  std::cerr << "the urgent job has ended after " << since() << " s\n";
  EXPECT_EQ(job(low.at(sleeper)), "SUSPENDED 0\n");
  EXPECT_NE(job(low.at(other)), "SUSPENDED 0\n") << "one was enough";

  // Its room is given back by itself.
  for (const auto& [host, id] : low) {
    ASSERT_TRUE(eventually(seconds(120), [&] { return job(id) == "COMPLETED 0\n"; })) << host << log();
    expect_exact(host, 300);
  }
  std::cerr << "all have ended after " << since() << " s\n";
  EXPECT_TRUE(eventually(seconds(60), [&] {
    const auto now = node(sleeper);
    return now.find(" State=IDLE") != std::string::npos && now.find("DRAIN") == std::string::npos;
  })) << node(sleeper);
}

/// The poster's fourth timeline: a host is freed elsewhere while the urgent work has still the sleeper's own.
TEST_F(SlurmUrgent, WhatSleepsGoesOnOnAHostThatIsFreed) {
  ASSERT_EQ(shell("sed -i '/^  pool \"metal\"/a size = 2' " + cluster_->directory() + "/cluster.hcl").exit_code, 0);
  up();
  const auto holder = [&](const std::string& host) {
    for (const std::string metal : {"m1", "m2"}) {
      const auto path = "/var/lib/underway-node/machines/" + cluster_->name() + "." + host;
      if (cluster_->on(metal, "test -e " + path).exit_code == 0) return metal;
    }
    return std::string();
  };
  // All of the other host is somebody's.
  const auto own = holder("b1");
  const std::string freed = own == "m1" ? "m2" : "m1";
  ASSERT_EQ(holder("b2"), own) << "they are packed" << log();
  const auto filler = cluster_->directory() + "/../filler.nomad.hcl";
  write_text(filler, R"(job "filler" {
  node_pool = "metal"
  constraint {
    attribute = "${node.unique.name}"
    value     = ")" + freed +
                         R"("
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["1000"]
      }
      resources {
        cpu    = )" + std::to_string(2 * std::stoi(mhz())) +
                         R"(
        memory = 10
      }
    }
  }
}
)");
  const auto filled = cluster_->underway({"job", "run", filler}, seconds(60));
  ASSERT_EQ(filled.exit_code, 0) << filled.out << filled.err;

  const std::map<std::string, std::string> low = {{"b1", compute("b1", 400)}, {"b2", compute("b2", 400)}};
  for (const auto& [host, id] : low)
    ASSERT_TRUE(eventually(seconds(60), [&] { return !on(host, "cat /var/lib/sums").empty(); })) << log();
  const auto high = submit("-p urgent -t 5 --wrap 'sleep 60'");
  std::string sleeper;
  ASSERT_TRUE(eventually(seconds(60), [&] {
    for (const auto& [host, id] : low)
      if (job(id) == "SUSPENDED 0\n" && machines(host).empty()) sleeper = host;
    return !sleeper.empty();
  })) << log();
  ASSERT_TRUE(eventually(seconds(90), [&] { return job(high) == "RUNNING 0\n"; })) << log();
  EXPECT_EQ(holder(sleeper), own);

  const auto begun = std::chrono::steady_clock::now();
  ASSERT_EQ(cluster_->underway({"job", "stop", "-yes", "filler"}, seconds(60)).exit_code, 0);
  ASSERT_TRUE(eventually(seconds(60), [&] { return job(low.at(sleeper)) == "RUNNING 0\n"; })) << log();
  std::cerr << sleeper << " goes on on " << freed << " "
            << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()
            << " s after that was freed\n";
  EXPECT_EQ(holder(sleeper), freed) << log();
  EXPECT_EQ(job(high), "RUNNING 0\n") << "the urgent job has its room still";
  for (const auto& [host, id] : low) {
    ASSERT_TRUE(eventually(seconds(180), [&] { return job(id) == "COMPLETED 0\n"; })) << host << log();
    expect_exact(host, 400);
  }
}

}  // namespace
}  // namespace underway::harness
