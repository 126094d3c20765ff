#pragma once
/// @file
/// What goes into one decision and what comes out. A tick is a consistent look at Slurm, at the provider and at the
/// clock.

#include "elastic/explanation.hpp"
#include "elastic/policy.hpp"
#include "elastic/queue.hpp"
#include "elastic/state.hpp"

#include <optional>

namespace underway::elastic {

enum class NodePhase : std::uint8_t {
  booting,   ///< asked for, not yet registered with Slurm
  idle,      ///< takes jobs, has none
  busy,      ///< has some
  draining,  ///< takes none: we asked for that, to take it away
  asleep,    ///< suspended, with its jobs
};

/// A node of a class, as Slurm and its provider see it together. What a decision has asked for is there as booting in
/// the next tick, or an outcome says why it is not: else it is asked for once more.
struct NodeView {
  std::string name;
  std::string class_name;
  NodePhase phase = NodePhase::idle;
  std::int64_t cpus_free = 0, memory_free_mb = 0;
  TimePoint since{};    ///< in this phase
  TimePoint booted{};   ///< when it was asked for
  TimePoint free_at{};  ///< when the last of its jobs ends by its limit; the epoch: nobody knows
  std::vector<std::string> jobs;
  std::string gang;    ///< Grow::gang of what asked for it
  bool taken = false;  ///< it was taken back (TakeBack), and has not gone yet
  bool held = false;   ///< reserved: neither for jobs that wait, nor spare
};

enum class BootResult : std::uint8_t {
  up,             ///< it has registered
  refused,        ///< no host has room
  over_quota,     ///< the provider says that we may not
  control_plane,  ///< the provider's API failed: it is asked less often
  failed,         ///< it ended in error; that one takes longer than boot_timeout decide() sees by itself
  lost,           ///< it was up, and vanished without being asked to
};

struct BootOutcome {
  std::string class_name, node;
  BootResult result = BootResult::up;
  Duration uptime{};  ///< of a lost one
};

/// The owner of opportunistic capacity wants some of it back.
struct Recall {
  std::string class_name;
  std::int64_t nodes = 0;               ///< so many, whichever cost least
  std::string id = {};                  ///< whose it is, for TakeBack and Staying
  std::vector<std::string> named = {};  ///< these, and no others
};

struct Tick {
  TimePoint now{};
  /// Since the last tick, by a clock that is never set. Absent: the clock is believed, but for steps backwards.
  std::optional<Duration> elapsed;
  /// Every job that there is stands in one of the two: what was remembered of others is forgotten. Those that sleep are
  /// pending, so that nodes are made for them; those whose room is being made are pending for a reason that nodes do
  /// not cure ("JobHeldAdmin").
  std::vector<PendingJob> pending;
  std::vector<RunningJob> running;
  std::vector<NodeView> nodes;
  std::vector<BootOutcome> outcomes;  ///< since the last tick
  std::vector<Recall> recalls;        ///< since the last tick
  Money spent_today = 0, spent_this_month = 0;
  std::map<std::string, std::int64_t> warm;           ///< by class: nodes that shall be idle, as the forecast has it
  std::map<std::string, std::int64_t> reserved = {};  ///< by class: nodes that are held as soon as there are so many
                                                      ///< more, before any job has them
};

struct Grow {
  std::string class_name;
  std::int64_t count = 0;
  std::string gang;  ///< Gang::label of the job whose nodes they are; empty: anybody's
  bool operator==(const Grow&) const = default;
};
/// A node that is taken away or drained.
struct NodeAction {
  std::string node;
  std::string why;
};
/// A job that would better be moved, so that its node becomes empty.
struct Move {
  std::string job, from, to;
};
/// An opportunistic node that goes, with notice, and the jobs that have to be done again.
struct TakeBack {
  std::string node;
  TimePoint at{};
  std::vector<std::string> jobs;
  std::string recall = {};  ///< Recall::id; empty: it goes already, and a job has begun there in between
};
/// A node that is recalled in vain.
struct Staying {
  std::string node, why, recall;
};

struct Decision {
  std::vector<Grow> grow;
  std::vector<NodeAction> shrink;  ///< never one that has a job
  std::vector<NodeAction> drain;
  std::vector<std::string> undrain;  ///< there is work for it after all
  std::vector<Move> moves;
  std::vector<TakeBack> take_back;
  std::vector<Staying> staying;
  std::vector<std::string> protect;  ///< Slurm jobs that must not be put on opportunistic nodes again
  Explanation explanation;
  State state;
  TimePoint look_again{};  ///< nothing changes by time alone before; the epoch: never
};

/// What to do now. Pure: the same arguments give the same decision, and nothing else is looked at.
/// Takes O(jobs log jobs + nodes + jobs × distinct sizes of free nodes): 100,000 jobs and 10,000 nodes are decided in
/// tens of milliseconds (bench/elastic_bench).
Decision decide(const Policy& policy, const Tick& tick, const State& state);

}  // namespace underway::elastic
