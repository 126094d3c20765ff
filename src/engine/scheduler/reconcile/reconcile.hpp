#pragma once
/// @file
/// What should run against what runs, for one group of a service or batch job: which allocations stay, stop, are
/// updated or replaced, and which are missing. Where they go is decided later.

#include "scheduler/reconcile/standing.hpp"

namespace underway::scheduler {

using AllocationRow = tables::Row<model::Allocation>;

// Nomad's words (scheduler/reconciler): clients and people match on them.
inline constexpr const char* kNotNeeded = "alloc not needed due to job update";
inline constexpr const char* kUpdating = "alloc is being updated due to job update";
inline constexpr const char* kLost = "alloc was lost since its node is down";
inline constexpr const char* kRescheduled = "alloc was rescheduled because it failed";
inline constexpr const char* kNodeTainted = "alloc not needed as node is tainted";
inline constexpr const char* kMigrating = "alloc is being migrated";
inline constexpr const char* kLostContact = "alloc is unknown since its node is disconnected";
/// Ours: of two of a name, when a node came back.
inline constexpr const char* kOtherGoesOn = "alloc not needed as the other one of its name goes on";

struct Stop {
  AllocationRow allocation;
  const char* description = kNotNeeded;
  bool lost = false;
};

/// An allocation that is missing.
struct Missing {
  std::int64_t index = 0;
  AllocationRow previous;        ///< which it takes the place of; null: none
  bool previous_failed = false;  ///< then `previous` stops when the place is taken, and its node is avoided
};

struct GroupPlan {
  std::vector<AllocationRow> keep;       ///< live, of this job version
  std::vector<AllocationRow> outdated;   ///< live, of another version: to be updated in place or replaced
  std::vector<AllocationRow> migrating;  ///< live: to be replaced on another node
  std::vector<AllocationRow> silenced;   ///< not heard of from now on; those that count are in `keep` too
  std::vector<AllocationRow> settled;    ///< came back and go on; in `keep` or `outdated` too
  std::vector<AllocationRow> waiting;    ///< failed, and replaced at `next_attempt` or later
  std::vector<AllocationRow> ended;      ///< failed, and never replaced
  std::vector<Stop> stops;
  std::vector<Missing> missing;
  std::int64_t ignore = 0;        ///< finished or waiting: left as they are
  std::int64_t next_attempt = 0;  ///< when the first failed one may be replaced, ns; 0: none waits
  std::int64_t next_loss = 0;     ///< when the first unknown one is given up, ns; 0: none is
};

/// A terminal allocation of an earlier version (or of a job of the same name that was purged): history.
bool of_earlier_job(const model::Allocation& allocation, const model::Job& job);

/// Stopped only where it was (by a person, a drain, a more urgent job, the loss of its node), and nothing has followed
/// it yet: what takes its number is its successor, which has its disk.
bool wants_successor(const model::Allocation& allocation);

GroupPlan reconcile_group(const model::Job& job, const model::TaskGroup& group,
                          const std::vector<AllocationRow>& allocations, const FleetIndex& fleet, std::int64_t now,
                          Duration slack);

/// The earlier of two times of which 0 means never.
inline std::int64_t earlier(std::int64_t a, std::int64_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

}  // namespace underway::scheduler
