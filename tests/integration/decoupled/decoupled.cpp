#include "integration/decoupled/decoupled.hpp"

#include <fmt/format.h>

#include <sstream>

namespace underway::harness {

using std::chrono::seconds;

namespace {
constexpr int kEchoPort = 7000;
}  // namespace

void DecoupledCluster::SetUp() {
  cluster_.declare_processors(8);
  cluster_.up();
  echo_.emplace(serve_echo(cluster_, "outside", kEchoPort));
  // A capsule's task runs a little before its services listen: what is measured begins after that.
  prober_.emplace(cluster_, "c1", services());
  ASSERT_TRUE(prober_->all_answer(seconds(30))) << prober_->report();
  prober_.emplace(cluster_, "c1", services());
  ASSERT_TRUE(prober_->all_answer(seconds(30))) << prober_->report();
}

std::vector<Probe> DecoupledCluster::services() const {
  const std::string outside = cluster_.enter("outside", "hostname -I | xargs").out;
  return {{"slurmctld", "tcp", "10.78.0.5", 6817},
          {"slurmdbd", "tcp", "10.78.0.5", 6819},
          {"time", "ntp", "10.78.0.6", 123},
          {"log", "tcp", "10.78.0.7", 2514},
          {"files", "nfs", "10.78.0.8", 2049},
          {"mail", "smtp", "10.78.0.9", 25},
          {"outside", "echo", outside.substr(0, outside.find('\n')), kEchoPort}};
}

std::string DecoupledCluster::in_capsule(const std::string& hostname, const std::string& command,
                                         const std::string& path) const {
  const std::string line = fmt::format(
      "for p in $(pgrep -x capsule-init); do [ \"$(cat /proc/$p/root/etc/hostname)\" != {} ] || {} /proc/$p/root{}; "
      "done",
      hostname, command, path);
  return cluster_.enter("infra1", line).out + cluster_.enter("infra2", line).out;
}

Farm::Options DecoupledCluster::farm_options() const {
  Farm::Options options;
  options.spread = true;
  options.on = [this](const std::string& host, const std::string& line, seconds limit) {
    return cluster_.enter(host, line, limit);
  };
  options.saved = [this] {
    return std::atoll(in_capsule("ctl", "stat -c %Y", "/var/lib/slurm/slurmctld/job_state").c_str());
  };
  return options;
}

std::string DecoupledCluster::allocation_of(const std::string& job) const {
  std::istringstream rows(cluster_.underway({"job", "allocs", job}).out);
  for (std::string row; std::getline(rows, row);) {
    if (row.find(" running ") != std::string::npos) return row.substr(0, row.find(' '));
  }
  return {};
}

std::string DecoupledCluster::host_of(const std::string& capsule) const {
  std::istringstream rows(cluster_.underway({"capsule", "list"}).out);
  for (std::string row; std::getline(rows, row);) {
    std::istringstream words(row);
    std::string name, job, state, owner;
    if (words >> name >> job >> state >> owner && name == capsule) return owner;
  }
  return {};
}

std::vector<std::string> DecoupledCluster::attention() const {
  std::vector<std::string> out;
  std::istringstream rows(cluster_.underway({"status"}).out);
  for (std::string row; std::getline(rows, row);) {
    if (row.starts_with("! ")) out.push_back(row.substr(2));
  }
  return out;
}

}  // namespace underway::harness
