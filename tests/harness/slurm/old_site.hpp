#pragma once
/// @file
/// A site that Underway knows nothing of: hosts with daemons as plain processes, and the plan that `survey adopt`
/// writes for its management server.

#include <map>

#include "harness/cluster.hpp"
#include "harness/plan_file.hpp"

namespace underway::harness {

class OldSite {
 public:
  /// Brings up hosts alone. `declared` is cluster.hcl, in which CLUSTER stands for the cluster's name; `hosts` are all
  /// of its hosts. Throws what does not work.
  OldSite(const std::string& declared, const std::vector<std::string>& hosts);

  const Cluster& cluster() const { return cluster_; }
  Finished enter(const std::string& host, const std::string& line,
                 std::chrono::seconds limit = std::chrono::seconds(60)) const {
    return cluster_.enter(host, line, limit);
  }
  const std::string& address(const std::string& host) const { return addresses_.at(host); }
  /// As this machine sees a host's files.
  std::string root_of(const std::string& host) const;
  /// A file on a host.
  void put(const std::string& host, const std::string& path, const std::string& text, const std::string& owner = "root",
           const std::string& mode = "0644") const;
  /// Runs on a host until the test ends.
  void daemon(const std::string& host, const std::string& line);

  const std::string& directory() const { return work_.path(); }  ///< for the test's own files
  std::string plan() const { return work_.path() + "/plan"; }
  std::string plan_file(const std::string& name) const { return read_text(plan() + "/" + name); }
  /// Has the drafted image made from the packages of this machine, in the place of a mirror.
  void take_installed_packages(const std::string& image) const;

 private:
  Cluster cluster_{"slurm"};
  TemporaryDirectory work_;
  std::map<std::string, std::string> addresses_;
  std::vector<Background> daemons_;
};

}  // namespace underway::harness
