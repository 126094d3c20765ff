#pragma once
/// @file
/// How a task runs. The node's task runner knows drivers only by this face; every driver puts its tasks under a keeper,
/// so handles can be dropped and found again.
///
///   auto task = driver.start(spec);           // it runs, or an Error says what is wrong, on which node
///   … watch task->fd(); task->poll(); task->status() …
///   task->destroy();                          // once it has ended and the result is kept
///
/// Calls block for milliseconds (fork, mounts, cgroup files); `destroy` and a `poll` that finds a dead keeper for up to
/// seconds, `pause`, `resume`, `suspend` and `checkpoint` as long as they say: run them on the pool. Thread: one at a
/// time per handle, and beside it one of those four; a driver may be used by several at once.

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "os/fd.hpp"
#include "os/ledger.hpp"
#include "os/process/capability.hpp"
#include "os/process/cgroup.hpp"
#include "os/process/process.hpp"

namespace underway::driver {

/// A directory of the machine that the task sees at a place of its own.
struct TaskMount {
  enum class Propagation : std::uint8_t {
    isolated,      ///< mounts made later below it stay where they are made
    host_to_task,  ///< those of the machine are seen by the task
    bidirectional  ///< and those of the task by the machine
  };
  std::string source;       ///< absolute, on the machine
  std::string destination;  ///< absolute, as the task sees it; made when it is not there
  bool read_only = false;
  Propagation propagation = Propagation::isolated;
};

/// Where a task has its network, and by what it finds names. Files are of the machine; empty: as on the machine.
struct TaskNetwork {
  std::string namespace_path;  ///< where the group's network namespace is pinned; empty: the machine's network
  std::string hostname;        ///< for tasks with a file tree of their own, as the rest
  std::string hosts_file;
  std::string resolver_file;
};

/// One run of one task. The same spec finds the run again after a restart of the agent.
struct TaskSpec {
  std::string alloc_id;
  std::string task;
  std::string node;  ///< our node's name, for errors

  /// "<alloc>/<task>": its `local`, `secrets` and `tmp` are made if missing and given to the task's user.
  std::string task_dir;
  /// "<alloc>/alloc", shared by the tasks of the group; logs go to its `logs`.
  std::string alloc_dir;
  /// The keeper's directory for this run; not one that an earlier run used and nobody destroyed.
  std::string keeper_dir;
  /// Cgroup of the task, relative: "underway/7f3a…/web". Made and removed by the driver.
  std::string cgroup;
  /// With kill mode "process" it is this one, of this run alone: "underway/7f3a….runs/web/2". What the run leaves
  /// behind stays in it, and neither counts against the next run's limits nor dies when that run is cleared away.
  std::string run_cgroup;

  /// The driver's own, all variables replaced.
  boost::json::value config;
  /// The whole environment; PATH is added if absent.
  std::map<std::string, std::string> env;
  /// Empty: the driver's default.
  std::string user;
  /// Its namespace lets it have user 0 of the machine.
  bool may_be_root = false;
  /// It binds ports below 1024 in the machine's own network, and may. The kernel lets nobody do so whose user namespace
  /// is not the machine's (capabilities(7), CAP_NET_BIND_SERVICE), so it has none of its own.
  bool low_ports = false;

  std::uint64_t cpu_shares = 0;     ///< MHz, as Nomad uses them; 0: the kernel's default
  std::uint64_t memory_mb = 0;      ///< 0: unlimited
  std::uint64_t memory_max_mb = 0;  ///< hard limit when above memory_mb, which is then only protected
  std::uint64_t pids = 0;           ///< processes and threads; 0: the driver's default
  std::string cpuset;               ///< "4-7"; empty: all

  /// Files of the machine's /dev that the task may open beside the usual ones. A task with a file tree of its own sees
  /// no others.
  std::vector<std::string> devices;
  /// Only for drivers that mount.
  std::vector<TaskMount> mounts;
  /// With a namespace only for drivers that join networks.
  TaskNetwork network;

  /// Of a virtual machine that comes from another node: what it was there (TaskHandle::kept_in()), on the file system
  /// of task_dir. The driver takes it away from there, in place of what it has of that machine. Nothing happens when it
  /// is not there any more.
  std::string arrived;
  /// The allocation that its machine was first started for, of whose id it has its name; empty: this one.
  std::string origin;

  /// Of a virtual machine: the checkpoint that it goes back to; empty: it goes on from where it was, or boots.
  std::string restore;
  /// Of a virtual machine: it takes in one that runs on another node (TaskHandle::entrance()), and stands still.
  bool takes_in = false;

  std::uint32_t log_files = 10;  ///< of either stream; 0: output is discarded
  std::uint64_t log_bytes = 10U << 20;
};

struct TaskStatus {
  enum class Phase {
    running,
    exited,
    lost,  ///< its keeper was killed; the task is dead, its result unknown
  };
  Phase phase = Phase::running;
  os::ProcessIdentity process;
  /// Once exited.
  os::ExitStatus exit;
  bool oom_killed = false;
  TimePoint started{}, finished{};
  /// Bytes of output lost to a full disk.
  std::uint64_t log_bytes_lost = 0;
  /// Once ended, what it left running (kill mode "process"): names as comm(5) has them, and how many processes.
  std::map<std::string, std::size_t> left_running;
};
std::string_view to_string(TaskStatus::Phase phase);

struct ExecRequest {
  std::vector<std::string> argv;
  bool terminal = false;
  unsigned short rows = 24, columns = 80;
};
/// A command beside the task. With a terminal, `terminal` is both ends and the three pipes are empty.
/// Dropping it kills the command.
struct ExecSession {
  os::Child child;
  os::Fd in, out, err;
  os::Fd terminal;
};

/// A machine as it was at one moment, kept beside its disks.
struct Checkpoint {
  std::string id;
  std::int64_t bytes = 0;  ///< of its memory, as it is stored
  std::int64_t at = 0;     ///< ns since the epoch
};

/// A file of the node that what a machine keeps is built on: the image that its disk is a layer over.
struct KeptBase {
  std::string path;  ///< absolute
  std::uint64_t bytes = 0;
  std::string sha256;  ///< of the whole file, in hexadecimal
};

/// A virtual machine that is to go to another node while it runs.
struct LiveMachine {
  std::string why_not;     ///< it cannot, for people; empty: it can
  bool asked_for = false;  ///< its job says so; else only where that is as safe as asleep
  std::string accelerator;
  std::string version;    ///< of what runs it
  std::string processor;  ///< the node's, where the guest sees that; empty: it does not
};

/// What of a virtual machine goes over connections of its own.
enum class MachinePart : std::uint8_t { memory, disk };

/// Sockets that listen, to which a virtual machine connects when it is sent.
struct Departures {
  os::Fd memory, disk;
};

struct Departed {
  bool rebooted = false;    ///< its guest was reset on the way
  bool converged = true;    ///< false: it wrote faster than that could be sent, and was stopped for it
  Duration stood_still{0};  ///< until all was sent
};

class TaskHandle {
 public:
  /// Lets go: the task keeps running.
  virtual ~TaskHandle() = default;
  /// Readable when poll() may have news; -1 when there will be none.
  virtual int fd() const = 0;
  /// Takes in news; true when the status changed.
  virtual bool poll() = 0;
  virtual const TaskStatus& status() const = 0;
  /// Waits for the end; false when `within` passed first.
  virtual bool wait(Duration within) = 0;
  /// To the task's first process. Nothing happens when it has ended.
  virtual void signal(int number) = 0;
  /// `number` to its first process now, SIGKILL after `grace` to all that the kill mode names. Returns at once; the
  /// status tells.
  virtual void stop(int number, Duration grace) = 0;
  virtual os::CgroupStats usage() const = 0;
  /// From now on it runs on these cores, as in TaskSpec. Nothing happens where the kernel has no cpusets.
  virtual void set_cpuset(const std::string& cores) = 0;
  /// Runs a command in the task's namespaces, cgroup and user.
  /// Errors: conflict when the task has ended; not_found for a missing command.
  virtual ExecSession exec(const ExecRequest& request) = 0;

  // Of virtual machines; others throw unsupported. Errors: unavailable when it has ended, conflict while something else
  // is done to it.

  /// Its processors stand still and its memory stays, whatever becomes of the agent. Nothing happens when they do.
  /// Blocks: milliseconds; while something else is done to it, up to 10 s.
  virtual void pause();
  /// The opposite. Nothing happens when it runs. Blocks: as pause.
  virtual void resume();
  /// Puts it to sleep: its memory goes to the disk, and the task ends. Driver::start with the same config goes on from
  /// there. Blocks: as long as its memory takes to the disk. Errors: those of checkpoint; it runs on.
  virtual void suspend();
  /// Keeps it as it is now; it goes on. Blocks: as long as its memory takes to the disk.
  virtual Checkpoint checkpoint();
  /// Its serial line, connected: a socket for bytes both ways, which does not block. One at a time is on it; somebody
  /// else who connects waits, and is not told. Its end is the machine's.
  virtual os::Fd console();
  /// Of a virtual machine: the directory with all that it goes on from once it sleeps, absolute. Empty: it is none, or
  /// writes to files elsewhere. Blocks: briefly.
  virtual std::string kept_in() const { return {}; }

  // Of a virtual machine that goes to another node while it runs; others throw unsupported.

  /// Blocks: briefly.
  virtual LiveMachine live() const;
  /// Before depart(). Blocks: briefly.
  virtual Departures departures();
  /// Sends all of it to who is behind the departures. From then on it stands still until stay() or leave(), whoever
  /// dies meanwhile. Blocks: as long as its memory and its disks take. Errors: it runs on.
  virtual Departed depart();
  /// Nobody else has it, and nobody will: it goes on here. Nothing happens when it does. Blocks: briefly.
  virtual void stay();
  /// It is another's: it ends. Blocks: briefly.
  virtual void leave();

  // And of what takes it in (TaskSpec::takes_in).

  /// A connection, for what one of the departures brings.
  virtual os::Fd entrance(MachinePart part);
  /// Until all of it is here; it stands still. Blocks: until then. Errors: conflict, timeout.
  virtual void await_memory();
  /// It is ours, and goes on. Blocks: briefly. Errors: it has no memory any more; started anew it boots from its disks.
  virtual void go_on();

  /// Frees keeper, keeper directory and cgroup. Only once it has ended and the result is kept. A cgroup in which
  /// something was left running stays, and is in the ledger for reap_leftovers.
  virtual void destroy() = 0;
};

struct Fingerprint {
  /// Node attributes: {"driver.exec", "1"}.
  std::map<std::string, std::string> attributes;
  bool detected = false;
  bool healthy = false;
  /// For people: why not.
  std::string description;
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::string name() const = 0;
  /// Whether its tasks have a file tree of their own, into which TaskSpec::mounts go. Others are given none.
  virtual bool mounts() const { return false; }
  /// Whether its tasks can be in the network of their group.
  virtual bool joins_networks() const { return false; }
  virtual Fingerprint fingerprint() const = 0;
  /// All problems of a `config`, each naming its key; variables may not be replaced yet. Pure.
  virtual std::vector<std::string> validate(const boost::json::value& config) const = 0;
  /// Errors: invalid (config), not_found (command, user: naming node), conflict (a run lives in keeper_dir).
  /// Nothing is left of a task that could not be started.
  virtual std::unique_ptr<TaskHandle> start(const TaskSpec& spec) = 0;
  /// What a task of this `config` gets less of here than it asks for, for people. Blocks: yes (reads proc).
  virtual std::vector<std::string> shortfalls(const boost::json::value& config) const {
    static_cast<void>(config);
    return {};
  }
  /// Of what a machine keeps in `directory` (TaskHandle::kept_in()): files elsewhere on this node that it cannot do
  /// without. Blocks: reads them all.
  virtual std::vector<KeptBase> bases(const std::string& directory) const {
    static_cast<void>(directory);
    return {};
  }
  /// The checkpoints in `directory`, oldest first. Blocks: yes (disk).
  virtual std::vector<Checkpoint> checkpoints(const std::string& directory) const {
    static_cast<void>(directory);
    return {};
  }
  /// Reads all of one of these. Errors: not_found; invalid (a bit of it is wrong). Blocks: yes (disk).
  virtual void verify_checkpoint(const std::string& directory, const std::string& id) const {
    static_cast<void>(directory);
    throw Error(Code::not_found, "there is no checkpoint '" + id + "'");
  }
  /// Why a machine with these bases cannot go on here, for people; empty: it can. Blocks: reads them all.
  virtual std::string lacks(const std::vector<KeptBase>& bases) const {
    static_cast<void>(bases);
    return "it has no virtual machines";
  }
  /// Why a machine cannot come here while it runs, for people; empty: it can.
  virtual std::string why_not_live(const LiveMachine& machine) const {
    static_cast<void>(machine);
    return "it has no virtual machines";
  }
  /// The run that an earlier agent started; `lost` when it is not to be found, and then surely dead.
  virtual std::unique_ptr<TaskHandle> recover(const TaskSpec& spec) = 0;
  /// Of what destroyed runs have left running: removes the cgroups in which nothing lives any more. True while there
  /// are others. `end_them`: kills what is inside first. Drivers with one ledger look at the same.
  virtual bool reap_leftovers(bool end_them) = 0;
};

/// Capabilities that Nomad lets exec tasks have (those of Docker).
os::Capabilities default_capabilities();

struct Options {
  std::string keeper_program;
  os::CgroupSystem cgroups = os::CgroupSystem::probe();
  std::uint64_t default_pids = 4096;
  /// What `cap_add` may name.
  os::Capabilities allowed_capabilities = default_capabilities();
  /// Absolute directories that an exec task sees empty: the agent's data.
  std::vector<std::string> hidden;
  /// Where cgroups are recorded before they are made; may be null (tests). Outlives the driver and its handles.
  os::Ledger* ledger = nullptr;
};

/// The task as a plain process of the machine. Its own cgroup, so that everything of it can be killed (or, with
/// `kill_mode = "process"`, told apart), with the limits on processes and the CPU weight; no memory limit, because
/// daemons that run others' work (slurmd) live here.
std::unique_ptr<Driver> make_raw_exec(Options options);

/// The task in its own mount, process, IPC and cgroup namespaces: the machine's root read-only, private /tmp and /dev,
/// writable only /alloc, /local, /secrets and /tmp; user nobody by default, capabilities bounded, no new privileges.
/// Of its capabilities a task that is not root holds only net_bind_service and what `cap_add` names.
std::unique_ptr<Driver> make_exec(Options options);

/// What these two say to a config, whatever a node allows beyond: for who looks at a job before it has a node. Pure.
std::vector<std::string> raw_exec_problems(const boost::json::value& config);
std::vector<std::string> exec_problems(const boost::json::value& config);

}  // namespace underway::driver
