#include <signal.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "driver/confine.hpp"
#include "driver/local_task.hpp"
#include "driver/settings.hpp"

namespace underway::driver {
namespace {

using namespace settings;
using namespace local;

const std::vector<Key>& raw_exec_keys() {
  static const std::vector<Key> kKeys = {{"command", Kind::text, true},   {"args", Kind::texts},
                                         {"work_dir", Kind::text},        {"oom_score_adj", Kind::number},
                                         {"denied_envvars", Kind::texts}, {"kill_mode", Kind::text},
                                         {"ulimits", Kind::map},          {"delegate", Kind::flag}};
  return kKeys;
}

class RawExec final : public Driver {
 public:
  explicit RawExec(Options options) : options_(std::move(options)) {}

  std::string name() const override { return "raw_exec"; }
  bool joins_networks() const override { return true; }

  Fingerprint fingerprint() const override {
    return {.attributes = {{"driver.raw_exec", "1"}}, .detected = true, .healthy = true, .description = {}};
  }

  std::vector<std::string> validate(const boost::json::value& config) const override {
    auto found = problems(config, raw_exec_keys());
    if (!found.empty()) return found;
    found = kill_mode_problems(config);
    for (auto& problem : confinement_problems(config)) found.push_back(std::move(problem));
    const auto adjust = number(config, "oom_score_adj");
    if (adjust && (*adjust < -1000 || *adjust > 1000))
      found.push_back("config.oom_score_adj: must be from -1000 to 1000");
    const auto directory = text(config, "work_dir");
    if (!directory.empty() && directory[0] != '/' && !directory.starts_with("${")) {
      found.push_back("config.work_dir: must be an absolute path");
    }
    return found;
  }

  std::vector<std::string> shortfalls(const boost::json::value& config) const override {
    return lowered_limits(config);
  }

  std::unique_ptr<TaskHandle> start(const TaskSpec& spec) override {
    require_none(validate(spec.config));
    const auto env = environment(spec);
    const auto user = user_of_task(spec);
    prepare_directories(spec, user.value_or(os::current_user()));
    const auto network = network_of(spec);
    LocalLaunch launch;
    launch.network = network ? &*network : nullptr;
    launch.limits = limits(spec);
    launch.kill_mode = kill_mode(spec.config);
    launch.plan = [&](const os::Cgroup& group) {
      os::LaunchPlan plan;
      for (const auto& file : group.join_files()) plan.write_file(file, "0");
      // The keeper is spared by the kernel's out-of-memory killer; the task shall not inherit that.
      plan.optionally().write_file("/proc/self/oom_score_adj",
                                   std::to_string(number(spec.config, "oom_score_adj").value_or(0)));
      plan.new_session().change_directory(work_dir(spec));
      for (const auto& limit : limits_of(spec.config)) plan.limit(limit.resource, limit.soft, limit.hard);
      if (user) plan.become(*user);
      plan.parent_death_signal(SIGKILL);
      std::vector<std::string> argv = {text(spec.config, "command")};
      for (auto& argument : texts(spec.config, "args")) argv.push_back(std::move(argument));
      return plan.exec(candidates_of(argv[0], {spec.task_dir + "/local", spec.task_dir}, env), argv,
                       os::environment(env));
    };
    return LocalTask::start(options_, spec, launch, command(spec), entered_network(spec));
  }

  std::unique_ptr<TaskHandle> recover(const TaskSpec& spec) override {
    return LocalTask::recover(options_, spec, command(spec), entered_network(spec));
  }

  bool reap_leftovers(bool end_them) override { return local::reap_leftovers(options_, end_them); }

 private:
  static std::string work_dir(const TaskSpec& spec) {
    const auto directory = text(spec.config, "work_dir");
    return directory.empty() ? spec.task_dir : directory;
  }

  static std::map<std::string, std::string> environment(const TaskSpec& spec) {
    auto env = environment_of(spec);
    const auto denied = texts(spec.config, "denied_envvars");
    std::erase_if(env, [&](const auto& variable) {
      return std::any_of(denied.begin(), denied.end(), [&](const auto& d) { return glob_match(d, variable.first); });
    });
    env.emplace("PATH", os::kDefaultPath);
    return env;
  }

  /// What it delegates is others' work: neither its weight nor its number of processes is a measure for that.
  os::CgroupLimits limits(const TaskSpec& spec) const {
    auto limits = common_limits(options_, spec);
    if (flag(spec.config, "delegate")) {
      limits.cpu_shares.reset();
      // The node fills in its default where the job says nothing.
      if (spec.pids == 0 || spec.pids == options_.default_pids) limits.pids_max.reset();
    }
    return limits;
  }

  /// Nothing: the agent's own, as it is.
  static std::optional<os::User> user_of_task(const TaskSpec& spec) {
    if (spec.user.empty()) return std::nullopt;
    auto user = user_of(spec, spec.user);
    if (user.uid == ::geteuid()) return std::nullopt;
    if (::geteuid() != 0) {
      throw Error(Code::denied, fmt::format("cannot start task {} as user '{}'", describe(spec), spec.user))
          .because(fmt::format("the agent on node '{}' does not run as root", spec.node));
    }
    return user;
  }

  static CommandTemplate command(const TaskSpec& spec) {
    return [spec] {
      os::SpawnSpec command;
      command.env = os::environment(environment(spec));
      command.cwd = work_dir(spec);
      command.user = user_of_task(spec);
      command.limits = limits_of(spec.config);
      return command;
    };
  }

  Options options_;
};

}  // namespace

std::unique_ptr<Driver> make_raw_exec(Options options) { return std::make_unique<RawExec>(std::move(options)); }

std::vector<std::string> raw_exec_problems(const boost::json::value& config) {
  return RawExec({.cgroups = {}}).validate(config);
}

}  // namespace underway::driver
