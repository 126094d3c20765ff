#pragma once
/// @file
/// Everything for one screen: clusters, hosts, nodes, services, and what needs somebody.

#include <functional>

#include "api/nomad/stubs.hpp"
#include "model/capsule/capsule.hpp"

namespace underway::api {

struct ServiceStatus {
  std::string id, cluster;
  model::JobType type = model::JobType::service;
  model::JobStatus status = model::JobStatus::pending;
  std::int64_t version = 0;
  std::int64_t wanted = 0;  ///< allocations that shall run now
  std::int64_t running = 0;
  std::int64_t healthy = 0;
  std::vector<std::string> nodes;  ///< where they run
  std::vector<std::string> waits;  ///< what keeps the others, in words
  std::vector<std::string> depends_on;
};

struct HostState {
  std::string name, cluster, pool, address, node_id;
  model::HostStatus status = model::HostStatus::pending;
  std::string status_description;
  std::optional<model::NodeStatus> node_status;
  bool linked = false;  ///< its agent is connected now
};

/// What would be lost of a capsule if its host died now.
struct CapsuleStatus {
  std::string name, owner, standby;  ///< nodes' names; standby: who would take over, empty: nobody
  std::string why;                   ///< why it is not the chosen one, or nobody
  Duration loses{0};                 ///< what was written in that time would be lost
  bool keeps_nothing = false;
};

/// Something that an operator should look at, and the command that helps.
struct Attention {
  std::string what, why, advice;
};

struct Status {
  std::vector<model::Cluster> clusters;
  std::vector<HostState> hosts;
  std::vector<NodeStub> nodes;
  std::vector<ServiceStatus> services;
  std::vector<CapsuleStatus> capsules;
  std::vector<Attention> attention;
  bool writable = true;  ///< false: the server cannot write to its disk, and refuses changes
  bool settled = false;  ///< every host runs, every wanted allocation is healthy, nothing waits
};

/// What of it somebody may see.
struct Sight {
  std::function<bool(const std::string& ns)> jobs = [](const std::string&) { return true; };
  bool nodes = true;  ///< and hosts, and clusters
  TimePoint now{};    ///< by which something is overdue; without: nothing is
  /// Puts in what is known of a capsule's copies beside the tables; ownership::Controller::complete().
  std::function<std::string(model::Capsule&)> copies = [](model::Capsule&) { return std::string(); };
};

/// `cluster` empty: everything.
/// `linked` tells whether a node's link stands.
Status status_of(const tables::Tables& tables, const std::string& cluster,
                 const std::function<bool(const std::string& node_id)>& linked, const Sight& sight = {});

/// What a task of it failed of, first of all; else what its node says of it.
std::string cause_in_words(const model::Allocation& allocation);

const describe::Structure& description(describe::Tag<ServiceStatus>);
const describe::Structure& description(describe::Tag<HostState>);
const describe::Structure& description(describe::Tag<CapsuleStatus>);
const describe::Structure& description(describe::Tag<Attention>);
const describe::Structure& description(describe::Tag<Status>);

}  // namespace underway::api
