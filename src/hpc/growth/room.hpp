#pragma once
/// @file
/// Room for urgent work: when a host of a pool with `urgent` has none, hosts of pools that are `opportunistic` are
/// taken back (recall.hpp), and if they are too few, hosts of pools with `yields` sleep, at least cost, as seldom and
/// as long as they are promised, and are woken when there is room again. All are virtual machines on the nodes of one
/// pool. room_facts() is what the tables have, make_room() decides (pure), growth.hpp carries it out, and the way of
/// each host from there is its own (host/virtual/sleep.hpp).
///
/// Hosts that share a Slurm job go together (detail/groups.hpp): all of them sleep or none, and all are woken or none,
/// as the job can do nothing while one of them sleeps.

#include "elastic/preemption/sleep.hpp"
#include "growth/look.hpp"
#include "model/cluster.hpp"
#include "scheduler/placement/bounds.hpp"
#include "server/request.hpp"
#include "slurm/elastic/job_queue.hpp"

namespace underway::growth {

/// A node that machines can be on. What is free can be negative, after somebody lessened what it has.
struct RoomNode {
  std::string id, name;
  std::int64_t cpu_free = 0, memory_free_mb = 0;  ///< MHz and MiB that nothing holds
};

/// A host that makes way.
struct YieldingHost {
  std::string name;
  std::string node;                     ///< id of the node that has its machine
  std::int64_t cpu = 0, memory_mb = 0;  ///< MHz and MiB that it holds awake
  std::int64_t vcpus = 1;
  bool to_sleep = false, asleep = false;
  bool ours = false;    ///< it was us who wanted that
  bool moves = false;   ///< its machine is on its way to another node
  bool stayed = false;  ///< the last time that it was to go on elsewhere, it could not
  std::string pool = {};
};

/// A host that may be taken back.
struct OpportunisticHost {
  std::string name, pool;
  std::string node;                     ///< id of the node that has its machine
  std::int64_t cpu = 0, memory_mb = 0;  ///< MHz and MiB that it holds
  bool goes = false;                    ///< its room is about to be free
  bool stays = false;                   ///< it was asked for in vain, for an urgent host that is there
};

/// A host of an urgent pool for which no node has room.
struct UrgentHost {
  std::string name, pool;
  std::int64_t cpu = 0, memory_mb = 0;
};

/// Who slept for whom; one per cluster.
struct SleepBook {
  std::string cluster;
  std::vector<elastic::Sleep> sleeps;
};

struct RoomFacts {
  std::string cluster;
  model::Promises promises;
  std::vector<RoomNode> nodes;
  std::vector<YieldingHost> yielding;
  std::vector<UrgentHost> urgent;
  std::vector<OpportunisticHost> opportunistic;
  std::map<std::string, std::int64_t> redone;       ///< jobs that were taken back once (elastic::State)
  std::vector<std::int64_t> over;                   ///< recalls whose urgent host is gone
  std::map<std::string, scheduler::Bounds> bounds;  ///< by pool: on which nodes its machines may be; absent: on all
  SleepBook book;
  bool any() const { return !yielding.empty() || !opportunistic.empty() || !over.empty(); }
};
/// An urgent host counts from `patience` after it was asked for: until then the scheduler may just not have looked.
RoomFacts room_facts(const tables::Tables& tables, const model::Cluster& cluster, TimePoint now,
                     Duration patience = std::chrono::seconds(1));

/// What is to be done now.
struct Room {
  /// Of hosts that share Slurm jobs, or of one.
  struct Nap {
    std::vector<std::string> hosts;
    std::string why;
  };
  /// The same; of each host the node where it goes on, by its id; empty: where it is.
  using Waking = std::map<std::string, std::string>;
  /// Of one pool, for one urgent host.
  struct Taking {
    std::string pool;
    std::vector<std::string> hosts;
    std::string why, for_host;
  };
  std::vector<Taking> recall;
  std::vector<std::int64_t> over;  ///< recalls that are to be ended
  std::vector<Nap> sleep;
  std::vector<Waking> wake;
  std::vector<std::string> lines;  ///< for people: who sleeps, and who waits for room in vain
  SleepBook book;
  bool settled = true;  ///< nobody sleeps, or waits for room
};
/// `slurm`: what runs where, and can be done again.
Room make_room(const RoomFacts& facts, const SlurmLook& slurm, TimePoint now);

/// What owners were promised and no node has room for at present, whoever sleeps and whoever is taken back: a node is
/// away, or something else runs there. A line for each node pool, for people; nothing: there is room for all of it.
std::vector<std::string> promises_without_room(const tables::Tables& tables, const model::Cluster& cluster);

/// Written down before anybody is put to sleep. One who could not be, by then, has slept for a moment.
struct NoteSleeps {
  SleepBook book;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteSleeps& request,
                                         const server::Context& context);

/// Why a host sleeps for another: how those are known that are to be woken again.
inline constexpr const char* kMakesRoom = "makes room for ";

const describe::Structure& description(describe::Tag<SleepBook>);

}  // namespace underway::growth

namespace underway::tables {

template <>
struct RecordOf<growth::SleepBook> {
  static constexpr std::string_view kind = "sleep-book";
  static std::string name(const growth::SleepBook& book) { return book.cluster; }
};

}  // namespace underway::tables
