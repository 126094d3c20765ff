#pragma once
/// @file
/// What a node and a server say to each other over the link, as JSON (base/json/json.hpp, compact encoding).
///
/// Node to server:
///   call   "register"     RegisterRequest -> RegisterReply   once per connection, and again when fingerprints change
///   notify "heartbeat"    Heartbeat                          every half TTL
///   call   "update"       UpdateRequest -> {}                batched; sent again until it is acknowledged
///   call   "template.watch"  WatchRequest -> {}            all that its templates need to know; replaces the last one
///   call   "identity.sign"   IdentityRequest -> IdentityReply
///   stream "disk.read"       FileRequest   the disk of the allocation's predecessor, from the node that has it, as a
///                            tar archive, once nothing of the predecessor runs; Alloc is the successor
///   stream "machines.send"   FileRequest   Alloc waits for the machine of task Path, which runs elsewhere: it is sent
///                            over "machines.carry" streams; one control message Departure once all of it is
///   stream "machines.carry"  MachineStream   of Alloc's machine, which is sent to allocation To: bytes both ways
///   call   "machines.verdict"  MachineStream -> MoveVerdict   Alloc's machine was sent to To, and stands still
/// Server to node:
///   notify "template.data"  DataMessage                  of what it watches: at first all, then what changed
///   notify "allocations"  AllocationsMessage                 differences; the first after "register" is Full
///   call   "alloc.restart"  TaskRequest -> {}                without task: every one that runs; with all_tasks
///                            those that have ended, too
///   call   "alloc.signal"   TaskRequest -> {}
///   call   "alloc.pause", "alloc.resume"   TaskRequest -> {}   of virtual machines; without task as alloc.restart
///   call   "alloc.checkpoint"   TaskRequest -> [TaskCheckpoint]   likewise; takes as long as their memory does
///   call   "alloc.checkpoints"  TaskRequest -> [TaskCheckpoint]   that its machines could go back to, oldest first
///   call   "alloc.restore"  TaskRequest -> {}   one of its machines goes back to a checkpoint
///   call   "machines.describe"   TaskRequest -> [KeptMachine]   of an allocation whose machines are to go elsewhere
///   call   "alloc.stats"    TaskRequest -> Nomad's AllocResourceUsage
///   call   "alloc.gc"       TaskRequest -> {}                removes a finished allocation's directories now
///   call   "fs.ls"          FileRequest -> [FileInfo]
///   call   "fs.stat"        FileRequest -> FileInfo
///   call   "orphans.read"   {} -> OrphanOrders
///   call   "orphans.stop"   {} -> {}                 stops and destroys them
///   stream "logs"           LogRequest    bytes come, until the end of the log or, with Follow, of the task
///   stream "fs.cat", "fs.readat", "fs.stream"  FileRequest   bytes come; "fs.stream" follows the file
///   stream "disk.read"      FileRequest   the allocation's own disk, likewise
///   stream "machines.read"  FileRequest   with Path, a task: what its machine keeps, as "disk.read", once it sleeps
///   stream "machines.send"  MachineStream   likewise: Alloc's machine is to be sent to To
///   stream "machines.take"  MachineStream   the other end of a "machines.carry", at Alloc's node
///   stream "exec"           ExecRequest   runs beside the task, in its namespaces, cgroup, user and environment
///   stream "console"        ExecRequest   without a command: the serial line of the task's virtual machine
///   stream "host.exec"      ExecRequest   runs in the agent's own namespaces: on the host
///
/// In exec streams the server writes standard input as data and {"Width", "Height"} as control, and ends its writing to
/// close standard input. The node writes output as data (standard error on the error channel) and, before its end, one
/// control message {"ExitCode"}. Breaking the stream off kills the command.
///
/// Paths are relative to the allocation's directory and never leave it.

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "model/allocation.hpp"
#include "model/node/node.hpp"
#include "model/node/orphans.hpp"

namespace underway::protocol {

/// Whose word an order is: of a server's run `epoch` (server/storage/history.hpp), when its store was at `revision`. No
/// epoch: of a server that did not tell.
struct Origin {
  std::string epoch;
  model::Revision revision = 0;
};

struct OrderedAllocation {
  model::Orphan allocation;  ///< what it is, should the server not know it
  Origin origin;             ///< of its newest order
};

struct RegisterRequest {
  model::Node node;
  std::string secret;  ///< made with the node's id and kept beside it: proves that a later agent is the same node
  /// What it has not ended of what it was once given: what was believed lost and still runs may go on.
  std::vector<model::AllocationUpdate> allocations;
  std::vector<OrderedAllocation> ordered = {};  ///< the same ones: who ordered them
};

struct RegisterReply {
  std::string node_id;
  Duration heartbeat_ttl = std::chrono::seconds{10};
};

/// A control loop of a node (async/control_loop.hpp) that somebody should look at.
struct LoopTrouble {
  std::string name;        ///< "files": what operators know it by
  std::string trouble;     ///< what follows while it fails, for people: "files are not synchronized"
  std::string why;         ///< what it failed with, or how long it takes already
  std::int64_t since = 0;  ///< Unix nanoseconds: of the first failure in a row, or when the look began
  bool stuck = false;      ///< it does not come back from a look
};

/// From a node that is well, or that knows of no loops: {}.
struct Heartbeat {
  std::vector<LoopTrouble> troubles;
};

struct UpdateRequest {
  std::vector<model::AllocationUpdate> updates;
};

/// One allocation as the node shall have it. Its job is named "<namespace>/<id>@<version>" (see job_key).
struct AllocationOrder {
  model::Allocation allocation;
  /// False: what does not run is not started, nor started again, until an order says so: a dependency does not work.
  bool start = true;
  bool pause = false;       ///< with `start` false: what runs is stopped until then
  bool suspend = false;     ///< with `pause`: it is stopped by going to sleep, and goes on from there
  std::string waiting_for;  ///< for people, when not `start`: "munge on this node"
  /// What its namespace gives its tasks, model::to_words. From a server that knows of no rights: none.
  std::vector<std::string> host_rights;
  /// After a boot of the machine this order is not obeyed before it comes again: it may run elsewhere now.
  bool guarded = false;
};

struct AllocationsMessage {
  /// This is everything that the node shall have. An allocation that is not in `set` is stopped and destroyed if its
  /// origin is in this server's history; else it is an orphan, and goes on.
  bool full = false;
  Origin origin = {};
  /// With `full`, of the epochs that the node named: how far this server's store has been in each.
  std::map<std::string, model::Revision> epochs = {};
  std::map<std::string, model::Job> jobs;  ///< by job_key; only those that the node was not sent before
  std::vector<AllocationOrder> set;
  std::vector<std::string> remove;  ///< stop if need be, then destroy: the server has forgotten them
};

/// The orphans of a node as it was ordered to run them.
struct OrphanOrders {
  std::vector<AllocationOrder> orders;
  std::map<std::string, model::Job> jobs;  ///< by job_key
};

enum class DataKind : std::uint8_t { variable, variables, service, services };

/// What a template of a task asked for. A task is told what its identity may read, and nothing else.
struct DataNeed {
  std::string alloc;
  std::string task;
  DataKind kind = DataKind::variable;
  std::string name;  ///< the path, prefix or service (see kOfAnyStatus); none for services
  std::string ns;    ///< empty: the allocation's
  auto operator<=>(const DataNeed&) const = default;
};

struct WatchRequest {
  std::vector<DataNeed> needs;
};

/// A variable, or (in lists, without items) what is known of it.
struct KnownVariable {
  std::string ns, path;
  model::StringMap items;
  model::Revision create_index = 0, modify_index = 0;
  std::int64_t create_time = 0, modify_time = 0;  ///< ns since the epoch
};

struct KnownInstance {
  std::string id, name, node, address, datacenter, job_id, alloc_id;
  std::int64_t port = 0;
  std::vector<std::string> tags;
  std::string node_name, node_address;
  model::StringMap meta;
  bool unhealthy = false;  ///< only where those were asked for
};

/// Behind the name of a service in a need: its unhealthy instances too.
inline constexpr std::string_view kOfAnyStatus = "|any";

/// The answer to a need: by its kind, one of these is filled.
struct DataValue {
  DataNeed need;
  std::string refused;                    ///< why the task may not know it; empty: it may
  std::optional<KnownVariable> variable;  ///< absent: there is none
  std::vector<KnownVariable> variables;   ///< of a prefix
  std::vector<KnownInstance> instances;   ///< of a service; of `services` one per name, with all tags
};

struct DataMessage {
  std::vector<DataValue> values;
};

struct IdentityRequest {
  std::string alloc, task;
  std::string identity;  ///< its name
};

struct IdentityReply {
  std::string token;
  std::int64_t issued = 0, expires = 0;  ///< ns since the epoch
};

struct TaskRequest {
  std::string id;
  std::string task;
  std::string signal;           ///< "SIGHUP"; only for alloc.signal
  bool all_tasks = false;       ///< only for alloc.restart: also those that have ended
  std::string checkpoint = {};  ///< only for alloc.restore
};

/// A virtual machine as it was at one moment.
struct TaskCheckpoint {
  std::string task;
  std::string id;
  std::int64_t bytes = 0;  ///< of its memory, as it is stored
  std::int64_t at = 0;     ///< ns since the epoch
};

/// As driver::KeptBase.
struct KeptBase {
  std::string path;
  std::int64_t bytes = 0;
  std::string sha256;
};

/// As driver::LiveMachine.
struct LiveMachine {
  std::string why_not;
  bool asked_for = false;
  std::string accelerator, version, processor;
};

/// Of a virtual machine that goes to another node while it runs: the streams that it goes by.
struct MachineStream {
  std::string alloc;
  std::string to;  ///< the allocation that it goes to; empty, where `alloc` is that
  std::string task;
  bool disk = false;  ///< one of its disks; else its memory
};

/// As driver::Departed.
struct Departure {
  bool rebooted = false;
  bool converged = true;
  Duration stood_still{0};
};

/// What becomes of a virtual machine that was sent whole and stands still where it was.
enum class MoveFate : std::uint8_t {
  open,  ///< it is not decided yet
  left,  ///< it is the other's
  stays  ///< it is not, and will not be
};
struct MoveVerdict {
  MoveFate fate = MoveFate::open;
};

/// What a virtual machine keeps for who goes on with it elsewhere.
struct KeptMachine {
  std::string task;
  std::string driver;
  std::int64_t bytes = 0;  ///< on the disk, its memory as it will be there at most
  std::vector<KeptBase> bases;
  std::optional<LiveMachine> live = {};  ///< absent: it does not run
};

struct LogRequest {
  std::string alloc;
  std::string task;
  std::string type = "stdout";
  bool follow = false;
  std::string origin = "start";  ///< start, end: what `offset` counts from
  std::int64_t offset = 0;
};

struct FileRequest {
  std::string alloc;
  std::string path = "/";
  std::int64_t offset = 0;
  std::int64_t limit = 0;        ///< bytes; 0: all
  std::string origin = "start";  ///< as in LogRequest
  bool follow = true;            ///< fs.stream
};

/// Nomad's AllocFileInfo.
struct FileInfo {
  std::string name;
  bool is_dir = false;
  std::int64_t size = 0;
  std::string file_mode;  ///< "-rw-r--r--"
  std::string mod_time;   ///< RFC 3339
  std::string content_type;
};

struct ExecRequest {
  std::string alloc;
  std::string task;
  std::vector<std::string> command;
  bool tty = false;
  std::int64_t width = 80;
  std::int64_t height = 24;
  std::string user;  ///< host.exec; empty: the agent's
  std::string cwd;   ///< host.exec; empty: the user's home
};

/// "<namespace>/<id>@<version>".
std::string job_key(const model::Job& job);
std::string job_key(const model::Allocation& allocation);

const describe::Structure& description(describe::Tag<Origin>);
const describe::Structure& description(describe::Tag<OrderedAllocation>);
const describe::Structure& description(describe::Tag<OrphanOrders>);
const describe::Structure& description(describe::Tag<RegisterRequest>);
const describe::Structure& description(describe::Tag<RegisterReply>);
const describe::Structure& description(describe::Tag<LoopTrouble>);
const describe::Structure& description(describe::Tag<Heartbeat>);
const describe::Structure& description(describe::Tag<UpdateRequest>);
const describe::Structure& description(describe::Tag<AllocationOrder>);
const describe::Structure& description(describe::Tag<AllocationsMessage>);
const describe::Enumeration& description(describe::Tag<DataKind>);
const describe::Structure& description(describe::Tag<DataNeed>);
const describe::Structure& description(describe::Tag<WatchRequest>);
const describe::Structure& description(describe::Tag<KnownVariable>);
const describe::Structure& description(describe::Tag<KnownInstance>);
const describe::Structure& description(describe::Tag<DataValue>);
const describe::Structure& description(describe::Tag<DataMessage>);
const describe::Structure& description(describe::Tag<IdentityRequest>);
const describe::Structure& description(describe::Tag<IdentityReply>);
const describe::Structure& description(describe::Tag<TaskRequest>);
const describe::Structure& description(describe::Tag<TaskCheckpoint>);
const describe::Structure& description(describe::Tag<KeptBase>);
const describe::Structure& description(describe::Tag<LiveMachine>);
const describe::Structure& description(describe::Tag<MachineStream>);
const describe::Structure& description(describe::Tag<Departure>);
const describe::Enumeration& description(describe::Tag<MoveFate>);
const describe::Structure& description(describe::Tag<MoveVerdict>);
const describe::Structure& description(describe::Tag<KeptMachine>);
const describe::Structure& description(describe::Tag<LogRequest>);
const describe::Structure& description(describe::Tag<FileRequest>);
const describe::Structure& description(describe::Tag<FileInfo>);
const describe::Structure& description(describe::Tag<ExecRequest>);

}  // namespace underway::protocol
