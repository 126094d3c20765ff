#pragma once
/// @file
/// The fixture of the tests that give the same words to each release of Slurm. A site is started once for all tests of
/// a release; each waits until what it needs is free, and takes its own jobs away.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <set>

#include "harness/places.hpp"
#include "harness/slurm/slurm_site.hpp"
#include "slurm/queue.hpp"
#include "slurm/reconcile/hold.hpp"
#include "slurm/reconcile/reconcile.hpp"

namespace underway::harness {

/// The daemons of one release, and our readers of what they say.
class SlurmVersions : public testing::TestWithParam<SlurmRelease> {
 protected:
  using Names = std::set<std::string>;

  static void TearDownTestSuite() { sites().clear(); }

  void SetUp() override {
    if (!std::filesystem::exists(GetParam().root + "/usr/sbin/slurmctld"))
      GTEST_SKIP() << "needs Slurm " << GetParam().version << " below " << GetParam().root
                   << ": packaging/slurm-roots makes it";
    auto& mine = sites()[GetParam().version];
    if (!mine) mine = std::make_unique<SlurmSite>(GetParam());
    site_ = mine.get();
  }

  std::string ask(const std::vector<std::string>& command) const {
    const auto said = site_->run(command);
    EXPECT_EQ(said.exit_code, 0) << command.back() << ": " << said.err;
    return said.out;
  }
  std::string line(const std::string& text) const {
    const auto said = site_->shell(text);
    EXPECT_EQ(said.exit_code, 0) << text << ": " << said.err;
    return said.out;
  }
  void order(const std::vector<std::vector<std::string>>& commands) const {
    for (const auto& command : commands) ask(command);
  }

  std::vector<slurm::SlurmJob> slurm_jobs() const { return slurm::parse_slurm_jobs(ask(slurm::slurm_jobs_command())); }
  std::string state_of(const std::string& job) const {
    for (const auto& slurm_job : slurm_jobs()) {
      if (slurm_job.name == job) return slurm_job.state;
    }
    return "";
  }
  std::map<std::string, slurm::NodeState> nodes() const {
    std::map<std::string, slurm::NodeState> out;
    for (auto& node : slurm::parse_nodes(ask(slurm::nodes_command()))) out[node.name] = node;
    return out;
  }
  std::map<std::string, bool> partitions() const {
    std::map<std::string, bool> out;
    for (const auto& partition : slurm::parse_partitions(ask(slurm::partitions_command())))
      out[partition.name] = partition.up;
    return out;
  }
  std::string config() const { return ask(slurm::config_command()); }
  Names host_jobs() const {
    return slurm::parse_host_steps(line(slurm::kStepsScript)).value_or(Names{"the script did not get to its end"});
  }
  slurm::Reconciliation compare(const Names& on_host) const {
    std::map<std::string, std::string> host_of;
    for (const auto& [name, node] : nodes()) host_of[name] = node.hostname;
    return slurm::reconcile(slurm_jobs(), slurm::parse_steps(ask(slurm::steps_command())), host_of, {{"ctl", on_host}});
  }
  /// Gives slurmctld what stands in the file of the hold.
  void include(const std::string& text) const {
    ask({"/bin/sh", "-c", "printf '%s' \"$1\" > /etc/slurm/underway-hold.conf; scontrol reconfigure", "sh", text});
    ASSERT_TRUE(eventually(std::chrono::seconds(20), [&] { return !slurm::parse_boot_time(config()).empty(); }));
  }
  /// The words after `-c` of the only task or step of that name in a file of the examples.
  static std::string script_of(const std::string& file, const std::string& name) {
    const std::string text = read_text(source_dir() + "/examples/" + file);
    const std::regex pattern(name + R"rx(" \{[\s\S]*?"-c", "((?:[^"\\]|\\.)*)")rx");
    std::smatch found;
    EXPECT_TRUE(std::regex_search(text, found, pattern)) << file;
    return std::regex_replace(found[1].str(), std::regex(R"(\\(.))"), "$1");
  }

  /// Whether examples/decoupled/slurmd.hcl would have its slurmd wait: what it asks, with the configuration that it
  /// has.
  bool example_waits() const {
    const std::string text = read_text(source_dir() + "/examples/decoupled/slurmd.hcl");
    std::smatch question;
    EXPECT_TRUE(std::regex_search(text, question, std::regex(R"rx(held\(\) \{ (.*); \}\n)rx")));
    return site_
               ->shell(
                   "printf 'ClusterName=site\nSlurmctldHost=ctl\nAuthType=auth/munge\n' > /tmp/three-lines.conf; "
                   "export SLURM_CONF=/tmp/three-lines.conf; " +
                   question[1].str())
               .exit_code == 0;
  }

  SlurmSite* site_ = nullptr;

 private:
  static std::map<std::string, std::unique_ptr<SlurmSite>>& sites() {
    static std::map<std::string, std::unique_ptr<SlurmSite>> all;
    return all;
  }
};

}  // namespace underway::harness
