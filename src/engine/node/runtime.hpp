#pragma once
/// @file
/// What the runners need of the outside: time, threads for what blocks, other programs, and tasks that run. The agent
/// plugs in the kernel and the drivers; tests plug in fakes with a virtual clock (testing/fake_runtime.hpp).

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/loop.hpp"
#include "model/allocation.hpp"
#include "model/validate/task_rights.hpp"
#include "node/allocation/allocation_directory.hpp"
#include "node/task/environment.hpp"
#include "node/volume/volumes.hpp"
#include "os/fd.hpp"
#include "protocol/messages.hpp"

namespace underway::node {

using async::awaitable;

/// How a program ended.
struct ProgramResult {
  int exit_code = 0;
  int signal = 0;
  std::string output;  ///< standard output and error, the first 64 KiB
  bool timed_out = false;
  bool success() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

/// A short-lived program of ours.
class Program {
 public:
  virtual ~Program() = default;
  /// Once. Cancelling it kills the program.
  virtual awaitable<ProgramResult> wait() = 0;
  virtual void kill() = 0;
};

/// One attempt to reach a server: a connection, and for http a request.
struct ProbeRequest {
  std::string address;
  std::uint16_t port = 0;
  Duration timeout{0};
  bool http = false;
  bool tls = false;
  bool verify = true;
  std::string server_name;  ///< that the certificate shall have; empty: the address
  std::string method;
  std::string path;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// How one attempt of a check ended.
struct ProbeAnswer {
  bool passed = false;
  bool warning = false;   ///< not passed, and not quite failed
  std::int64_t code = 0;  ///< http: the status; script: the exit code, -1 when there is none
  std::string output;     ///< for people
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual async::Executor executor() = 0;
  virtual TimePoint now() const = 0;
  /// In [0, 1).
  virtual double jitter() = 0;
  /// Calls back once, unless the returned token is destroyed before.
  virtual std::shared_ptr<void> after(Duration span, std::function<void()> callback) = 0;
  /// Runs `job` where it may block, and then `done` on the loop with what it threw.
  virtual void on_pool(std::function<void()> job, std::function<void(std::exception_ptr)> done) = 0;
  /// `input` is its standard input. Killed after `within`. Throws Error when it cannot be started. Blocks: briefly.
  virtual std::shared_ptr<Program> start_program(std::vector<std::string> argv, std::string input, Duration within) = 0;
  /// Never fails: what went wrong is the answer.
  virtual awaitable<ProbeAnswer> probe(ProbeRequest request) = 0;
};

/// Runs a job that may block. The job and what it refers to must outlive the wait (a named local does).
awaitable<void> blocking(Runtime& runtime, std::function<void()> job);

/// How a task's process ended.
struct TaskEnd {
  int exit_code = 0;
  int signal = 0;
  bool oom_killed = false;
  /// Nobody knows how it ended: its keeper was killed, and it with it.
  bool lost = false;
  TimePoint finished{};
  std::string message;                              ///< more for people; may be empty
  std::map<std::string, std::size_t> left_running;  ///< as driver::TaskStatus
  bool success() const { return exit_code == 0 && signal == 0 && !oom_killed && !lost; }
};

struct TaskUsage {
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_peak_bytes = 0;
  Duration cpu_time{};
  Duration cpu_user{}, cpu_system{};  ///< of cpu_time
  Duration cpu_throttled{};
  std::uint64_t cpu_throttled_periods = 0;
  std::uint64_t memory_anonymous_bytes = 0, memory_file_bytes = 0, memory_kernel_bytes = 0, memory_swap_bytes = 0;
  std::uint64_t pids = 0;
};

/// As driver::TaskNetwork.
struct TaskNetwork {
  std::string namespace_path, hostname, hosts_file, resolver_file;
};

/// What a driver is asked to start: everything is interpolated.
struct LaunchSpec {
  std::string driver;
  std::string allocation_id;
  std::string ns, job_id, group, task;
  std::string node_name;
  std::int64_t attempt = 1;  ///< counts the starts of this task on this node
  std::string allocation_root, shared_dir, log_dir, task_dir;
  boost::json::value config;
  model::StringMap environment;
  std::string user;                                  ///< empty: the driver's default
  model::HostRights rights;                          ///< what its namespace gives
  bool low_ports = false, beside_container = false;  ///< as model::TaskOnHost
  std::int64_t cpu = 0, memory_mb = 0, memory_max_mb = 0, pids = 0;
  std::int64_t log_files = 10, log_file_bytes = 10 << 20;
  bool log_disabled = false;
  std::vector<VolumeUse> volumes;    ///< only to start
  std::vector<std::int64_t> cores;   ///< that it holds alone
  std::vector<std::string> devices;  ///< /dev files of the devices that it holds; only to start
  std::string cgroup_parent;
  TaskNetwork network;
  std::string arrived, origin, restore;  ///< as in driver::TaskSpec
  bool takes_in = false;                 ///< likewise
};

/// An interactive command beside a task, or on the host.
class ExecSession {
 public:
  virtual ~ExecSession() = default;
  struct Output {
    bool error = false;  ///< from standard error
    std::string bytes;
  };
  /// Nothing at the end of both outputs.
  virtual awaitable<std::optional<Output>> read() = 0;
  virtual awaitable<void> write(std::string bytes) = 0;
  virtual void end_input() = 0;
  virtual void resize(int width, int height) = 0;
  /// After read() has ended.
  virtual awaitable<TaskEnd> wait() = 0;
  virtual void kill() = 0;
};

/// What can be done to a task that is a virtual machine, while it runs.
enum class MachineVerb : std::uint8_t { pause, resume, suspend, checkpoint, move };

/// As driver::Departures.
struct Doors {
  os::Fd memory, disk;
};

/// A task that a driver runs, or whose end waits to be fetched.
class RunningTask {
 public:
  virtual ~RunningTask() = default;
  /// What finds it again after a restart of the agent.
  virtual boost::json::value handle() const = 0;
  virtual std::int64_t started_at() const = 0;  ///< ns since the epoch
  /// What it has less of than its `config` asks for, for people; only of one that start() has returned.
  virtual std::vector<std::string> shortfalls() const { return {}; }
  /// The end; once. Cancelling leaves the task running.
  virtual awaitable<TaskEnd> wait() = 0;
  /// The end is on disk: the keeper may go. After wait().
  virtual awaitable<void> forget() = 0;
  virtual void signal(int number) = 0;
  /// Asks it to end: `signal`, and after `timeout` SIGKILL to all of it that ends with it. May be repeated.
  virtual void stop(int signal, Duration timeout) = 0;
  virtual TaskUsage usage() = 0;
  virtual awaitable<std::shared_ptr<ExecSession>> exec(std::vector<std::string> command, bool tty, int width,
                                                       int height) = 0;
  /// As of driver::TaskHandle: unsupported of what is no virtual machine. They go on beside the other calls, one of
  /// them at a time.
  virtual awaitable<void> pause() = 0;
  virtual awaitable<void> resume() = 0;
  /// It ends by it. It takes as long as the machine's memory does, and so does a checkpoint, which is without the
  /// task's name.
  virtual awaitable<void> suspend() = 0;
  virtual awaitable<protocol::TaskCheckpoint> checkpoint() = 0;
  /// The serial line of a virtual machine. Errors: unsupported, unavailable; conflict while another session has it.
  virtual awaitable<std::shared_ptr<ExecSession>> console() = 0;
  /// As driver::TaskHandle::kept_in().
  virtual std::string kept_in() const { return {}; }

  // Machines that go to another node while they run, as of driver::TaskHandle.

  virtual awaitable<protocol::LiveMachine> live() = 0;
  virtual awaitable<Doors> departures() = 0;
  virtual awaitable<protocol::Departure> depart() = 0;
  virtual awaitable<void> stay() = 0;
  virtual awaitable<void> leave() = 0;
  virtual awaitable<os::Fd> entrance(bool disk) = 0;
  virtual awaitable<void> await_memory() = 0;
  virtual awaitable<void> go_on() = 0;
};

class TaskDrivers {
 public:
  virtual ~TaskDrivers() = default;
  /// Whether it is there and healthy; else why not, for people.
  virtual std::optional<std::string> missing(const std::string& driver) const = 0;
  /// What is wrong with the `config` of a task.
  virtual std::vector<std::string> problems(const std::string& driver, const boost::json::value& config) const = 0;
  /// Who runs tasks that name no user.
  virtual std::string default_user(const std::string& driver) const = 0;
  /// Directories as tasks of that driver see them.
  virtual TaskPaths paths(const std::string& driver, const AllocationDirectory& directory,
                          const std::string& task) const = 0;

  /// Throws Error when it could not be started; then nothing runs.
  virtual awaitable<std::shared_ptr<RunningTask>> start(LaunchSpec spec) = 0;
  /// What an earlier agent started as `spec.attempt`; null when that never came to run. `handle` may be null: the
  /// agent may have died before it was told. Only names and directories of `spec` are set.
  virtual awaitable<std::shared_ptr<RunningTask>> recover(LaunchSpec spec, boost::json::value handle) = 0;
  /// As driver::Driver: what a machine's disks are layers over, and whether they could be here.
  virtual awaitable<std::vector<protocol::KeptBase>> bases(std::string driver, std::string directory) = 0;
  virtual awaitable<std::vector<protocol::TaskCheckpoint>> checkpoints(std::string driver, std::string directory) = 0;
  virtual awaitable<void> verify_checkpoint(std::string driver, std::string directory, std::string id) = 0;
  virtual awaitable<std::string> lacks(std::string driver, std::vector<protocol::KeptBase> bases) = 0;
  /// As driver::Driver: why a machine cannot come here while it runs.
  virtual awaitable<std::string> why_not_live(std::string driver, protocol::LiveMachine machine) = 0;
  /// Clears away what is left of `spec.attempt`, whose end is known. Throws nothing: it is tried again when the
  /// allocation is removed.
  virtual awaitable<void> discard(LaunchSpec spec) = 0;
};

}  // namespace underway::node
