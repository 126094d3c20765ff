#include "model/allocation.hpp"

#include "base/numbers.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

std::int64_t Allocation::index() const {
  const std::size_t open = name.rfind('[');
  return open == std::string::npos ? -1 : leading_number_or<std::int64_t>(std::string_view(name).substr(open + 1), -1);
}

std::string allocation_name(std::string_view job_id, std::string_view group, std::int64_t index) {
  return fmt::format("{}.{}[{}]", job_id, group, index);
}

DisconnectPolicy disconnect_policy(const Allocation& allocation) {
  const TaskGroup* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  return group == nullptr ? DisconnectPolicy{} : disconnect_policy(*allocation.job, *group);
}

bool runs_once(const Allocation& allocation) {
  const TaskGroup* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  return group != nullptr && runs_once(*allocation.job, *group);
}

bool may_run_still(const Allocation& allocation) {
  return !allocation.client_terminal() && !allocation.awaits_machines() && runs_once(allocation);
}

const Enumeration& description(Tag<DesiredStatus>) {
  static const Enumeration e = describe::enumeration<DesiredStatus>("desired status");
  return e;
}
const Enumeration& description(Tag<ClientStatus>) {
  static const Enumeration e = describe::enumeration<ClientStatus>("client status");
  return e;
}
const Enumeration& description(Tag<TaskRunState>) {
  static const Enumeration e = describe::enumeration<TaskRunState>("task state");
  return e;
}
const Enumeration& description(Tag<ArrivalPhase>) {
  static const Enumeration e = describe::enumeration<ArrivalPhase>("phase of an arrival");
  return e;
}

const Structure& description(Tag<TaskEvent>) {
  static const Structure s =
      Builder<TaskEvent>("event", "Something that happened to a task.")
          .wire<&TaskEvent::type>("Type", "What happened, in Nomad's words: `Received`, `Started`, `Terminated`, …")
          .wire<&TaskEvent::time>("Time", "Unix time in nanoseconds.")
          .wire<&TaskEvent::message>("DisplayMessage", "What happened, for people.")
          .wire<&TaskEvent::details>("Details", "More about it, by name: `exit_code`, `signal`, `error`, …")
          .wire<&TaskEvent::exit_code>("ExitCode", "Of the program that ended; 0 in events of other types.")
          .wire<&TaskEvent::signal>("Signal", "Number of the signal that ended the program; 0: none did.")
          .wire<&TaskEvent::fails_task>("FailsTask", "Whether the task has failed by it.")
          .done();
  return s;
}

const Structure& description(Tag<TaskState>) {
  static const Structure s =
      Builder<TaskState>("task state", "How a task goes.")
          .wire<&TaskState::state>("State", "`pending`, `running` or `dead`; `dead`: it is not started again.")
          .wire<&TaskState::failed>("Failed", "Whether it has ended as it should not.")
          .wire<&TaskState::restarts>("Restarts", "How often it was restarted.")
          .wire<&TaskState::last_restart>("LastRestart", "When it was last restarted; none: never.")
          .time()
          .wire<&TaskState::started_at>("StartedAt", "When it was last started; none: never.")
          .time()
          .wire<&TaskState::finished_at>("FinishedAt", "When it ended; none: it has not.")
          .time()
          .wire<&TaskState::events>("Events", "The newest ten, oldest first.")
          .done();
  return s;
}

const Structure& description(Tag<AllocatedPort>) {
  static const Structure s =
      Builder<AllocatedPort>("port", "A port given to an allocation.")
          .wire<&AllocatedPort::label>("Label", "The port's label in the job.")
          .wire<&AllocatedPort::value>("Value", "Port on the node.")
          .wire<&AllocatedPort::to>("To", "Port inside the group's network that it leads to; 0: the same.")
          .wire<&AllocatedPort::host_ip>("HostIP", "The node's address that the port is on.")
          .done();
  return s;
}

const Structure& description(Tag<TaskResources>) {
  static const Structure s =
      Builder<TaskResources>("resources", "What a task was given.")
          .wire<&TaskResources::cpu>("Cpu.CpuShares", "MHz that the task was given.")
          .wire<&TaskResources::cores>("Cpu.ReservedCores",
                                       "IDs of the cores that it holds alone; none: it shares them.")
          .wire<&TaskResources::memory_mb>("Memory.MemoryMB", "MiB that the task was given.")
          .wire<&TaskResources::memory_max_mb>(
              "Memory.MemoryMaxMB", "MiB that it may take at most where there is room; 0: what it was given.")
          .wire<&TaskResources::devices>("Devices", "Devices that it holds alone.")
          .done();
  return s;
}

const Structure& description(Tag<AllocatedResources>) {
  static const Structure s =
      Builder<AllocatedResources>("allocated resources", "What an allocation was given.")
          .wire<&AllocatedResources::tasks>("Tasks", "By the task's name.")
          .wire<&AllocatedResources::ports>("Shared.Ports", "Ports of the group.")
          .wire<&AllocatedResources::disk_mb>("Shared.DiskMB", "MiB of the node's disk that the group's tasks share.")
          .done();
  return s;
}

const Structure& description(Tag<NodeScore>) {
  static const Structure s =
      Builder<NodeScore>("score", "A node's score.")
          .wire<&NodeScore::node_id>("NodeID", "ID of the node.")
          .wire<&NodeScore::norm_score>("NormScore", "What the node was chosen by: the mean of the scores.")
          .wire<&NodeScore::scores>("Scores", "By what was judged: `binpack`, `job-anti-affinity`, `node-affinity`, …")
          .done();
  return s;
}

const Structure& description(Tag<AllocMetric>) {
  static const Structure s =
      Builder<AllocMetric>("metrics", "How a placement was found, or why none was.")
          .wire<&AllocMetric::nodes_evaluated>("NodesEvaluated",
                                               "Ready nodes of the job's pool and datacenters, which were looked at.")
          .wire<&AllocMetric::nodes_filtered>("NodesFiltered",
                                              "Of those looked at, the ones that a constraint rules out.")
          .wire<&AllocMetric::nodes_in_pool>("NodesInPool", "Ready nodes of the job's node pool.")
          .wire<&AllocMetric::nodes_available>("NodesAvailable", "Ready nodes of the job's pool, by datacenter.")
          .wire<&AllocMetric::class_filtered>("ClassFiltered", "Nodes that a constraint rules out, by node class.")
          .wire<&AllocMetric::constraint_filtered>("ConstraintFiltered",
                                                   "Nodes that a constraint rules out, by constraint, in words.")
          .wire<&AllocMetric::nodes_exhausted>("NodesExhausted", "Nodes that would do and have too little left.")
          .wire<&AllocMetric::class_exhausted>("ClassExhausted", "Nodes that have too little left, by node class.")
          .wire<&AllocMetric::dimension_exhausted>("DimensionExhausted",
                                                   "Nodes that have too little left, by what they lack, in words.")
          .wire<&AllocMetric::quota_exhausted>(
              "QuotaExhausted", "What the namespace's quota has too little of, in words; none: it has room.")
          .wire<&AllocMetric::scores>("ScoreMetaData",
                                      "The node that was chosen, with its scores; none: there was no place.")
          .wire<&AllocMetric::allocation_time>("AllocationTime",
                                               "Kept for Nomad's clients: always 0, it is not measured.")
          .wire<&AllocMetric::coalesced_failures>("CoalescedFailures",
                                                  "Further allocations of the group that failed the same way.")
          .done();
  return s;
}

const Structure& description(Tag<AllocHealth>) {
  static const Structure s =
      Builder<AllocHealth>("health", "Health as the node found it.")
          .wire<&AllocHealth::healthy>("Healthy", "What the node found of the version; null: nothing yet.")
          .wire<&AllocHealth::timestamp>("Timestamp", "When that was found.")
          .time()
          .wire<&AllocHealth::canary>("Canary", "Whether it is a canary of its rollout; set by the server.")
          .wire<&AllocHealth::description>("Description", "Why it is not healthy, for people; empty: nothing is wrong.")
          .wire<&AllocHealth::ready>("Ready", "Whether its tasks run and its checks pass at this moment.")
          .done();
  return s;
}

const Structure& description(Tag<AllocNetworkStatus>) {
  static const Structure s =
      Builder<AllocNetworkStatus>("allocation network status",
                                  "Where an allocation with a network of its own is reached.")
          .wire<&AllocNetworkStatus::interface_name>("InterfaceName",
                                                     "The interface inside the group's network namespace.")
          .wire<&AllocNetworkStatus::address>("Address", "Its IPv4 address; empty: none.")
          .wire<&AllocNetworkStatus::address_ipv6>("AddressIPv6", "Its IPv6 address; empty: none.")
          .wire<&AllocNetworkStatus::dns>("DNS", "What its tasks resolve names with; absent: what the node does.")
          .done();
  return s;
}

const Structure& description(Tag<RescheduleEvent>) {
  static const Structure s =
      Builder<RescheduleEvent>("reschedule event", "One replacement in the chain that led to an allocation.")
          .wire<&RescheduleEvent::time>("RescheduleTime", "Unix time in nanoseconds of the replacement.")
          .wire<&RescheduleEvent::previous_allocation>("PrevAllocID", "ID of the allocation that was replaced.")
          .wire<&RescheduleEvent::previous_node>("PrevNodeID", "ID of the node on which that was.")
          .wire<&RescheduleEvent::delay>("Delay", "How long the replacement was put off, in nanoseconds.")
          .done();
  return s;
}

const Structure& description(Tag<DesiredTransition>) {
  static const Structure s =
      Builder<DesiredTransition>("desired transition",
                                 "What a drain, a person or a policy asked the scheduler to do with an allocation.")
          .wire<&DesiredTransition::migrate>("Migrate", "Whether another takes its place, on a node that may have it.")
          .wire<&DesiredTransition::reschedule>(
              "Reschedule", "Whether it is replaced once it has failed, whatever its group's policy says.")
          .wire<&DesiredTransition::no_shutdown_delay>("NoShutdownDelay",
                                                       "Whether it is stopped without its shutdown delay.")
          .wire<&DesiredTransition::with_machines>(
              "WithMachines", "With Migrate: whether its virtual machines go along, with their memory and disks.")
          .wire<&DesiredTransition::wakes>("Wakes", "With WithMachines: whether those that sleep go on there.")
          .wire<&DesiredTransition::to_node>(
              "ToNode", "With Migrate: ID of the only node that it may go to; empty: any but its own.")
          .done();
  return s;
}

const Structure& description(Tag<AllocSleep>) {
  static const Structure s =
      Builder<AllocSleep>("sleep of an allocation", "Whether its virtual machines sleep.")
          .wire<&AllocSleep::wanted>("Wanted", "Whether they are to sleep.")
          .wire<&AllocSleep::since>("Since", "Unix time in nanoseconds at which that was last asked for.")
          .wire<&AllocSleep::asleep>("Asleep", "Whether they do: none of them runs.")
          .wire<&AllocSleep::trouble>("Trouble",
                                      "Why they could not be put to sleep, or move, and run on; empty: nothing.")
          .wire<&AllocSleep::left>("Left", "Whether they went on elsewhere, or are given up.")
          .done();
  return s;
}

const Structure& description(Tag<AllocSleepReport>) {
  static const Structure s =
      Builder<AllocSleepReport>("sleep report", "What became of the wish that machines sleep.")
          .wire<&AllocSleepReport::of>("Of", "When that was asked for, Unix time in nanoseconds.")
          .wire<&AllocSleepReport::asleep>("Asleep", "Whether none of them runs.")
          .wire<&AllocSleepReport::trouble>("Trouble", "Why they run on; empty: nothing.")
          .done();
  return s;
}

const Structure& description(Tag<AllocArrival>) {
  static const Structure s =
      Builder<AllocArrival>("arrival", "Virtual machines that come to an allocation, with their memory and disks.")
          .wire<&AllocArrival::from>("From", "ID of the allocation whose machines they are.")
          .wire<&AllocArrival::origin>(
              "Origin", "ID of the allocation that they were first started for, of which their names are made.")
          .wire<&AllocArrival::phase>("Phase",
                                      "`expected`: its node looks whether it can take them. `coming`: it can, and "
                                      "they come while they run. `ready`: they are put to sleep for it. `arrived`: "
                                      "they are here, whole. `refused`: they stay where "
                                      "they are. `lost`: they are not to be had, and it begins anew.")
          .wire<&AllocArrival::trouble>("Trouble", "Why they were refused, lost, or put to sleep; empty: nothing.")
          .wire<&AllocArrival::live>("Live", "Whether they come, or came, while they run.")
          .done();
  return s;
}

const Structure& description(Tag<AllocArrivalReport>) {
  static const Structure s =
      Builder<AllocArrivalReport>("arrival report", "What a node says of machines that come.")
          .wire<&AllocArrivalReport::phase>("Phase", "As of an arrival.")
          .wire<&AllocArrivalReport::trouble>("Trouble", "Why they are refused, lost, or have to sleep.")
          .done();
  return s;
}

const Structure& description(Tag<Allocation>) {
  static const Structure s =
      Builder<Allocation>("allocation", "One group placed on one node.")
          .wire<&Allocation::id>("ID", "UUID.")
          .wire<&Allocation::eval_id>("EvalID", "ID of the evaluation that placed it, or last gave it another version.")
          .wire<&Allocation::name>("Name", "`<job>.<group>[<index>]`; the index counts from 0.")
          .wire<&Allocation::ns>("Namespace", "Namespace of its job.")
          .wire<&Allocation::node_id>("NodeID", "ID of the node that it was placed on.")
          .wire<&Allocation::node_name>("NodeName", "Name of that node.")
          .wire<&Allocation::job_id>("JobID", "ID of its job.")
          .wire<&Allocation::job_version>("JobVersion", "Version of the job that it runs.")
          .wire<&Allocation::group>("TaskGroup", "The group of the job that it runs.")
          .wire<&Allocation::resources>("AllocatedResources", "What it was given of the node.")
          .wire<&Allocation::desired_status>(
              "DesiredStatus", "What the server wants: `run`, `stop`, or `evict`, as another took its place.")
          .wire<&Allocation::desired_description>("DesiredDescription", "Why that is wanted, for people.")
          .wire<&Allocation::client_status>("ClientStatus",
                                            "How it goes: `pending`, `running`, `complete`, `failed`, `lost` with its "
                                            "node, or `unknown` while it is silent.")
          .wire<&Allocation::client_description>("ClientDescription", "Why it is so, for people.")
          .wire<&Allocation::task_states>("TaskStates", "How its tasks go, by name; none before the node has told.")
          .wire<&Allocation::health>("DeploymentStatus", "What the node found of its health.")
          .wire<&Allocation::network_status>("NetworkStatus",
                                             "Where it is reached; absent: its group has no network of its own.")
          .wire<&Allocation::metrics>("Metrics", "Why it was placed where it is.")
          .wire<&Allocation::previous_allocation>("PreviousAllocation", "ID of the one that it replaces; empty: none.")
          .wire<&Allocation::next_allocation>("NextAllocation", "ID of the one that replaces it; empty: none.")
          .wire<&Allocation::preempted>("PreemptedAllocations", "IDs of the allocations that made way for it.")
          .wire<&Allocation::preempted_by>("PreemptedByAllocation",
                                           "ID of the allocation that it made way for; empty: none.")
          .wire<&Allocation::deployment_id>("DeploymentID", "ID of the rollout that it is part of; empty: none.")
          .wire<&Allocation::follow_up_eval>("FollowupEvalID",
                                             "ID of the evaluation that will replace it; empty: none.")
          .wire<&Allocation::transition>("DesiredTransition", "What the scheduler was asked to do with it.")
          .wire<&Allocation::reschedules>("RescheduleTracker.Events", "The replacements that led to it, oldest first.")
          .wire<&Allocation::unknown_since>("UnknownSince",
                                            "Unix time in nanoseconds since which its node is not heard of; 0: it is.")
          .wire<&Allocation::sleep>("Sleep", "Whether its virtual machines sleep; absent: they were never asked to.")
          .wire<&Allocation::arrival>("Arrival", "Machines that come to it from elsewhere; absent: none do.")
          .wire<&Allocation::create_time>("CreateTime", "Unix time in nanoseconds at which it was placed.")
          .wire<&Allocation::modify_time>("ModifyTime", "Unix time in nanoseconds at which it last changed.")
          .wire<&Allocation::create_index>("CreateIndex", "Revision in which it was placed.")
          .wire<&Allocation::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .wire<&Allocation::alloc_modify_index>("AllocModifyIndex",
                                                 "Revision in which the server, not the node, last changed it.")
          .done();
  return s;
}

const Structure& description(Tag<AllocationUpdate>) {
  static const Structure s =
      Builder<AllocationUpdate>("allocation update", "What a node reports of an allocation.")
          .wire<&AllocationUpdate::id>("ID", "ID of the allocation.")
          .wire<&AllocationUpdate::client_status>("ClientStatus", "How it goes on the node.")
          .wire<&AllocationUpdate::client_description>("ClientDescription", "Why it is so, for people.")
          .wire<&AllocationUpdate::task_states>("TaskStates", "How its tasks go, by name.")
          .wire<&AllocationUpdate::health>("DeploymentStatus", "What the node found of its health.")
          .wire<&AllocationUpdate::job_version>(
              "JobVersion", "Version of the job whose health was measured; absent: the present one.")
          .wire<&AllocationUpdate::deployment_id>("DeploymentID",
                                                  "ID of the rollout in which it was measured; empty: none.")
          .wire<&AllocationUpdate::network_status>("NetworkStatus",
                                                   "Where it is reached; absent: its group has no network of its own.")
          .wire<&AllocationUpdate::sleep>("Sleep", "Whether its machines sleep; absent: they were never asked to.")
          .wire<&AllocationUpdate::arrival>("Arrival", "How far machines are that come to it; absent: none do.")
          .done();
  return s;
}

}  // namespace underway::model
