#include "driver/local_task.hpp"
#include "driver/settings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "base/json/enumerators.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::driver {

std::string_view to_string(TaskStatus::Phase phase) { return name_of(phase); }

namespace local {

using settings::text;

namespace {

/// Context of a cgroup's entry once its run is over and something lives on in it.
constexpr std::string_view kLeft = "left running";

void settle_cgroup(os::Ledger& ledger, const std::string& cgroup) {
  for (const auto& open : ledger.unsettled()) {
    if (open.item.kind == "cgroup" && open.item.object == cgroup) ledger.settle(open.id);
  }
}

/// The entry of a run becomes that of a leftover. Idempotent: an agent may be killed at any point and come back.
void leave_cgroup(os::Ledger& ledger, const std::string& cgroup, const std::string& alloc_id) {
  bool known = false;
  for (const auto& open : ledger.unsettled()) {
    known = known || (open.item.kind == "cgroup" && open.item.object == cgroup && open.item.context == kLeft);
  }
  if (!known) {
    static_cast<void>(
        ledger.record({.kind = "cgroup", .object = cgroup, .context = std::string(kLeft), .owner = alloc_id}));
  }
  for (const auto& open : ledger.unsettled()) {
    if (open.item.kind == "cgroup" && open.item.object == cgroup && open.item.context.empty()) ledger.settle(open.id);
  }
}

/// A group that is only looked at: unlike one of our own, it does not end with everything inside when this does.
class Visited {
 public:
  Visited(const os::CgroupSystem& cgroups, const std::string& path) : group_(os::Cgroup::find(cgroups, path)) {}
  Visited(const Visited&) = delete;
  ~Visited() {
    if (group_) group_->release();
  }
  explicit operator bool() const { return group_.has_value(); }
  os::Cgroup* operator->() { return &*group_; }
  std::vector<pid_t> processes() const { return group_ ? group_->processes() : std::vector<pid_t>(); }

 private:
  std::optional<os::Cgroup> group_;
};

const std::string& cgroup_of(const TaskSpec& spec, keeper::KillMode mode) {
  return mode == keeper::KillMode::process ? spec.run_cgroup : spec.cgroup;
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
  keeper.adopts = launch.adopts;
  keeper.logs = {spec.alloc_dir + "/logs", spec.task, spec.log_files, spec.log_bytes};
  keeper.cgroup = group.path();
  keeper.kill_mode = launch.kill_mode;
  keeper.network = launch.network;
  return keeper;
}

}  // namespace

std::vector<std::string> kill_mode_problems(const boost::json::value& config) {
  const auto mode = text(config, "kill_mode");
  if (mode.empty() || mode == to_text(keeper::KillMode::control_group) || mode == to_text(keeper::KillMode::process))
    return {};
  return {"config.kill_mode: must be 'control-group' or 'process'"};
}

keeper::KillMode kill_mode(const boost::json::value& config) {
  return text(config, "kill_mode") == to_text(keeper::KillMode::process) ? keeper::KillMode::process
                                                                         : keeper::KillMode::control_group;
}

LocalTask::LocalTask(const Options& options, const TaskSpec& spec, keeper::Client client, CommandTemplate command,
                     int entered)
    : cgroups_(options.cgroups),
      ledger_(options.ledger),
      alloc_id_(spec.alloc_id),
      whole_cgroup_(spec.cgroup),
      run_cgroup_(spec.run_cgroup),
      description_(describe(spec)),
      client_(std::move(client)),
      command_(std::move(command)),
      entered_(entered),
      cgroup_(cgroup_of(spec, client_.state().kill_mode)) {
  take_status();
}

std::unique_ptr<TaskHandle> LocalTask::start(const Options& options, const TaskSpec& spec, const LocalLaunch& launch,
                                             CommandTemplate command, int entered) {
  const std::string& cgroup = cgroup_of(spec, launch.kill_mode);
  if (options.ledger != nullptr) {
    static_cast<void>(options.ledger->record({.kind = "cgroup", .object = cgroup, .owner = spec.alloc_id}));
  }
  try {
    // Removed with everything inside if anything below throws.
    auto group = os::Cgroup::create(options.cgroups, cgroup, launch.limits);
    auto client = keeper::Client::launch(keeper_spec(options, spec, launch, group), options.cgroups);
    group.release();
    return std::unique_ptr<TaskHandle>(new LocalTask(options, spec, std::move(client), std::move(command), entered));
  } catch (Error& e) {
    os::Cgroup::prune_parents(options.cgroups, cgroup);
    if (options.ledger != nullptr) settle_cgroup(*options.ledger, cgroup);
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
  // The group that dies with a killed keeper; there is none of that name if the run has one that does not.
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
  if (status_.phase != TaskStatus::Phase::running) status_.left_running = left_running();
}

std::map<std::string, std::size_t> LocalTask::left_running() const {
  std::map<std::string, std::size_t> programs;
  if (client_.state().kill_mode != keeper::KillMode::process) return programs;
  for (const pid_t pid : Visited(cgroups_, cgroup_).processes()) {
    const auto name = os::find_file(fmt::format("/proc/{}/comm", pid));
    if (name) ++programs[std::string(trim(*name))];  // else it has ended meanwhile
  }
  return programs;
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

void LocalTask::set_cpuset(const std::string& cores) {
  if (Visited group(cgroups_, cgroup_); group && !cores.empty()) group->set({.cpuset = cores});
}

int LocalTask::spaces_to_enter() const {
  // Nobody may enter the user namespace that he is in (setns(2)), and not every run has one of its own.
  std::error_code unknown;
  const auto path = [](const std::string& of) { return fmt::format("/proc/{}/ns/user", of); };
  const auto ours = std::filesystem::read_symlink(path("self"), unknown);
  const auto its = std::filesystem::read_symlink(path(std::to_string(client_.task().pid)), unknown);
  return ours == its ? entered_ & ~CLONE_NEWUSER : entered_;
}

uid_t LocalTask::host_uid(uid_t uid) const {
  if ((entered_ & CLONE_NEWUSER) == 0) return uid;
  const auto map = os::parse_id_map(os::find_file(fmt::format("/proc/{}/uid_map", client_.task().pid)).value_or(""));
  return os::find_outside(map, uid).value_or(uid);
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
  const int entered = spaces_to_enter();
  const auto space = os::Namespace::of_pidfd(pidfd->release(), entered);
  if (entered != 0) spec.join = {&space};
  if (auto group = os::Cgroup::find(cgroups_, cgroup_)) {
    spec.join_cgroup = group->join_files();
    group->release();
  }
  if (request.terminal) {
    os::Terminal terminal = os::open_terminal();
    os::resize_terminal(terminal.master, request.rows, request.columns);
    if (spec.user && ::fchown(terminal.slave.get(), host_uid(spec.user->uid), static_cast<gid_t>(-1)) != 0) {
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
  // Both groups, whichever it was: the state that would tell may be lost.
  const bool leaves = !Visited(cgroups_, run_cgroup_).processes().empty();
  // Before the keeper's directory goes: until then an agent that is killed here comes back to this run.
  if (leaves && ledger_ != nullptr) leave_cgroup(*ledger_, run_cgroup_, alloc_id_);
  client_.collect();
  for (const auto& cgroup : {whole_cgroup_, run_cgroup_}) {
    if (leaves && cgroup == run_cgroup_) continue;
    if (auto group = os::Cgroup::find(cgroups_, cgroup)) group->remove();
    os::Cgroup::prune_parents(cgroups_, cgroup);
    if (ledger_ != nullptr) settle_cgroup(*ledger_, cgroup);
  }
}

std::optional<os::Namespace> network_of(const TaskSpec& spec) {
  if (spec.network.namespace_path.empty()) return std::nullopt;
  return os::Namespace::open(spec.network.namespace_path, CLONE_NEWNET);
}

int entered_network(const TaskSpec& spec) { return spec.network.namespace_path.empty() ? 0 : CLONE_NEWNET; }

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

bool reap_leftovers(const Options& options, bool end_them) {
  if (options.ledger == nullptr) return false;
  bool some = false;
  for (const auto& open : options.ledger->unsettled()) {
    if (open.item.kind != "cgroup" || open.item.context != kLeft) continue;
    const std::string& path = open.item.object;
    if (Visited group(options.cgroups, path); group && end_them) {
      group->remove();
    } else if (group && !group->remove_if_empty()) {
      some = true;
      continue;
    }
    os::Cgroup::prune_parents(options.cgroups, path);
    options.ledger->settle(open.id);
  }
  return some;
}

}  // namespace local
}  // namespace underway::driver
