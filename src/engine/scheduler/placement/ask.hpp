#pragma once
/// @file
/// What one allocation of a group asks of a node, drawn together from job, group and tasks.

#include "model/node/host_volume.hpp"
#include "model/scheduler_configuration.hpp"
#include "scheduler/fleet/fleet_index.hpp"

namespace underway::scheduler {

struct DistinctProperty {
  const model::Constraint* constraint = nullptr;
  std::int64_t limit = 1;  ///< how many allocations may share one value
  bool whole_job = false;  ///< counts all groups, not only this one
};

/// An affinity as a condition that a node meets or not.
struct Attraction {
  model::Constraint condition;
  double weight = 0;  ///< of the sum of all weights' amounts: the sum of those that hold is the score's term
};

/// Node properties that the fleet has an index for.
enum class Pin : std::uint8_t { none, hostname, name, id };

/// Points into `job`, which it keeps alive.
struct Ask {
  tables::Row<model::Job> job;
  const model::TaskGroup* group = nullptr;
  Amount amount;
  model::SchedulerAlgorithm algorithm = model::SchedulerAlgorithm::binpack;
  std::vector<const model::Constraint*> class_constraints;  ///< same answer for all nodes of a computed class
  std::vector<const model::Constraint*> node_constraints;   ///< name a `unique.` property
  std::vector<const std::string*> drivers;
  std::vector<const model::VolumeRequest*> volumes;
  std::vector<model::HostVolumeClaim> claims;  ///< of its sticky volumes
  std::vector<const model::Port*> static_ports;
  std::vector<const model::Port*> dynamic_ports;
  bool holds = false;  ///< its tasks hold cores or devices alone
  bool distinct_hosts_of_job = false;
  bool distinct_hosts_of_group = false;
  std::vector<DistinctProperty> distinct_properties;
  std::vector<Attraction> class_affinities;  ///< as the constraints: of the job, its group and its tasks
  std::vector<Attraction> node_affinities;
  std::vector<const model::Spread*> spreads;  ///< of the group and the job; one per attribute
  Pin pin = Pin::none;
  const model::Constraint* pinned_by = nullptr;
  std::shared_ptr<const model::Constraint> home;  ///< beside those of the job

  /// `home`: the only node that will do.
  Ask(tables::Row<model::Job> wanted, const model::TaskGroup& of, const std::optional<std::string>& home_node = {});

  bool has_affinities() const { return !class_affinities.empty() || !node_affinities.empty(); }
  /// What the group is spread over, in the order of `spreads`.
  std::vector<std::string> spread_attributes() const;
  /// Whether each of its allocations asks for volumes of its own, so that they are no longer alike.
  bool has_own_volumes() const {
    return std::any_of(volumes.begin(), volumes.end(),
                       [](const auto* volume) { return volume->per_alloc || volume->sticky; });
  }
  bool has_ports() const { return !static_ports.empty() || !dynamic_ports.empty(); }
  /// Whether pool and datacenter are right: other nodes do not even count as evaluated.
  bool in_scope(const std::string& pool, const std::string& datacenter) const;
  /// Equal for asks that every node answers alike.
  std::string shape_key() const;
  /// The nodes that the pin leaves; only when pinned.
  const std::vector<Slot>& pinned_slots(const FleetIndex& fleet, std::vector<Slot>& storage) const;
};

/// Why a node is exhausted, or nothing when the ask fits: "memory", "network: reserved port collision ssh=22", …
std::optional<std::string> exhausted_dimension(FleetIndex& fleet, Slot slot, const Ask& ask);
/// The same as a bare answer, fast.
bool fits(FleetIndex& fleet, Slot slot, const Ask& ask);

/// What an allocation of the ask takes of this node, where cores are worth what they are there, and how well the
/// devices that it would get are those that it would rather have: a term of the score.
struct Worth {
  Amount amount;
  std::optional<double> devices;
};
Worth worth_on(const FleetIndex& fleet, Slot slot, const Ask& ask);
/// What its tasks would hold there; only for an ask that holds something.
std::optional<Assignment> assign_on(const FleetIndex& fleet, Slot slot, const Ask& ask, std::string* lacking = nullptr);

/// The first static port that is taken there; null when none is.
const model::Port* colliding_port(FleetIndex& fleet, Slot slot, const Ask& ask);

struct PortAssignment {
  std::vector<PortUse> uses;
  std::vector<model::AllocatedPort> ports;
};
/// Gives every port of the ask a number on a node on which it fits. Dynamic ports are the next free ones from a start
/// that `seed` chooses, so that a port just given up is not given out again at once.
std::optional<PortAssignment> assign_ports(FleetIndex& fleet, Slot slot, const Ask& ask, std::uint64_t seed);

/// Nomad's score of the node with so much placed on it, 0 to 1: the higher the fuller it is, or, by the algorithm
/// `spread`, the emptier. Source: Google's BestFit v3 as in nomad/structs/funcs.go, ScoreFitBinPack, ScoreFitSpread.
double fit_score(const Room& room, const Amount& amount,
                 model::SchedulerAlgorithm algorithm = model::SchedulerAlgorithm::binpack);

/// The sum of the weights of those that hold on the node.
double attraction(const std::vector<Attraction>& affinities, const model::Node& node);

/// A good mix of the bits (splitmix64's finalizer).
std::uint64_t mix(std::uint64_t value);
std::uint64_t hash_text(std::string_view text);

}  // namespace underway::scheduler
