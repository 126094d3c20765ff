#include "detail/local_task.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::driver {

std::string_view to_string(TaskStatus::Phase phase) {
  switch (phase) {
    case TaskStatus::Phase::running:
      return "running";
    case TaskStatus::Phase::exited:
      return "exited";
    case TaskStatus::Phase::lost:
      return "lost";
  }
  return "lost";
}

namespace detail {
namespace {

void settle_cgroup(os::Ledger* ledger, const std::string& cgroup) {
  if (ledger == nullptr) return;
  for (const auto& open : ledger->unsettled()) {
    if (open.item.kind == "cgroup" && open.item.object == cgroup) ledger->settle(open.id);
  }
}

keeper::LaunchSpec keeper_spec(const Options& options, const TaskSpec& spec, const LocalLaunch& launch,
                               const os::Cgroup& group) {
  keeper::LaunchSpec keeper;
  keeper.program = options.keeper_program;
  keeper.directory = spec.keeper_dir;
  keeper.description = describe(spec);
  keeper.plan = launch.plan(group);
  keeper.namespaces = launch.namespaces;
  keeper.own_process_numbers = launch.own_process_numbers;
  keeper.logs = {spec.alloc_dir + "/logs", spec.task, spec.log_files, spec.log_bytes};
  keeper.cgroup = spec.cgroup;
  return keeper;
}

}  // namespace

LocalTask::LocalTask(const Options& options, const TaskSpec& spec, keeper::Client client, CommandTemplate command,
                     int entered)
    : cgroups_(options.cgroups),
      ledger_(options.ledger),
      cgroup_(spec.cgroup),
      description_(describe(spec)),
      client_(std::move(client)),
      command_(std::move(command)),
      entered_(entered) {
  take_status();
}

std::unique_ptr<TaskHandle> LocalTask::start(const Options& options, const TaskSpec& spec, const LocalLaunch& launch,
                                             CommandTemplate command, int entered) {
  if (options.ledger != nullptr) {
    static_cast<void>(options.ledger->record({.kind = "cgroup", .object = spec.cgroup, .owner = spec.alloc_id}));
  }
  try {
    // Removed with everything inside if anything below throws.
    auto group = os::Cgroup::create(options.cgroups, spec.cgroup, launch.limits);
    auto client = keeper::Client::launch(keeper_spec(options, spec, launch, group), options.cgroups);
    group.release();
    return std::unique_ptr<TaskHandle>(new LocalTask(options, spec, std::move(client), std::move(command), entered));
  } catch (Error& e) {
    os::Cgroup::prune_parents(options.cgroups, spec.cgroup);
    settle_cgroup(options.ledger, spec.cgroup);
    e.because(fmt::format("on node '{}'", spec.node)).while_doing(fmt::format("starting task {}", describe(spec)));
    throw;
  }
}

namespace {

/// What templates and tokens gave the task at its start nobody but its process knows any more.
CommandTemplate with_environment_of(const os::ProcessIdentity& task, CommandTemplate command) {
  return [task, command = std::move(command)] {
    os::SpawnSpec spec = command();
    auto variables = os::initial_environment(task);
    for (const auto& known : spec.env) variables.erase(known.substr(0, known.find('=')));
    for (auto& variable : os::environment(variables)) spec.env.push_back(std::move(variable));
    return spec;
  };
}

}  // namespace

std::unique_ptr<TaskHandle> LocalTask::recover(const Options& options, const TaskSpec& spec, CommandTemplate command,
                                               int entered) {
  auto client = keeper::Client::attach(spec.keeper_dir, spec.cgroup, options.cgroups);
  command = with_environment_of(client.task(), std::move(command));
  return std::unique_ptr<TaskHandle>(new LocalTask(options, spec, std::move(client), std::move(command), entered));
}

void LocalTask::take_status() {
  const keeper::State& state = client_.state();
  status_.process = client_.task();
  status_.exit = {.code = state.code, .signal = state.signal};
  status_.oom_killed = state.oom_killed;
  status_.started = from_unix_nanos(state.started);
  status_.finished = from_unix_nanos(state.finished);
  status_.log_bytes_lost = state.dropped;
  switch (state.phase) {
    case keeper::Phase::starting:
    case keeper::Phase::running:
      status_.phase = TaskStatus::Phase::running;
      break;
    case keeper::Phase::exited:
      status_.phase = TaskStatus::Phase::exited;
      break;
    // `failed` here means that the agent died while it started the task, which then never ran.
    case keeper::Phase::failed:
    case keeper::Phase::lost:
      status_.phase = TaskStatus::Phase::lost;
      break;
  }
}

bool LocalTask::poll() {
  const bool changed = client_.poll();
  if (changed) take_status();
  return changed;
}

bool LocalTask::wait(Duration within) {
  const bool ended = client_.wait(within);
  take_status();
  return ended;
}

os::CgroupStats LocalTask::usage() const {
  auto group = os::Cgroup::find(cgroups_, cgroup_);
  if (!group) return {};
  const auto stats = group->stats();
  group->release();
  return stats;
}

ExecSession LocalTask::exec(const ExecRequest& request) {
  const auto gone = [&] {
    return Error(Code::conflict, fmt::format("cannot run a command in task {}", description_)).because("it has ended");
  };
  if (client_.ended() || request.argv.empty()) throw gone();
  auto pidfd = os::Pidfd::find(client_.task());
  if (!pidfd) throw gone();
  os::SpawnSpec spec = command_();
  spec.argv = request.argv;
  spec.new_session = true;
  spec.oom_score_adj = 0;
  const auto space = os::Namespace::of_pidfd(pidfd->release(), entered_);
  if (entered_ != 0) spec.join = {&space};
  if (auto group = os::Cgroup::find(cgroups_, cgroup_)) {
    spec.join_cgroup = group->join_files();
    group->release();
  }
  if (request.terminal) {
    os::Terminal terminal = os::open_terminal();
    os::resize_terminal(terminal.master, request.rows, request.columns);
    if (spec.user && ::fchown(terminal.slave.get(), spec.user->uid, static_cast<gid_t>(-1)) != 0) {
      throw errno_error(errno, "cannot give the terminal to the task's user");
    }
    spec.in = spec.out = spec.err = terminal.slave.get();
    spec.terminal = true;
    auto child = os::spawn(spec);
    return {.child = std::move(child), .in = {}, .out = {}, .err = {}, .terminal = std::move(terminal.master)};
  }
  os::Pipe in = os::open_pipe(), out = os::open_pipe(), err = os::open_pipe();
  spec.in = in.read.get();
  spec.out = out.write.get();
  spec.err = err.write.get();
  auto child = os::spawn(spec);
  return {.child = std::move(child),
          .in = std::move(in.write),
          .out = std::move(out.read),
          .err = std::move(err.read),
          .terminal = {}};
}

void LocalTask::destroy() {
  client_.collect();
  if (auto group = os::Cgroup::find(cgroups_, cgroup_)) group->remove();
  os::Cgroup::prune_parents(cgroups_, cgroup_);
  settle_cgroup(ledger_, cgroup_);
}

std::string describe(const TaskSpec& spec) { return fmt::format("{}/{}", spec.alloc_id.substr(0, 8), spec.task); }

std::map<std::string, std::string> environment_of(const TaskSpec& spec) {
  auto env = spec.env;
  env.emplace("PATH", os::kDefaultPath);
  return env;
}

os::User user_of(const TaskSpec& spec, const std::string& name) {
  if (auto user = os::find_user(name)) return *std::move(user);
  throw Error(Code::not_found, fmt::format("cannot start task {}", describe(spec)))
      .because(fmt::format("there is no user '{}' on node '{}'", name, spec.node))
      .advise(fmt::format("create the user there, or set another `user` in task '{}'", spec.task));
}

void prepare_directories(const TaskSpec& spec, const os::User& user) {
  os::make_directories(spec.task_dir, 0755);
  os::make_directories(spec.alloc_dir, 0777);
  const struct {
    const char* name;
    mode_t mode;
  } kDirectories[] = {{"local", 0755}, {"secrets", 0700}, {"tmp", 01777}};
  for (const auto& [name, mode] : kDirectories) {
    const std::string path = spec.task_dir + "/" + name;
    os::make_directories(path, mode);
    // By descriptor: an earlier run of the task may have put a link there.
    const os::Fd fd = os::open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    struct stat st{};
    if (::fstat(fd.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", path));
    if (st.st_uid != user.uid && ::fchown(fd.get(), user.uid, user.gid) != 0) {
      throw errno_error(errno, fmt::format("cannot give '{}' to user '{}'", path, user.name));
    }
  }
}

std::vector<std::string> candidates_of(const std::string& command, const std::vector<std::string>& directories,
                                       const std::map<std::string, std::string>& env) {
  if (command.starts_with('/')) return {command};
  std::vector<std::string> candidates;
  candidates.reserve(directories.size());
  for (const auto& directory : directories) {
    candidates.push_back(fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", command));
  }
  if (command.find('/') != std::string::npos) return candidates;
  for (auto& path : os::command_candidates(command, env.at("PATH"))) candidates.push_back(std::move(path));
  return candidates;
}

os::CgroupLimits common_limits(const Options& options, const TaskSpec& spec) {
  os::CgroupLimits limits;
  if (spec.cpu_shares != 0) limits.cpu_shares = spec.cpu_shares;
  limits.pids_max = spec.pids != 0 ? spec.pids : options.default_pids;
  if (!spec.cpuset.empty()) limits.cpuset = spec.cpuset;
  return limits;
}

}  // namespace detail
}  // namespace underway::driver
