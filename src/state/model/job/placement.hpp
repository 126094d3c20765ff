#pragma once
/// @file
/// Where a group may run and where it should rather: constraints, affinities, spreads, devices, NUMA. What the
/// operators mean is the scheduler's (engine/scheduler/constraint.hpp).

#include "base/json/describe.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace underway::model {

/// `attribute operator value`.
struct Constraint {
  std::string ltarget;  ///< e.g. "${attr.kernel.name}"; a whole ${…} is resolved, anything else is literal
  std::string operand = "=";
  std::string rtarget;
};

/// A constraint that attracts (or, below 0, repels) instead of excluding.
struct Affinity {
  std::string ltarget;
  std::string operand = "=";
  std::string rtarget;
  std::int64_t weight = 50;  ///< -100 to 100, never 0
};

struct SpreadTarget {
  std::string value;
  std::int64_t percent = 0;
};

/// Allocations of a group are shared out over the values of a node's property.
struct Spread {
  std::string attribute;
  std::int64_t weight = 50;           ///< 1 to 100
  std::vector<SpreadTarget> targets;  ///< none: evenly
  /// Of a job: those of all its groups are shared out together. Nomad shares out each group by itself, so that groups
  /// of one allocation each are not shared out at all.
  bool across_groups = false;
};

/// `device "nvidia/gpu" { … }`: devices that a task holds alone.
struct RequestedDevice {
  std::string name;  ///< type, vendor/type or vendor/type/model
  std::int64_t count = 1;
  std::vector<Constraint> constraints;
  std::vector<Affinity> affinities;
};

enum class NumaAffinity { none, prefer, require };

/// `numa`: whether the cores of a task (and `devices`) come from one NUMA node.
struct Numa {
  NumaAffinity affinity = NumaAffinity::none;
  std::vector<std::string> devices;  ///< names of the task's `device` blocks that shall lie at the same NUMA node
};

const describe::Enumeration& description(describe::Tag<NumaAffinity>);
const describe::Structure& description(describe::Tag<Constraint>);
const describe::Structure& description(describe::Tag<Affinity>);
const describe::Structure& description(describe::Tag<SpreadTarget>);
const describe::Structure& description(describe::Tag<Spread>);
const describe::Structure& description(describe::Tag<RequestedDevice>);
const describe::Structure& description(describe::Tag<Numa>);

}  // namespace underway::model
