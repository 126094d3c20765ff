#pragma once
/// @file
/// The cluster of examples/urgent, on the real thing, and what is asked of its Slurm and its machines.

#include <gmock/gmock.h>

#include <csignal>
#include <optional>
#include <thread>

#include "harness/cluster.hpp"
#include "harness/places.hpp"

namespace underway::harness {

/// Tests of it: machines of QEMU with slurmd in them, and Slurm as it is.
class UrgentSite : public testing::Test {
 protected:
  void SetUp() override {
    images_ = binary_dir() + "/slurm-node-image";
    if (shell("test -e " + images_ + "/root.erofs").exit_code != 0)
      GTEST_SKIP() << "there is no root for virtual machines, see " << images_;
    cluster_.emplace("urgent");
  }
  void up() const {
    const auto done =
        cluster_->underway({"up", "-var", "images=" + images_, cluster_->directory()}, std::chrono::seconds(400));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err << log();
    ASSERT_TRUE(eventually(std::chrono::seconds(60), [&] {
      return node("b1").find(" State=IDLE") != std::string::npos;
    })) << log();
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
  /// Which node has the host's machine.
  std::string holder(const std::string& host) const {
    for (const std::string metal : {"m1", "m2", "m3"}) {
      const auto path = "/var/lib/underway-node/machines/" + cluster_->name() + "." + host;
      if (cluster_->on(metal, "test -e " + path).exit_code == 0) return metal;
    }
    return "";
  }
  /// Server and agents of the nodes that have machines, again and again; somebody starts them anew each time.
  void kill_everybody(int times) const {
    for (int time = 0; time < times; ++time) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500 + 400 * time));
      for (const int agent : cluster_->server_agents()) ::kill(agent, SIGKILL);
      for (const auto* host : {"m1", "m2"}) ::kill(cluster_->agent_of(host), SIGKILL);
      const auto done = cluster_->underway({"up", "-detach", "-var", "images=" + images_, cluster_->directory()},
                                           std::chrono::seconds(120));
      ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
    }
  }
  std::string file(const std::string& name) const { return cluster_->directory() + "/" + name; }
  /// Before up().
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
  std::string hosts() const { return cluster_->underway({"host", "list"}).out; }
  std::string machines(const std::string& host) const {
    return shell("pgrep -f 'guest=" + cluster_->name() + "[.]" + host + "[ ,]'").out;
  }
  std::string on(const std::string& host, const std::string& line) const {
    return cluster_->underway({"host", "exec", host, "--", "/bin/sh", "-c", line}, std::chrono::seconds(30)).out;
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

}  // namespace underway::harness
