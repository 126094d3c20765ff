#pragma once
/// @file
/// From what the tables and Slurm say at one moment to what the pools of a cluster are to have. Pure; growth.hpp
/// carries it out, looks again, and so on.

#include <algorithm>

#include "elastic/tick.hpp"
#include "growth/forecast/trial.hpp"
#include "growth/memory.hpp"
#include "growth/notice_book.hpp"
#include "growth/status.hpp"
#include "model/cluster.hpp"
#include "model/elastic/recall.hpp"
#include "server/request.hpp"
#include "slurm/elastic/job_queue.hpp"
#include "slurm/elastic/redo.hpp"
#include "slurm/elastic/reservation.hpp"

namespace underway::growth {

/// A host of a pool that grows, as the tables have it.
struct HostFacts {
  std::string name, pool;
  model::HostStatus status = model::HostStatus::pending;
  bool placed = true;           ///< of provider "qemu": a node has its machine, or is to have it
  bool admitted = false;        ///< Slurm was told of it, and its slurmd may run
  bool asleep = false;          ///< or is falling asleep, or waking
  bool sleeps = false;          ///< its machine does
  bool room_comes = false;      ///< others fall asleep for it
  std::int64_t created_at = 0;  ///< ns since the epoch
};
/// No node has had room for its machine for so long that none is expected to, and nobody makes any.
bool has_no_room(const HostFacts& host, TimePoint asked, TimePoint now);

/// A pool that grows.
struct PoolFacts {
  elastic::PoolClass type;
  std::vector<std::string> all_names;  ///< of hosts that it may ever have
  model::PoolHosts hosts;              ///< that it is to have, by the newest decision
  std::set<std::string> always = {};   ///< names of those that Slurm has no say in, where it asks itself

  /// Slurm itself asks for its hosts (asked.hpp): they count and cost, and the policy does not decide about them.
  bool by_slurm() const { return type.asked_by == model::AskedBy::slurm; }
};

/// A cluster that has such pools.
struct ClusterFacts {
  std::string name;
  model::ElasticPolicy policy;
  std::vector<PoolFacts> pools;
  std::vector<HostFacts> hosts;  ///< of these pools
  Memory memory;
  std::vector<model::Recall> recalls;  ///< in force
  NoticeBook notices;
  bool room_lacks = false;  ///< an urgent host waits for room
  std::optional<ForecastTrial> trial = {};

  /// Whether hosts may be about to be taken back.
  bool takes() const {
    return room_lacks || std::any_of(recalls.begin(), recalls.end(), [](const auto& it) { return !it.decided(); });
  }
};
ClusterFacts facts_of(const tables::Tables& tables, const model::Cluster& cluster);

/// A host as it was at a look.
struct Seen {
  elastic::NodePhase phase = elastic::NodePhase::booting;
  TimePoint since{};  ///< in this phase
};

/// What Slurm says.
struct SlurmLook {
  std::vector<slurm::QueuedJob> queue;
  std::vector<slurm::NodeRecord> records;
  std::vector<slurm::RedoFacts> redo = {};  ///< of jobs on hosts that may be taken back (asked_about, notices.hpp)
  std::optional<std::vector<slurm::Reservation>> reservations = {};  ///< nothing: it was not asked
};

/// A pool that Slurm itself asks for, with the partitions that have its nodes.
struct AskedPool {
  std::string pool;
  std::set<std::string> partitions;
};

struct Outlook {
  std::vector<model::PoolHosts> pools;  ///< those that are to have other hosts than before
  std::vector<AskedPool> asked;
  Memory memory;
  std::map<std::string, Seen> hosts;
  std::vector<model::Recall> recalls;  ///< that were decided
  NoticeBook notices;
  std::map<std::string, slurm::Command> reserve;  ///< by reservation: what Slurm is told, once the rest is written down
  Status status;
  elastic::Explanation explanation;  ///< of all jobs; `status` has the first of it
  std::int64_t asked_for = 0, given_back = 0, failed_boots = 0, taken_back = 0;
  bool settled = true;  ///< nothing waits, comes or goes
};
/// `before`: hosts as they were at the look before. `elapsed`: since then, by a clock that is never set; absent: there
/// was none.
Outlook think(const ClusterFacts& facts, const SlurmLook& slurm, const std::map<std::string, Seen>& before,
              TimePoint now, std::optional<Duration> elapsed);

/// So many kinds of jobs are in a status: whoever submits jobs decides how many there are.
inline constexpr std::size_t kMostShapesTold = 100;

/// Why a job waits, of the newest decision.
JobExplanation explain(const std::string& cluster, const elastic::Explanation& explanation,
                       const std::vector<slurm::QueuedJob>& queue, const std::string& job,
                       const std::vector<AskedPool>& asked = {});

/// What was decided is written down.
struct NoteGrowth {
  std::string cluster;
  std::vector<model::PoolHosts> pools;
  Memory memory;
  std::vector<model::Recall> recalls = {};
  NoticeBook notices = {};
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteGrowth& request,
                                         const server::Context& context);

/// Forgets what is known of pools and clusters that do not grow any more.
struct ForgetGrowth {};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const ForgetGrowth& request,
                                         const server::Context& context);
/// Whether there is any.
bool anything_to_forget(const tables::Tables& tables);

}  // namespace underway::growth
