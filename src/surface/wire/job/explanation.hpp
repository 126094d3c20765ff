#pragma once
/// @file
/// Why a job is as it is: what `underway job explain` shows.

#include "base/json/projection.hpp"
#include "model/allocation.hpp"

namespace underway::wire {

/// Something that keeps a group from being as it is wanted.
struct Reason {
  std::string kind;  ///< "placement", "dependency", "rollout", "failure", "drain", "node", "health", "start"
  std::string what;  ///< in words
  std::vector<std::string> why;  ///< one line each
  std::string advice;            ///< a command that helps; empty: it goes on by itself
};

struct ExplainedAllocation {
  std::string id, name, node_id, node_name;
  std::int64_t version = 0;
  model::ClientStatus status = model::ClientStatus::pending;
  bool stopping = false;  ///< not wanted any more, and not known to have ended
  bool ready = false;
  std::string where;  ///< why it is on this node
};

/// What a node has to say to one more allocation.
struct ExplainedNode {
  std::string id, name;
  std::string against;  ///< empty: nothing
};

struct ExplainedGroup {
  std::string name;
  std::int64_t wanted = 0;  ///< of system jobs: what is placed and what could not be
  std::int64_t placed = 0, running = 0, ready = 0;
  std::vector<Reason> reasons;
  std::vector<ExplainedAllocation> allocations;
  std::vector<ExplainedNode> nodes;  ///< only when asked for
};

struct Explanation {
  std::string id, ns;
  model::JobType type = model::JobType::service;
  model::JobStatus status = model::JobStatus::pending;
  std::int64_t version = 0;
  bool stop = false;
  std::vector<Reason> reasons;  ///< that concern all of it
  std::vector<ExplainedGroup> groups;
  std::string advice;  ///< the nearest thing to do
};

const describe::Structure& description(describe::Tag<Reason>);
const describe::Projection<model::Allocation>& description(describe::Tag<ExplainedAllocation>);
const describe::Structure& description(describe::Tag<ExplainedNode>);
const describe::Structure& description(describe::Tag<ExplainedGroup>);
const describe::Projection<model::Job>& description(describe::Tag<Explanation>);

}  // namespace underway::wire
