#pragma once
/// @file
/// Everything for one screen: clusters, hosts, nodes, services, and what needs somebody.

#include "base/json/projection.hpp"
#include "model/cluster.hpp"
#include "wire/node/node_stub.hpp"

namespace underway::wire {

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
  bool asleep = false;  ///< its machine is, as somebody wished

  /// As it is to be: there, or asleep.
  bool stands() const {
    const bool there = status == model::HostStatus::running && node_status == model::NodeStatus::ready && linked;
    return there || asleep;
  }
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

const describe::Projection<model::Job>& description(describe::Tag<ServiceStatus>);
const describe::Projection<model::Host>& description(describe::Tag<HostState>);
const describe::Structure& description(describe::Tag<CapsuleStatus>);
const describe::Structure& description(describe::Tag<Attention>);
const describe::Structure& description(describe::Tag<Status>);

}  // namespace underway::wire
