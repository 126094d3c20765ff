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

const Structure& description(Tag<TaskEvent>) {
  static const Structure s = Builder<TaskEvent>("event", "Something that happened to a task.")
                                 .wire<&TaskEvent::type>("Type", "")
                                 .wire<&TaskEvent::time>("Time", "")
                                 .wire<&TaskEvent::message>("DisplayMessage", "")
                                 .wire<&TaskEvent::details>("Details", "")
                                 .wire<&TaskEvent::exit_code>("ExitCode", "")
                                 .wire<&TaskEvent::signal>("Signal", "")
                                 .wire<&TaskEvent::fails_task>("FailsTask", "")
                                 .done();
  return s;
}

const Structure& description(Tag<TaskState>) {
  static const Structure s = Builder<TaskState>("task state", "How a task goes.")
                                 .wire<&TaskState::state>("State", "")
                                 .wire<&TaskState::failed>("Failed", "")
                                 .wire<&TaskState::restarts>("Restarts", "")
                                 .wire<&TaskState::last_restart>("LastRestart", "")
                                 .time()
                                 .wire<&TaskState::started_at>("StartedAt", "")
                                 .time()
                                 .wire<&TaskState::finished_at>("FinishedAt", "")
                                 .time()
                                 .wire<&TaskState::events>("Events", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocatedPort>) {
  static const Structure s = Builder<AllocatedPort>("port", "A port given to an allocation.")
                                 .wire<&AllocatedPort::label>("Label", "")
                                 .wire<&AllocatedPort::value>("Value", "")
                                 .wire<&AllocatedPort::to>("To", "")
                                 .wire<&AllocatedPort::host_ip>("HostIP", "")
                                 .done();
  return s;
}

const Structure& description(Tag<TaskResources>) {
  static const Structure s = Builder<TaskResources>("resources", "What a task was given.")
                                 .wire<&TaskResources::cpu>("Cpu.CpuShares", "")
                                 .wire<&TaskResources::cores>("Cpu.ReservedCores", "")
                                 .wire<&TaskResources::memory_mb>("Memory.MemoryMB", "")
                                 .wire<&TaskResources::memory_max_mb>("Memory.MemoryMaxMB", "")
                                 .wire<&TaskResources::devices>("Devices", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocatedResources>) {
  static const Structure s = Builder<AllocatedResources>("allocated resources", "What an allocation was given.")
                                 .wire<&AllocatedResources::tasks>("Tasks", "")
                                 .wire<&AllocatedResources::ports>("Shared.Ports", "")
                                 .wire<&AllocatedResources::disk_mb>("Shared.DiskMB", "")
                                 .done();
  return s;
}

const Structure& description(Tag<NodeScore>) {
  static const Structure s = Builder<NodeScore>("score", "A node's score.")
                                 .wire<&NodeScore::node_id>("NodeID", "")
                                 .wire<&NodeScore::norm_score>("NormScore", "")
                                 .wire<&NodeScore::scores>("Scores", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocMetric>) {
  static const Structure s = Builder<AllocMetric>("metrics", "How a placement was found, or why none was.")
                                 .wire<&AllocMetric::nodes_evaluated>("NodesEvaluated", "")
                                 .wire<&AllocMetric::nodes_filtered>("NodesFiltered", "")
                                 .wire<&AllocMetric::nodes_in_pool>("NodesInPool", "")
                                 .wire<&AllocMetric::nodes_available>("NodesAvailable", "")
                                 .wire<&AllocMetric::class_filtered>("ClassFiltered", "")
                                 .wire<&AllocMetric::constraint_filtered>("ConstraintFiltered", "")
                                 .wire<&AllocMetric::nodes_exhausted>("NodesExhausted", "")
                                 .wire<&AllocMetric::class_exhausted>("ClassExhausted", "")
                                 .wire<&AllocMetric::dimension_exhausted>("DimensionExhausted", "")
                                 .wire<&AllocMetric::quota_exhausted>("QuotaExhausted", "")
                                 .wire<&AllocMetric::scores>("ScoreMetaData", "")
                                 .wire<&AllocMetric::allocation_time>("AllocationTime", "")
                                 .wire<&AllocMetric::coalesced_failures>("CoalescedFailures", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocHealth>) {
  static const Structure s = Builder<AllocHealth>("health", "Health as the node found it.")
                                 .wire<&AllocHealth::healthy>("Healthy", "")
                                 .wire<&AllocHealth::timestamp>("Timestamp", "")
                                 .time()
                                 .wire<&AllocHealth::canary>("Canary", "")
                                 .wire<&AllocHealth::description>("Description", "")
                                 .wire<&AllocHealth::ready>("Ready", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocNetworkStatus>) {
  static const Structure s = Builder<AllocNetworkStatus>("allocation network status",
                                                         "Where an allocation with a network of its own is reached.")
                                 .wire<&AllocNetworkStatus::interface_name>("InterfaceName", "")
                                 .wire<&AllocNetworkStatus::address>("Address", "")
                                 .wire<&AllocNetworkStatus::address_ipv6>("AddressIPv6", "")
                                 .wire<&AllocNetworkStatus::dns>("DNS", "")
                                 .done();
  return s;
}

const Structure& description(Tag<RescheduleEvent>) {
  static const Structure s = Builder<RescheduleEvent>("reschedule event", "")
                                 .wire<&RescheduleEvent::time>("RescheduleTime", "")
                                 .wire<&RescheduleEvent::previous_allocation>("PrevAllocID", "")
                                 .wire<&RescheduleEvent::previous_node>("PrevNodeID", "")
                                 .wire<&RescheduleEvent::delay>("Delay", "")
                                 .done();
  return s;
}

const Structure& description(Tag<DesiredTransition>) {
  static const Structure s = Builder<DesiredTransition>("desired transition", "")
                                 .wire<&DesiredTransition::migrate>("Migrate", "")
                                 .wire<&DesiredTransition::reschedule>("Reschedule", "")
                                 .wire<&DesiredTransition::no_shutdown_delay>("NoShutdownDelay", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Allocation>) {
  static const Structure s = Builder<Allocation>("allocation", "One group placed on one node.")
                                 .wire<&Allocation::id>("ID", "")
                                 .wire<&Allocation::eval_id>("EvalID", "")
                                 .wire<&Allocation::name>("Name", "")
                                 .wire<&Allocation::ns>("Namespace", "")
                                 .wire<&Allocation::node_id>("NodeID", "")
                                 .wire<&Allocation::node_name>("NodeName", "")
                                 .wire<&Allocation::job_id>("JobID", "")
                                 .wire<&Allocation::job_version>("JobVersion", "")
                                 .wire<&Allocation::group>("TaskGroup", "")
                                 .wire<&Allocation::resources>("AllocatedResources", "")
                                 .wire<&Allocation::desired_status>("DesiredStatus", "")
                                 .wire<&Allocation::desired_description>("DesiredDescription", "")
                                 .wire<&Allocation::client_status>("ClientStatus", "")
                                 .wire<&Allocation::client_description>("ClientDescription", "")
                                 .wire<&Allocation::task_states>("TaskStates", "")
                                 .wire<&Allocation::health>("DeploymentStatus", "")
                                 .wire<&Allocation::network_status>("NetworkStatus", "")
                                 .wire<&Allocation::metrics>("Metrics", "")
                                 .wire<&Allocation::previous_allocation>("PreviousAllocation", "")
                                 .wire<&Allocation::next_allocation>("NextAllocation", "")
                                 .wire<&Allocation::preempted>("PreemptedAllocations", "")
                                 .wire<&Allocation::preempted_by>("PreemptedByAllocation", "")
                                 .wire<&Allocation::deployment_id>("DeploymentID", "")
                                 .wire<&Allocation::follow_up_eval>("FollowupEvalID", "")
                                 .wire<&Allocation::transition>("DesiredTransition", "")
                                 .wire<&Allocation::reschedules>("RescheduleTracker.Events", "")
                                 .wire<&Allocation::unknown_since>("UnknownSince", "")
                                 .wire<&Allocation::create_time>("CreateTime", "")
                                 .wire<&Allocation::modify_time>("ModifyTime", "")
                                 .wire<&Allocation::create_index>("CreateIndex", "")
                                 .wire<&Allocation::modify_index>("ModifyIndex", "")
                                 .wire<&Allocation::alloc_modify_index>("AllocModifyIndex", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocationUpdate>) {
  static const Structure s = Builder<AllocationUpdate>("allocation update", "What a node reports of an allocation.")
                                 .wire<&AllocationUpdate::id>("ID", "")
                                 .wire<&AllocationUpdate::client_status>("ClientStatus", "")
                                 .wire<&AllocationUpdate::client_description>("ClientDescription", "")
                                 .wire<&AllocationUpdate::task_states>("TaskStates", "")
                                 .wire<&AllocationUpdate::health>("DeploymentStatus", "")
                                 .wire<&AllocationUpdate::job_version>("JobVersion", "")
                                 .wire<&AllocationUpdate::deployment_id>("DeploymentID", "")
                                 .wire<&AllocationUpdate::network_status>("NetworkStatus", "")
                                 .done();
  return s;
}

}  // namespace underway::model
