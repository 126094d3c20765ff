#pragma once
/// @file
/// examples/decoupled, up and asked by a prober: what the tests of the critical services begin with.

#include <gmock/gmock.h>

#include <optional>

#include "harness/capsule/prober.hpp"
#include "harness/farm.hpp"

namespace underway::harness {

class DecoupledCluster : public testing::Test {
 protected:
  /// Everything is up, and each service answers a prober on c1 every 100 ms.
  void SetUp() override;

  /// What the prober asks.
  std::vector<Probe> services() const;
  /// What `command` says of a file in the capsule with this hostname, wherever it runs. Its root is seen through its
  /// pid 1, so neither server nor agent is asked.
  std::string in_capsule(const std::string& hostname, const std::string& command, const std::string& path) const;
  /// Of a farm whose jobs are on all nodes, and that needs neither server nor agents.
  Farm::Options farm_options() const;
  /// The one that runs.
  std::string allocation_of(const std::string& job) const;
  /// The node that a capsule is on.
  std::string host_of(const std::string& capsule) const;
  /// What `status` says needs somebody.
  std::vector<std::string> attention() const;

  Cluster cluster_{"decoupled"};
  std::optional<Background> echo_;
  std::optional<Prober> prober_;
};

}  // namespace underway::harness
