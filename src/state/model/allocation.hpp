#pragma once
/// @file
/// An allocation: one group placed on one node, and how it goes there.

#include "model/job/job.hpp"
#include "model/node/device.hpp"

namespace underway::model {

enum class DesiredStatus { run, stop, evict };
enum class ClientStatus { pending, running, complete, failed, lost, unknown };
enum class TaskRunState { pending, running, dead };

/// One line of `alloc status`. Types are Nomad's: "Received", "Task Setup", "Driver Failure", "Started", "Terminated",
/// …
struct TaskEvent {
  std::string type;
  std::int64_t time = 0;  ///< ns since the epoch
  std::string message;    ///< for people
  StringMap details;
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  bool fails_task = false;
};

struct TaskState {
  TaskRunState state = TaskRunState::pending;
  bool failed = false;
  std::int64_t restarts = 0;
  std::int64_t last_restart = 0;
  std::int64_t started_at = 0;  ///< ns since the epoch; 0: never
  std::int64_t finished_at = 0;
  std::vector<TaskEvent> events;  ///< the newest ten

  bool successful() const { return state == TaskRunState::dead && !failed; }
};

struct AllocatedPort {
  std::string label;
  std::int64_t value = 0;
  std::int64_t to = 0;
  std::string host_ip;
};

struct TaskResources {
  std::int64_t cpu = 0;  ///< MHz
  std::int64_t memory_mb = 0;
  std::int64_t memory_max_mb = 0;
  std::vector<std::int64_t> cores;  ///< held alone, by id
  std::vector<AllocatedDevice> devices;
};

struct AllocatedResources {
  std::map<std::string, TaskResources> tasks;
  std::vector<AllocatedPort> ports;
  std::int64_t disk_mb = 0;
};

struct NodeScore {
  std::string node_id;
  double norm_score = 0;
  std::map<std::string, double> scores;  ///< binpack, job-anti-affinity, …
};

/// Why a group was placed where it was, or could not be placed.
struct AllocMetric {
  std::int64_t nodes_evaluated = 0;
  std::int64_t nodes_filtered = 0;
  std::int64_t nodes_in_pool = 0;
  std::map<std::string, std::int64_t> nodes_available;  ///< by datacenter
  std::map<std::string, std::int64_t> class_filtered;
  std::map<std::string, std::int64_t> constraint_filtered;  ///< by constraint, in words
  std::int64_t nodes_exhausted = 0;
  std::map<std::string, std::int64_t> class_exhausted;
  std::map<std::string, std::int64_t> dimension_exhausted;  ///< by resource, in words
  std::vector<std::string> quota_exhausted;                 ///< what the namespace's quota has too little of, in words
  std::vector<NodeScore> scores;
  Duration allocation_time{0};
  std::int64_t coalesced_failures = 0;  ///< further allocations that failed the same way
};

/// What the node found of the allocation's health, as its group's `update` (or `migrate`) measures it.
struct AllocHealth {
  std::optional<bool> healthy;
  std::int64_t timestamp = 0;  ///< when that was found, ns since the epoch
  bool canary = false;         ///< set by the server
  std::string description;     ///< why it is not healthy: "task 'main' failed: exit code 1"
  /// Its tasks run and its checks pass at this moment. `healthy` is a verdict on a version, and stands.
  bool ready = false;
};

/// Where the allocation is reached, when its group has a network of its own.
struct AllocNetworkStatus {
  std::string interface_name;  ///< in the group's network namespace
  std::string address;         ///< IPv4
  std::string address_ipv6;
  std::optional<Dns> dns;  ///< that its tasks resolve names with
};

/// One replacement in the chain that led here.
struct RescheduleEvent {
  std::int64_t time = 0;  ///< ns since the epoch
  std::string previous_allocation;
  std::string previous_node;
  Duration delay{0};
};

/// What a drain, a person or a policy asked the scheduler to do with the allocation.
struct DesiredTransition {
  bool migrate = false;
  bool reschedule = false;
  bool no_shutdown_delay = false;
  bool with_machines = false;  ///< with `migrate`: its virtual machines go along, with their memory and disks
  bool wakes = false;          ///< with `with_machines`: those that sleep go on there
  std::string to_node;         ///< with `migrate`: there or nowhere; empty: wherever it fits but where it is
};

/// Of an allocation whose tasks are virtual machines: whether they are to sleep, with their memory on their node's disk
/// and their processors and memory free for others. `wanted` is the server's, `asleep` what the node says of it.
struct AllocSleep {
  bool wanted = false;     ///< room is held again from the moment that this is taken back
  std::int64_t since = 0;  ///< when `wanted` last changed, ns since the epoch
  bool asleep = false;     ///< none of them runs
  std::string trouble;     ///< why they could not be put to sleep, or move, and run on; empty: nothing
  bool left = false;       ///< they went on elsewhere, or are given up: what is kept of them here is removed
};

enum class ArrivalPhase {
  expected,  ///< its node looks whether it can take them; they run on where they are, or sleep there
  coming,    ///< it can, and they come while they run
  ready,     ///< it can: they are put to sleep, and come when they do
  arrived,   ///< they are here, whole
  refused,   ///< its node cannot take them: they stay
  lost       ///< they are not to be had any more: it begins anew
};

/// Of an allocation that another one's virtual machines come to, with their memory and disks.
struct AllocArrival {
  std::string from;    ///< the allocation whose machines they are
  std::string origin;  ///< the one that they were first started for, of whose id their names are made
  ArrivalPhase phase = ArrivalPhase::expected;
  std::string trouble;  ///< why they were refused, or lost, or sleep although they were to come running; empty: nothing
  bool live = false;    ///< they come, or came, while they run

  bool is_under_way() const { return phase <= ArrivalPhase::ready; }
};

struct Allocation {
  std::string id;
  std::string eval_id;
  std::string name;  ///< job.group[index]
  std::string ns = "default";
  std::string node_id;
  std::string node_name;
  std::string job_id;
  std::int64_t job_version = 0;
  std::string group;
  AllocatedResources resources;
  DesiredStatus desired_status = DesiredStatus::run;
  std::string desired_description;
  ClientStatus client_status = ClientStatus::pending;
  std::string client_description;
  std::map<std::string, TaskState> task_states;
  AllocHealth health;
  std::optional<AllocNetworkStatus> network_status;
  AllocMetric metrics;
  std::string previous_allocation;
  std::string next_allocation;
  std::vector<std::string> preempted;  ///< allocations that made way for it
  std::string preempted_by;            ///< the allocation that it made way for
  std::string deployment_id;           ///< the rollout that it is part of
  std::string follow_up_eval;          ///< the evaluation that will replace it
  DesiredTransition transition;
  std::vector<RescheduleEvent> reschedules;  ///< oldest first
  /// Since when its node is not heard of, ns since the epoch; 0: it is. Stays when the node comes back to find that
  /// something has taken its place, until it is decided which of them goes on.
  std::int64_t unknown_since = 0;
  std::optional<AllocSleep> sleep;      ///< absent: it was never asked to
  std::optional<AllocArrival> arrival;  ///< absent: no machines come to it from elsewhere
  std::int64_t create_time = 0;
  std::int64_t modify_time = 0;
  Revision create_index = 0;
  Revision modify_index = 0;
  Revision alloc_modify_index = 0;  ///< last change by the server, not by the node

  /// The version of the job it was placed for; shared by all its allocations, never stored with them.
  std::shared_ptr<const Job> job;

  /// Finished on the node, whatever was wanted.
  bool client_terminal() const {
    return client_status == ClientStatus::complete || client_status == ClientStatus::failed ||
           client_status == ClientStatus::lost;
  }
  /// Not wanted any more.
  bool server_terminal() const { return desired_status != DesiredStatus::run; }
  /// Holds no resources: finished, or not wanted.
  bool terminal() const { return client_terminal() || server_terminal(); }
  /// As far as anybody knows: not while its node is not heard of. `healthy` is the verdict on its version, `ready` says
  /// that it does what it is for now: others may depend on it.
  bool is_healthy() const { return health.healthy.value_or(false) && heard_of(); }
  bool is_ready() const { return health.ready && heard_of(); }
  bool heard_of() const { return !terminal() && client_status != ClientStatus::unknown; }
  /// Is to sleep, and does: of its resources it holds nothing but the disk, ports and volumes.
  bool sleeps() const { return sleep && sleep->wanted && sleep->asleep; }
  /// Machines that are on their way to it: nothing of it is started before they are there.
  bool awaits_machines() const { return arrival && arrival->is_under_way(); }
  /// Not wanted where it is any more, and its machines are not where they are to go yet.
  bool is_leaving() const {
    return desired_status == DesiredStatus::stop && transition.with_machines && !client_terminal() &&
           !(sleep && sleep->left);
  }
  /// The number in its name, "web.api[3]" → 3; -1 when the name has none.
  std::int64_t index() const;
};

/// "job.group[index]".
std::string allocation_name(std::string_view job_id, std::string_view group, std::int64_t index);

/// What holds for it when its node is not heard of, by the version of the job that it runs. Without that: it is lost.
DisconnectPolicy disconnect_policy(const Allocation& allocation);
/// As its group says.
bool runs_once(const Allocation& allocation);
/// Whether one that runs once may run at this moment, or be about to: its node has not told that it ended, whether it
/// is wanted or not. One whose machines are still on their way to it does not.
bool may_run_still(const Allocation& allocation);

/// What became of the wish that an allocation's machines sleep, or sleep no more.
struct AllocSleepReport {
  std::int64_t of = 0;  ///< AllocSleep::since of that wish: an answer to an earlier one says nothing of it
  bool asleep = false;
  std::string trouble;  ///< why they run on; empty: nothing
};

/// What a node says of machines that come to it.
struct AllocArrivalReport {
  ArrivalPhase phase = ArrivalPhase::expected;
  std::string trouble;  ///< why they are refused, or lost, or have to sleep
};

/// What a node reports of one allocation, over the link.
struct AllocationUpdate {
  std::string id;
  ClientStatus client_status = ClientStatus::pending;
  std::string client_description;
  std::map<std::string, TaskState> task_states;
  AllocHealth health;
  /// What `health.healthy` was measured for: it says nothing of another version or rollout. Absent: of the present
  /// ones.
  std::optional<std::int64_t> job_version;
  std::string deployment_id;
  std::optional<AllocNetworkStatus> network_status;
  std::optional<AllocSleepReport> sleep;      ///< absent: it was never asked to
  std::optional<AllocArrivalReport> arrival;  ///< absent: no machines come to it
};

const describe::Enumeration& description(describe::Tag<DesiredStatus>);
const describe::Enumeration& description(describe::Tag<ClientStatus>);
const describe::Enumeration& description(describe::Tag<TaskRunState>);
const describe::Enumeration& description(describe::Tag<ArrivalPhase>);
const describe::Structure& description(describe::Tag<TaskEvent>);
const describe::Structure& description(describe::Tag<TaskState>);
const describe::Structure& description(describe::Tag<AllocatedPort>);
const describe::Structure& description(describe::Tag<TaskResources>);
const describe::Structure& description(describe::Tag<AllocatedResources>);
const describe::Structure& description(describe::Tag<NodeScore>);
const describe::Structure& description(describe::Tag<AllocMetric>);
const describe::Structure& description(describe::Tag<AllocHealth>);
const describe::Structure& description(describe::Tag<AllocNetworkStatus>);
const describe::Structure& description(describe::Tag<RescheduleEvent>);
const describe::Structure& description(describe::Tag<DesiredTransition>);
const describe::Structure& description(describe::Tag<AllocSleep>);
const describe::Structure& description(describe::Tag<AllocSleepReport>);
const describe::Structure& description(describe::Tag<AllocArrival>);
const describe::Structure& description(describe::Tag<AllocArrivalReport>);
const describe::Structure& description(describe::Tag<Allocation>);
const describe::Structure& description(describe::Tag<AllocationUpdate>);

}  // namespace underway::model
