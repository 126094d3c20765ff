#include "node/task/driver_adapter.hpp"

#include <pwd.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "model/job/memory.hpp"
#include "node/detail/kept_task.hpp"
#include "node/fingerprint/topology.hpp"
#include "node/kernel_runtime.hpp"
#include "os/file.hpp"

extern char** environ;

namespace underway::node {

namespace {

driver::TaskMount::Propagation propagation(model::Propagation mode) {
  switch (mode) {
    case model::Propagation::isolated:
      return driver::TaskMount::Propagation::isolated;
    case model::Propagation::host_to_task:
      return driver::TaskMount::Propagation::host_to_task;
    case model::Propagation::bidirectional:
      return driver::TaskMount::Propagation::bidirectional;
  }
  return driver::TaskMount::Propagation::isolated;
}

driver::TaskSpec task_spec(const LaunchSpec& spec) {
  driver::TaskSpec out;
  out.alloc_id = spec.allocation_id;
  out.task = spec.task;
  out.node = spec.node_name;
  out.task_dir = spec.task_dir;
  out.alloc_dir = spec.shared_dir;
  out.keeper_dir = fmt::format("{}/private/run-{}", spec.task_dir, spec.attempt);
  out.cgroup = fmt::format("{}/{}/{}", spec.cgroup_parent, spec.allocation_id, spec.task);
  out.run_cgroup = fmt::format("{}/{}.runs/{}/{}", spec.cgroup_parent, spec.allocation_id, spec.task, spec.attempt);
  for (const auto& volume : spec.volumes)
    out.mounts.push_back({volume.path, volume.destination, volume.read_only, propagation(volume.propagation)});
  out.devices = spec.devices;
  out.network = {spec.network.namespace_path, spec.network.hostname, spec.network.hosts_file,
                 spec.network.resolver_file};
  out.arrived = spec.arrived;
  out.origin = spec.origin;
  out.restore = spec.restore;
  out.takes_in = spec.takes_in;
  out.config = spec.config;
  out.env = spec.environment;
  out.user = spec.user;
  out.may_be_root = model::holds(spec.rights, model::HostRight::root);
  out.low_ports = spec.low_ports && model::holds(spec.rights, model::HostRight::low_ports);
  out.cpu_shares = static_cast<std::uint64_t>(std::max<std::int64_t>(0, spec.cpu));
  out.memory_mb = static_cast<std::uint64_t>(std::max<std::int64_t>(0, spec.memory_mb));
  const std::int64_t most = model::most_memory_mb(spec.memory_mb, spec.memory_max_mb);
  out.memory_max_mb = spec.memory_max_mb == 0 ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(0, most));
  out.pids = static_cast<std::uint64_t>(std::max<std::int64_t>(0, spec.pids));
  const auto files = std::clamp<std::int64_t>(spec.log_files, 1, 1000);
  out.log_files = spec.log_disabled ? 0 : static_cast<std::uint32_t>(files);
  out.log_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(1, spec.log_file_bytes));
  return out;
}

/// The server has asked before, of what the job's file says. Here every variable has its value, and every user its
/// number: "toor" may be root. Blocks: yes (the name service).
void require_rights(const LaunchSpec& spec, bool user_of_image) {
  model::TaskOnHost task{spec.driver, spec.user, spec.config, spec.low_ports, spec.beside_container, {}};
  const auto user = user_of_image || spec.user.empty() ? std::nullopt : os::find_user(spec.user);
  if (user && user->uid == 0) task.user = "root";
  Error error(Code::denied, fmt::format("node '{}' does not start task '{}'", spec.node_name, spec.task));
  for (const auto& needed : model::rights_needed(task)) {
    if (!model::holds(spec.rights, needed.right))
      error.because(fmt::format("it {}, and namespace '{}' does not give the right '{}'", needed.what, spec.ns,
                                model::to_string(needed.right)));
  }
  if (error.reasons().empty()) return;
  throw error.advise(
      fmt::format("see `underway namespace status {}`; `underway namespace apply -allow-right` gives one", spec.ns));
}

}  // namespace

DriverAdapter::DriverAdapter(std::vector<std::unique_ptr<driver::Driver>> drivers, Runtime& runtime,
                             std::function<void()> on_leaving)
    : runtime_(runtime), on_leaving_(std::move(on_leaving)) {
  for (auto& driver : drivers) {
    std::string name = driver->name();
    drivers_.emplace(std::move(name), std::move(driver));
  }
}

void DriverAdapter::fingerprint(model::Node& node) {
  for (const auto& [name, driver] : drivers_) {
    const driver::Fingerprint found = driver->fingerprint();
    for (const auto& [key, value] : found.attributes) node.attributes[key] = value;
    node.drivers[name] = {found.detected, found.healthy, found.description, found.attributes};
    found_[name] = found;
  }
}

driver::Driver& DriverAdapter::get(const std::string& name) const {
  const auto it = drivers_.find(name);
  if (it == drivers_.end()) throw Error(Code::unsupported, fmt::format("there is no driver '{}' here", name));
  return *it->second;
}

std::optional<std::string> DriverAdapter::missing(const std::string& driver) const {
  const auto it = found_.find(driver);
  if (it == found_.end()) return fmt::format("this agent has no driver of that name");
  if (!it->second.healthy) return it->second.description.empty() ? "it is not healthy" : it->second.description;
  return std::nullopt;
}

std::vector<std::string> DriverAdapter::problems(const std::string& driver, const boost::json::value& config) const {
  return get(driver).validate(config);
}

std::string DriverAdapter::default_user(const std::string& driver) const {
  if (driver == "exec" || driver == "charliecloud") return "nobody";
  return std::to_string(::geteuid());
}

TaskPaths DriverAdapter::paths(const std::string& driver, const AllocationDirectory& directory,
                               const std::string& task) const {
  // These give their tasks a file tree of their own, with these names (driver.hpp).
  if (driver == "podman" || driver == "docker") return {"/alloc", "/local", "/secrets", true};
  if (driver == "exec" || driver == "capsule" || driver == "charliecloud") return {"/alloc", "/local", "/secrets"};
  return directory.host_paths(task);
}

void DriverAdapter::hold_cores(const driver::TaskSpec& task, const LaunchSpec& spec) {
  if (cores_.hold(task.keeper_dir, spec.cores)) move_shared();
}

void DriverAdapter::let_go(const std::string& run) {
  shared_.erase(run);
  if (cores_.let_go(run)) move_shared();
}

void DriverAdapter::move_shared() {
  const std::string cores = cores_.shared();
  for (const auto& [run, weak] : shared_)
    if (const auto task = weak.lock()) task->set_cpuset(cores);
}

std::shared_ptr<KeptTask> DriverAdapter::keep(std::unique_ptr<driver::TaskHandle> handle, const driver::TaskSpec& task,
                                              const LaunchSpec& spec) {
  auto kept = std::make_shared<KeptTask>(std::move(handle), task.keeper_dir, runtime_, on_leaving_,
                                         [this, run = task.keeper_dir] { let_go(run); });
  if (spec.cores.empty()) shared_[task.keeper_dir] = kept;
  return kept;
}

awaitable<std::shared_ptr<RunningTask>> DriverAdapter::start(LaunchSpec spec) {
  driver::TaskSpec task = task_spec(spec);
  driver::Driver& driver = get(spec.driver);
  if (!task.mounts.empty() && !driver.mounts())
    throw Error(Code::unsupported, fmt::format("task '{}' cannot mount its volumes", spec.task))
        .because(fmt::format("driver '{}' gives its tasks no file tree of their own", spec.driver))
        .advise("use the exec driver, or name the volume's directory on the node in the task's config");
  if (!task.network.namespace_path.empty() && !driver.joins_networks())
    throw Error(Code::unsupported, fmt::format("task '{}' cannot be in the network of its group", spec.task))
        .because(fmt::format("driver '{}' gives its tasks networks of its own", spec.driver))
        .advise("use mode \"host\" in the group's network block, or another driver");
  const bool user_of_image = paths(spec.driver, AllocationDirectory({}, {}), {}).image;
  const auto check = [&] { require_rights(spec, user_of_image); };
  co_await blocking(runtime_, check);
  std::unique_ptr<driver::TaskHandle> handle;
  std::vector<std::string> shortfalls;
  std::string kept_in;
  hold_cores(task, spec);
  task.cpuset = spec.cores.empty() ? cores_.shared() : to_text(spec.cores);
  try {
    const auto start = [&] {
      handle = driver.start(task);
      shortfalls = driver.shortfalls(task.config);
      kept_in = handle->kept_in();
    };
    co_await blocking(runtime_, start);
  } catch (...) {
    let_go(task.keeper_dir);
    throw;
  }
  auto kept = keep(std::move(handle), task, spec);
  kept->falls_short(std::move(shortfalls));
  kept->keeps_in(std::move(kept_in));
  // Others may have taken cores meanwhile.
  if (spec.cores.empty() && cores_.shared() != task.cpuset) kept->set_cpuset(cores_.shared());
  co_return kept;
}

awaitable<std::shared_ptr<RunningTask>> DriverAdapter::recover(LaunchSpec spec, boost::json::value) {
  const driver::TaskSpec task = task_spec(spec);
  driver::Driver& driver = get(spec.driver);
  std::unique_ptr<driver::TaskHandle> handle;
  std::string kept_in;
  const auto recover = [&] {
    handle = driver.recover(task);
    kept_in = handle->kept_in();
  };
  co_await blocking(runtime_, recover);
  hold_cores(task, spec);
  auto kept = keep(std::move(handle), task, spec);
  kept->keeps_in(std::move(kept_in));
  // Lost, and never was a process: the agent died between writing its intent down and the fork.
  if (const auto& described = kept->handle(); described.at("pid").to_number<std::int64_t>() == 0) {
    co_await kept->forget();
    co_return nullptr;
  }
  co_return kept;
}

awaitable<void> DriverAdapter::discard(LaunchSpec spec) {
  const driver::TaskSpec task = task_spec(spec);
  const auto found = drivers_.find(spec.driver);
  if (found == drivers_.end() || !os::exists(task.keeper_dir)) co_return;
  driver::Driver& driver = *found->second;
  try {
    co_await blocking(runtime_, [&] {
      const auto handle = driver.recover(task);
      if (handle->status().phase == driver::TaskStatus::Phase::running) handle->stop(SIGKILL, Duration{0});
      handle->wait(std::chrono::seconds{5});
      handle->destroy();
    });
  } catch (const Error& error) {
    log::warn("node: cannot clear away {}: {}; it is tried again with the allocation's directory", task.keeper_dir,
              error.one_line());
  }
}

awaitable<std::vector<protocol::KeptBase>> DriverAdapter::bases(std::string name, std::string directory) {
  const driver::Driver& driver = get(name);
  std::vector<protocol::KeptBase> found;
  const auto look = [&] {
    for (auto& base : driver.bases(directory))
      found.push_back({std::move(base.path), static_cast<std::int64_t>(base.bytes), std::move(base.sha256)});
  };
  co_await blocking(runtime_, look);
  co_return found;
}

awaitable<std::vector<protocol::TaskCheckpoint>> DriverAdapter::checkpoints(std::string name, std::string directory) {
  const driver::Driver& driver = get(name);
  std::vector<protocol::TaskCheckpoint> found;
  const auto look = [&] {
    for (auto& made : driver.checkpoints(directory)) found.push_back({{}, std::move(made.id), made.bytes, made.at});
  };
  co_await blocking(runtime_, look);
  co_return found;
}

awaitable<void> DriverAdapter::verify_checkpoint(std::string name, std::string directory, std::string id) {
  const driver::Driver& driver = get(name);
  co_await blocking(runtime_, [&] { driver.verify_checkpoint(directory, id); });
}

awaitable<std::string> DriverAdapter::why_not_live(std::string name, protocol::LiveMachine machine) {
  const driver::Driver& driver = get(name);
  const driver::LiveMachine asked{machine.why_not, machine.asked_for, machine.accelerator, machine.version,
                                  machine.processor};
  std::string why;
  const auto look = [&] { why = driver.why_not_live(asked); };
  co_await blocking(runtime_, look);
  co_return why;
}

awaitable<std::string> DriverAdapter::lacks(std::string name, std::vector<protocol::KeptBase> bases) {
  const auto found = missing(name);
  if (found) co_return *found;
  const driver::Driver& driver = get(name);
  std::string why;
  const auto look = [&] {
    std::vector<driver::KeptBase> asked;
    for (auto& base : bases)
      asked.push_back({std::move(base.path), static_cast<std::uint64_t>(base.bytes), std::move(base.sha256)});
    why = driver.lacks(asked);
  };
  co_await blocking(runtime_, look);
  co_return why;
}

awaitable<bool> DriverAdapter::reap_leftovers(bool end_them) {
  bool some = false;
  co_await blocking(runtime_, [&] {
    for (const auto& [name, driver] : drivers_) some |= driver->reap_leftovers(end_them);
  });
  co_return some;
}

std::shared_ptr<ExecSession> start_host_command(Runtime& runtime, const std::vector<std::string>& command, bool tty,
                                                int width, int height, const std::string& user_name,
                                                const std::string& cwd) {
  if (command.empty()) throw Error(Code::invalid, "no command is given");
  const os::User user = user_name.empty() ? os::current_user() : os::get_user(user_name);
  os::SpawnSpec spec;
  spec.argv = command;
  auto env = host_environment(environ);
  env["USER"] = env["LOGNAME"] = user.name;
  env["HOME"] = user.home.empty() ? "/" : user.home;
  if (!user.shell.empty()) env["SHELL"] = user.shell;
  if (tty && !env.contains("TERM")) env["TERM"] = "xterm-256color";
  spec.env = os::environment(env);
  spec.cwd = !cwd.empty() ? cwd : os::exists(env["HOME"]) ? env["HOME"] : "/";
  spec.new_session = true;
  if (!user_name.empty()) spec.user = user;
  if (tty) {
    os::Terminal terminal = os::open_terminal();
    os::resize_terminal(terminal.master, static_cast<unsigned short>(height > 0 ? height : 24),
                        static_cast<unsigned short>(width > 0 ? width : 80));
    if (!user_name.empty() && ::geteuid() == 0) (void)::fchown(terminal.slave.get(), user.uid, static_cast<gid_t>(-1));
    spec.in = spec.out = spec.err = terminal.slave.get();
    spec.terminal = true;
    os::Child child = os::spawn(spec);
    return std::make_shared<detail::ChildSession>(runtime.executor(), std::move(child), os::Fd(), os::Fd(), os::Fd(),
                                                  std::move(terminal.master));
  }
  os::Pipe in = os::open_pipe(), out = os::open_pipe(), err = os::open_pipe();
  spec.in = in.read.get();
  spec.out = out.write.get();
  spec.err = err.write.get();
  os::Child child = os::spawn(spec);
  return std::make_shared<detail::ChildSession>(runtime.executor(), std::move(child), std::move(in.write),
                                                std::move(out.read), std::move(err.read), os::Fd());
}

}  // namespace underway::node
