#pragma once
/// @file
/// What an agent needs to find its allocations again after SIGKILL: two small files per allocation, replaced by rename,
///     <data_dir>/node/allocations/<id>/order.json   what the server wants: the allocation, its job, whether to start
///     <data_dir>/node/allocations/<id>/state.json   how far its tasks are, with their drivers' handles
/// Both are compact JSON, mode 0600: StoredOrder and AllocationState, with the names that their descriptions give
/// (state_file.cpp). Fields that have their default are left out; one that is not known is passed over, so that an
/// agent reads what an older or newer one wrote. They survive the death of the agent; after a power failure the tasks
/// are gone too, and the server sends orders anew, so neither is flushed to the disk: a write costs microseconds and
/// may be done on the loop.

#include <optional>
#include <string>
#include <vector>

#include "model/allocation.hpp"
#include "node/allocation/health.hpp"
#include "node/allocation/restart_tracker.hpp"
#include "protocol/messages.hpp"

namespace underway::node {

/// How far a task is. Written before the next step is taken.
struct TaskRecord {
  model::TaskState state;
  std::int64_t restart_count = 0;           ///< RestartCounters
  std::int64_t restart_interval_start = 0;  ///< RestartCounters
  std::int64_t attempt = 0;                 ///< how often it was handed to the driver
  /// The driver may have started `attempt`: set before it is asked, cleared when the end was seen.
  bool launched = false;
  std::string boot;           ///< boot_mark() when it was handed to it
  boost::json::value handle;  ///< the driver's; null until it answered
  bool stopping = false;      ///< it was told to stop
  std::string kept_in;        ///< of a machine, since it last ran: RunningTask::kept_in()
  std::string restore;        ///< the checkpoint that its machine goes back to at its next start
  std::string sent_to;        ///< the allocation that its machine is being sent to while it runs, or was
  bool target = false;        ///< `attempt` takes in a machine that is sent here, and stands still
  TaskFailures failures;      ///< ends that nobody asked for, and starts that came to nothing
};

struct AllocationState {
  std::map<std::string, TaskRecord> tasks;
  model::AllocHealth health;
  HealthMeasure measure;
  std::map<std::string, model::CheckResult> checks;  ///< by id; as of the newest change of a status
  bool destroy = false;                              ///< the server has forgotten it
  bool disk_settled = false;                         ///< nothing of its predecessor's disk is to come any more
  /// How far machines are that come to it; absent: nobody has looked.
  std::optional<model::AllocArrivalReport> arrival;
  bool begins_anew = false;  ///< what runs of it is being stopped, so that all begins again
};

struct StoredOrder {
  protocol::AllocationOrder order;
  model::Job job;
  std::string boot;              ///< boot_mark() when it came
  protocol::Origin origin = {};  ///< of the message that brought it
};

/// Names this boot of the machine, or of the local host: its kernel's, and its first process.
std::string boot_mark();
/// The order as an agent finds it in this boot: one that is guarded and came in an earlier one starts nothing.
StoredOrder as_found(StoredOrder order, const std::string& boot);

struct StoredAllocation {
  StoredOrder order;  ///< order.allocation.job is set
  AllocationState state;
};

class StateFiles {
 public:
  /// `data_dir` exists. Makes what is missing below it.
  explicit StateFiles(const std::string& data_dir);

  void write_order(const std::string& id, const StoredOrder& order);
  void write_state(const std::string& id, const AllocationState& state);
  void remove(const std::string& id);

  /// Everything that can be read. What cannot (a disk error: rename leaves no half files) is named in `problems`
  /// and left out.
  std::vector<StoredAllocation> read_all(std::vector<std::string>& problems) const;

 private:
  std::string directory(const std::string& id) const { return root_ + "/" + id; }
  std::string root_;
};

const describe::Structure& description(describe::Tag<TaskRecord>);
const describe::Structure& description(describe::Tag<AllocationState>);
const describe::Structure& description(describe::Tag<StoredOrder>);

}  // namespace underway::node
