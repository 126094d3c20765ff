#pragma once
/// @file
/// The checks of an allocation as the node does them: addresses found, names filled in. Pure.

#include <string>
#include <vector>

#include "model/allocation.hpp"
#include "model/node/node.hpp"
#include "node/runtime.hpp"

namespace underway::node {

/// One check.
struct CheckPlan {
  std::string id;  ///< the same for the same check of the same allocation, whatever its values
  std::string service;
  std::string task;  ///< that it is about: scripts run in it, restarts are its; empty: all of the group
  std::string group;
  std::string name;
  model::Check check;   ///< filled in; command and arguments are when they run, by the task's own environment
  std::string address;  ///< http, tcp
  std::int64_t port = 0;
  std::string problem;  ///< why it cannot be done; empty: it can
  std::string on_update;
  model::CheckRestart restart;

  /// Whether it decides over readiness and rollouts.
  bool counts() const { return on_update != "ignore"; }
};

/// Those of the group's services, then of the tasks'.
std::vector<CheckPlan> plan_checks(const model::Allocation& allocation, const model::Node& node);

/// Whether results of the one are results of the other.
bool same_check(const CheckPlan& a, const CheckPlan& b);

/// What an http or tcp check asks for.
ProbeRequest probe_request(const CheckPlan& plan);

}  // namespace underway::node
