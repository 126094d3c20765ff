#include "protocol/messages.hpp"

#include <fmt/format.h>

namespace underway::protocol {

using describe::Builder;
using describe::Structure;
using describe::Tag;

std::string job_key(const model::Job& job) { return fmt::format("{}/{}@{}", job.ns, job.id, job.version); }
std::string job_key(const model::Allocation& allocation) {
  return fmt::format("{}/{}@{}", allocation.ns, allocation.job_id, allocation.job_version);
}

const Structure& description(Tag<Origin>) {
  static const Structure structure = Builder<Origin>("origin", "Whose word an order is.")
                                         .wire<&Origin::epoch>("Epoch", "The run of a server.")
                                         .wire<&Origin::revision>("Revision", "How far its store was.")
                                         .done();
  return structure;
}

const Structure& description(Tag<OrderedAllocation>) {
  static const Structure structure = Builder<OrderedAllocation>("ordered allocation", "What a node was told to run.")
                                         .wire<&OrderedAllocation::allocation>("Allocation", "What it is.")
                                         .wire<&OrderedAllocation::origin>("Origin", "Of its newest order.")
                                         .done();
  return structure;
}

const Structure& description(Tag<OrphanOrders>) {
  static const Structure structure =
      Builder<OrphanOrders>("orphan orders", "The orphans of a node as it was ordered to run them.")
          .wire<&OrphanOrders::orders>("Orders", "The orders.")
          .wire<&OrphanOrders::jobs>("Jobs", "By namespace/id@version.")
          .done();
  return structure;
}

const Structure& description(Tag<RegisterRequest>) {
  static const Structure structure =
      Builder<RegisterRequest>("register", "A node presents itself.")
          .wire<&RegisterRequest::node>("Node", "What it is and has.")
          .wire<&RegisterRequest::secret>("Secret", "Proves that it is the same node as before.")
          .wire<&RegisterRequest::allocations>("Allocations", "What still runs on it.")
          .wire<&RegisterRequest::ordered>("Ordered", "Who ordered that.")
          .done();
  return structure;
}

const Structure& description(Tag<RegisterReply>) {
  static const Structure structure =
      Builder<RegisterReply>("registered", "What the server makes of it.")
          .wire<&RegisterReply::node_id>("NodeID", "The node's identifier.")
          .wire<&RegisterReply::heartbeat_ttl>("HeartbeatTTL", "Without a heartbeat for so long it is down.")
          .done();
  return structure;
}

const Structure& description(Tag<LoopTrouble>) {
  static const Structure structure =
      Builder<LoopTrouble>("loop trouble", "A control loop that somebody should look at.")
          .wire<&LoopTrouble::name>("Name", "What it is called.")
          .wire<&LoopTrouble::trouble>("Trouble", "What follows while it fails.")
          .wire<&LoopTrouble::why>("Why", "What it failed with, or how long its look takes already.")
          .wire<&LoopTrouble::since>("Since", "When that began, in Unix nanoseconds.")
          .wire<&LoopTrouble::stuck>("Stuck", "It does not come back from a look.")
          .done();
  return structure;
}

const Structure& description(Tag<Heartbeat>) {
  static const Structure structure =
      Builder<Heartbeat>("heartbeat", "That a node lives, and what it cannot do.")
          .wire<&Heartbeat::troubles>("Troubles", "Its control loops that are in trouble.")
          .done();
  return structure;
}

const Structure& description(Tag<UpdateRequest>) {
  static const Structure structure = Builder<UpdateRequest>("update", "What became of allocations.")
                                         .wire<&UpdateRequest::updates>("Updates", "The latest of each allocation.")
                                         .done();
  return structure;
}

const Structure& description(Tag<AllocationOrder>) {
  static const Structure structure =
      Builder<AllocationOrder>("order", "An allocation as the node shall have it.")
          .wire<&AllocationOrder::allocation>("Allocation", "The allocation.")
          .wire<&AllocationOrder::start>("Start", "Whether its tasks may start now.")
          .wire<&AllocationOrder::pause>("Pause", "Whether those that run are stopped until then.")
          .wire<&AllocationOrder::suspend>("Suspend", "Whether they are stopped by going to sleep.")
          .wire<&AllocationOrder::waiting_for>("WaitingFor", "What they wait for, in words.")
          .wire<&AllocationOrder::host_rights>("HostRights", "What its tasks may do to the node.")
          .wire<&AllocationOrder::guarded>("Guarded", "Whether a boot of the machine ends the leave to start.")
          .done();
  return structure;
}

const Structure& description(Tag<AllocationsMessage>) {
  static const Structure structure =
      Builder<AllocationsMessage>("allocations", "What a node shall have.")
          .wire<&AllocationsMessage::full>("Full", "This is everything, not a difference.")
          .wire<&AllocationsMessage::origin>("Origin", "Whose word it is.")
          .wire<&AllocationsMessage::epochs>("Epochs", "How far the server's store has been in each.")
          .wire<&AllocationsMessage::jobs>("Jobs", "By namespace/id@version.")
          .wire<&AllocationsMessage::set>("Set", "New and changed allocations.")
          .wire<&AllocationsMessage::remove>("Remove", "Identifiers of forgotten allocations.")
          .done();
  return structure;
}

const describe::Enumeration& description(Tag<DataKind>) {
  static const auto e = describe::enumeration<DataKind>("data kind");
  return e;
}

const Structure& description(Tag<DataNeed>) {
  static const Structure structure = Builder<DataNeed>("need", "What a template asked for.")
                                         .wire<&DataNeed::alloc>("Alloc", "The allocation.")
                                         .wire<&DataNeed::task>("Task", "The task.")
                                         .wire<&DataNeed::kind>("Kind", "Of which kind it is.")
                                         .wire<&DataNeed::name>("Name", "Its path, prefix or name.")
                                         .wire<&DataNeed::ns>("Namespace", "Its namespace; empty: the allocation's.")
                                         .done();
  return structure;
}

const Structure& description(Tag<WatchRequest>) {
  static const Structure structure = Builder<WatchRequest>("watch", "All that the node's templates need to know.")
                                         .wire<&WatchRequest::needs>("Needs", "All of it.")
                                         .done();
  return structure;
}

const Structure& description(Tag<KnownVariable>) {
  static const Structure structure =
      Builder<KnownVariable>("known variable", "A variable, in the clear.")
          .wire<&KnownVariable::ns>("Namespace", "Its namespace.")
          .wire<&KnownVariable::path>("Path", "Its path.")
          .wire<&KnownVariable::items>("Items", "Its items; none in lists.")
          .wire<&KnownVariable::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&KnownVariable::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .wire<&KnownVariable::create_time>("CreateTime", "Unix time in nanoseconds at which it was made.")
          .wire<&KnownVariable::modify_time>("ModifyTime", "Unix time in nanoseconds at which it last changed.")
          .done();
  return structure;
}

const Structure& description(Tag<KnownInstance>) {
  static const Structure structure =
      Builder<KnownInstance>("known instance", "Where a service is found.")
          .wire<&KnownInstance::id>("ID", "Names it among all instances.")
          .wire<&KnownInstance::name>("ServiceName", "Name of the service.")
          .wire<&KnownInstance::node>("Node", "ID of the node that it runs on.")
          .wire<&KnownInstance::address>("Address", "Where it is reached.")
          .wire<&KnownInstance::datacenter>("Datacenter", "Datacenter of that node.")
          .wire<&KnownInstance::job_id>("JobID", "ID of the job that declares it.")
          .wire<&KnownInstance::alloc_id>("AllocID", "ID of the allocation that provides it.")
          .wire<&KnownInstance::port>("Port", "Port there; 0: it has none.")
          .wire<&KnownInstance::tags>("Tags", "Its words; in a list of services those of all instances.")
          .wire<&KnownInstance::node_name>("NodeName", "Name of that node.")
          .wire<&KnownInstance::node_address>("NodeAddress", "The node's own address; empty: not known.")
          .wire<&KnownInstance::meta>("Meta", "Its pairs.")
          .wire<&KnownInstance::unhealthy>(
              "Unhealthy", "Whether it does not work now; such ones come only where they were asked for.")
          .done();
  return structure;
}

const Structure& description(Tag<DataValue>) {
  static const Structure structure =
      Builder<DataValue>("data value", "The answer to a need.")
          .wire<&DataValue::need>("Need", "To what.")
          .wire<&DataValue::refused>("Refused", "Why it may not be known.")
          .wire<&DataValue::variable>("Variable", "Of a need of kind `variable`; absent: there is none.")
          .wire<&DataValue::variables>("Variables",
                                       "Of a need of kind `variables`: those below the prefix, without items.")
          .wire<&DataValue::instances>("Instances",
                                       "Of a need of kind `service` its instances; of `services` one for each name.")
          .done();
  return structure;
}

const Structure& description(Tag<DataMessage>) {
  static const Structure structure = Builder<DataMessage>("data", "What is new of what a node watches.")
                                         .wire<&DataMessage::values>("Values", "The answers.")
                                         .done();
  return structure;
}

const Structure& description(Tag<IdentityRequest>) {
  static const Structure structure = Builder<IdentityRequest>("identity request", "A token for a task.")
                                         .wire<&IdentityRequest::alloc>("Alloc", "The allocation.")
                                         .wire<&IdentityRequest::task>("Task", "The task.")
                                         .wire<&IdentityRequest::identity>("Identity", "Which of its identities.")
                                         .done();
  return structure;
}

const Structure& description(Tag<IdentityReply>) {
  static const Structure structure = Builder<IdentityReply>("identity reply", "The token.")
                                         .wire<&IdentityReply::token>("Token", "Signed.")
                                         .wire<&IdentityReply::issued>("Issued", "When it was made.")
                                         .wire<&IdentityReply::expires>("Expires", "Until when it is good.")
                                         .done();
  return structure;
}

const Structure& description(Tag<TaskRequest>) {
  static const Structure structure = Builder<TaskRequest>("task", "Something to be done to a task.")
                                         .wire<&TaskRequest::id>("id", "The allocation.")
                                         .wire<&TaskRequest::task>("task", "The task; empty: all.")
                                         .wire<&TaskRequest::signal>("signal", "The signal's name.")
                                         .wire<&TaskRequest::all_tasks>("all_tasks", "Those that have ended too.")
                                         .wire<&TaskRequest::checkpoint>("checkpoint", "What a machine goes back to.")
                                         .done();
  return structure;
}

const Structure& description(Tag<TaskCheckpoint>) {
  static const Structure structure =
      Builder<TaskCheckpoint>("task checkpoint", "A virtual machine as it was at one moment.")
          .wire<&TaskCheckpoint::task>("Task", "The machine's task.")
          .wire<&TaskCheckpoint::id>("ID", "What the checkpoint is called.")
          .wire<&TaskCheckpoint::bytes>("Bytes", "Of its memory, as it is stored.")
          .wire<&TaskCheckpoint::at>("At", "When, in nanoseconds since the epoch.")
          .done();
  return structure;
}

const Structure& description(Tag<KeptBase>) {
  static const Structure structure =
      Builder<KeptBase>("base of a machine", "An image that a machine's disk is a layer over.")
          .wire<&KeptBase::path>("Path", "Where it lies on the machine's node, and has to elsewhere.")
          .wire<&KeptBase::bytes>("Bytes", "Its size.")
          .wire<&KeptBase::sha256>("SHA256", "Of the whole file, in hexadecimal.")
          .done();
  return structure;
}

const Structure& description(Tag<LiveMachine>) {
  static const Structure structure =
      Builder<LiveMachine>("machine that runs", "A virtual machine that is to go to another node while it runs.")
          .wire<&LiveMachine::why_not>("WhyNot", "Why it cannot.")
          .wire<&LiveMachine::asked_for>("AskedFor", "Its job says so.")
          .wire<&LiveMachine::accelerator>("Accelerator", "tcg or kvm.")
          .wire<&LiveMachine::version>("Version", "Of the QEMU that runs it.")
          .wire<&LiveMachine::processor>("Processor", "Its node's, where its guest sees that.")
          .done();
  return structure;
}

const Structure& description(Tag<MachineStream>) {
  static const Structure structure =
      Builder<MachineStream>("stream of a machine", "By which a virtual machine goes while it runs.")
          .wire<&MachineStream::alloc>("Alloc", "Whose machine it is.")
          .wire<&MachineStream::to>("To", "The allocation that it goes to.")
          .wire<&MachineStream::task>("Task", "Its task.")
          .wire<&MachineStream::disk>("Disk", "A disk of it; else its memory.")
          .done();
  return structure;
}

const Structure& description(Tag<Departure>) {
  static const Structure structure =
      Builder<Departure>("departure", "All of a virtual machine was sent.")
          .wire<&Departure::rebooted>("Rebooted", "Its guest was reset on the way.")
          .wire<&Departure::converged>("Converged", "It did not have to be stopped for it.")
          .wire<&Departure::stood_still>("StoodStill", "How long, until all was sent.")
          .done();
  return structure;
}

const describe::Enumeration& description(Tag<MoveFate>) {
  static const auto fates = describe::enumeration<MoveFate>("fate");
  return fates;
}

const Structure& description(Tag<MoveVerdict>) {
  static const Structure structure =
      Builder<MoveVerdict>("verdict", "What becomes of a virtual machine that was sent whole.")
          .wire<&MoveVerdict::fate>("Fate", "Whose it is.")
          .done();
  return structure;
}

const Structure& description(Tag<KeptMachine>) {
  static const Structure structure =
      Builder<KeptMachine>("kept machine", "What a virtual machine keeps for who goes on with it elsewhere.")
          .wire<&KeptMachine::task>("Task", "The machine's task.")
          .wire<&KeptMachine::driver>("Driver", "Its driver.")
          .wire<&KeptMachine::bytes>("Bytes", "On the disk, its memory as it will be there at most.")
          .wire<&KeptMachine::bases>("Bases", "Images that its disks are layers over.")
          .wire<&KeptMachine::live>("Live", "How it can go while it runs; absent: it does not run.")
          .done();
  return structure;
}

const Structure& description(Tag<LogRequest>) {
  static const Structure structure = Builder<LogRequest>("logs", "Which log to read.")
                                         .wire<&LogRequest::alloc>("alloc", "The allocation.")
                                         .wire<&LogRequest::task>("task", "The task.")
                                         .wire<&LogRequest::type>("type", "stdout or stderr.")
                                         .wire<&LogRequest::follow>("follow", "Whether to wait for more.")
                                         .wire<&LogRequest::origin>("origin", "start or end.")
                                         .wire<&LogRequest::offset>("offset", "Bytes from the origin.")
                                         .done();
  return structure;
}

const Structure& description(Tag<FileRequest>) {
  static const Structure structure = Builder<FileRequest>("file", "Which file of an allocation.")
                                         .wire<&FileRequest::alloc>("alloc", "The allocation.")
                                         .wire<&FileRequest::path>("path", "Relative to the allocation's directory.")
                                         .wire<&FileRequest::offset>("offset", "Bytes from the origin.")
                                         .wire<&FileRequest::limit>("limit", "Bytes; 0: all.")
                                         .wire<&FileRequest::origin>("origin", "start or end.")
                                         .wire<&FileRequest::follow>("follow", "Whether to wait for more.")
                                         .done();
  return structure;
}

const Structure& description(Tag<FileInfo>) {
  static const Structure structure = Builder<FileInfo>("file_info", "A file or directory.")
                                         .wire<&FileInfo::name>("Name", "Its name.")
                                         .wire<&FileInfo::is_dir>("IsDir", "Whether it is a directory.")
                                         .wire<&FileInfo::size>("Size", "Bytes.")
                                         .wire<&FileInfo::file_mode>("FileMode", "As ls(1) shows it.")
                                         .wire<&FileInfo::mod_time>("ModTime", "Last change.")
                                         .wire<&FileInfo::content_type>("ContentType", "A guess.")
                                         .done();
  return structure;
}

const Structure& description(Tag<ExecRequest>) {
  static const Structure structure = Builder<ExecRequest>("exec", "A command to run.")
                                         .wire<&ExecRequest::alloc>("alloc", "The allocation.")
                                         .wire<&ExecRequest::task>("task", "The task.")
                                         .wire<&ExecRequest::command>("command", "Program and arguments.")
                                         .wire<&ExecRequest::tty>("tty", "Whether on a terminal.")
                                         .wire<&ExecRequest::width>("width", "Columns.")
                                         .wire<&ExecRequest::height>("height", "Rows.")
                                         .wire<&ExecRequest::user>("user", "Who runs it.")
                                         .wire<&ExecRequest::cwd>("cwd", "Where it runs.")
                                         .done();
  return structure;
}

}  // namespace underway::protocol
