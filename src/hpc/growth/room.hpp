#pragma once
/// @file
/// Room for urgent work: hosts of pools with `yields` sleep when one of a pool with `urgent` has none, at least cost,
/// as seldom and as long as they are promised, and are woken when there is room again. Both are virtual machines on the
/// nodes of one pool. room_facts() is what the tables have, make_room() decides (pure), growth.hpp carries it out, and
/// the way of each host from there is its own (host/virtual/sleep.hpp).

#include "elastic/preemption/sleep.hpp"
#include "growth/look.hpp"
#include "model/cluster.hpp"
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
  SleepBook book;
  bool any() const { return !yielding.empty(); }
};
/// An urgent host counts from `patience` after it was asked for: until then the scheduler may just not have looked.
RoomFacts room_facts(const tables::Tables& tables, const model::Cluster& cluster, TimePoint now,
                     Duration patience = std::chrono::seconds(1));

/// What is to be done now.
struct Room {
  struct Nap {
    std::string host, why;
  };
  struct Waking {
    std::string host;
    std::string to_node = {};  ///< id; empty: where it is
  };
  std::vector<Nap> sleep;
  std::vector<Waking> wake;
  std::vector<std::string> lines;  ///< for people: who sleeps, and who waits for room in vain
  SleepBook book;
  bool settled = true;  ///< nobody sleeps, or waits for room
};
/// `queue`: Slurm's, for what runs where. A Slurm job that has other hosts besides sleeps with none of them.
Room make_room(const RoomFacts& facts, const std::vector<slurm::QueuedJob>& queue, TimePoint now);

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
