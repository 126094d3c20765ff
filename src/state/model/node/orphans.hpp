#pragma once
/// @file
/// What a node runs by the orders of another history than its server's: of a store that was lost, or is newer than the
/// one that was restored. The node keeps it running, and an administrator decides.

#include "model/job/job.hpp"

namespace underway::model {

/// An allocation that its node's server does not know.
struct Orphan {
  std::string id;
  std::string ns = "default";
  std::string job_id;
  std::int64_t job_version = 0;
  std::string group;
  std::string name;
};

/// Those of one node.
struct Orphans {
  std::string node_id;
  std::string node_name;
  bool closed = false;  ///< the node was made ineligible because of them, and is eligible again without them
  std::vector<Orphan> allocations;
};

const describe::Structure& description(describe::Tag<Orphan>);
const describe::Structure& description(describe::Tag<Orphans>);

}  // namespace underway::model
