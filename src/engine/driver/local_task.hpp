#pragma once
/// @file
/// What drivers share whose task is a process of this machine, in a cgroup, under a keeper. For those who write a
/// driver.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/driver.hpp"
#include "keeper/client.hpp"
#include "os/process/launch_plan.hpp"

namespace underway::driver::local {

/// Where a command of alloc exec runs, and as whom; namespaces and cgroup are added by LocalTask.
using CommandTemplate = std::function<os::SpawnSpec()>;

struct LocalLaunch {
  os::CgroupLimits limits;
  /// Given the join files of the cgroup, everything up to exec.
  std::function<os::LaunchPlan(const os::Cgroup&)> plan;
  int namespaces = 0;
  bool own_process_numbers = false;
  /// As keeper::LaunchSpec::adopts.
  bool adopts = false;
  keeper::KillMode kill_mode = keeper::KillMode::control_group;
  /// As keeper::LaunchSpec::network.
  const os::Namespace* network = nullptr;
};

/// Of the drivers' `kill_mode`; what is not known is a problem, in words.
std::vector<std::string> kill_mode_problems(const boost::json::value& config);
/// Of a config without problems.
keeper::KillMode kill_mode(const boost::json::value& config);

class LocalTask final : public TaskHandle {
 public:
  /// `entered`: the namespaces that exec enters, CLONE_NEW* bits.
  static std::unique_ptr<TaskHandle> start(const Options& options, const TaskSpec& spec, const LocalLaunch& launch,
                                           CommandTemplate command, int entered);
  static std::unique_ptr<TaskHandle> recover(const Options& options, const TaskSpec& spec, CommandTemplate command,
                                             int entered);

  int fd() const override { return client_.fd(); }
  bool poll() override;
  const TaskStatus& status() const override { return status_; }
  bool wait(Duration within) override;
  void signal(int number) override { client_.signal(number); }
  void stop(int number, Duration grace) override { client_.stop(number, grace); }
  os::CgroupStats usage() const override;
  void set_cpuset(const std::string& cores) override;
  ExecSession exec(const ExecRequest& request) override;
  void destroy() override;

 private:
  LocalTask(const Options& options, const TaskSpec& spec, keeper::Client client, CommandTemplate command, int entered);
  void take_status();
  std::map<std::string, std::size_t> left_running() const;
  /// Of `entered_`, those that are not the agent's own.
  int spaces_to_enter() const;
  /// Of a user as a command beside the task is told of it.
  uid_t host_uid(uid_t uid) const;

  os::CgroupSystem cgroups_;
  os::Ledger* ledger_;
  std::string alloc_id_;
  std::string whole_cgroup_, run_cgroup_;
  std::string description_;
  keeper::Client client_;
  CommandTemplate command_;
  int entered_;
  /// Of the two, the one that it is in.
  std::string cgroup_;
  TaskStatus status_;
};

/// The namespace of the task's group; nothing: the machine's.
std::optional<os::Namespace> network_of(const TaskSpec& spec);
/// CLONE_NEWNET when it has one, for those that a command beside the task enters.
int entered_network(const TaskSpec& spec);
/// As Driver::reap_leftovers.
bool reap_leftovers(const Options& options, bool end_them);
/// "7f3a9c12/web": what ps shows of the keeper and errors say of the task.
std::string describe(const TaskSpec& spec);
/// The task's environment with a PATH.
std::map<std::string, std::string> environment_of(const TaskSpec& spec);
/// Throws not_found, naming user, task and node.
os::User user_of(const TaskSpec& spec, const std::string& name);
/// Makes task_dir's `local`, `secrets` and `tmp` if missing and gives them, not what lies in them, to `user`.
void prepare_directories(const TaskSpec& spec, const os::User& user);
/// Where a command is looked for: absolute as it is, else below each of `directories`, then along PATH.
std::vector<std::string> candidates_of(const std::string& command, const std::vector<std::string>& directories,
                                       const std::map<std::string, std::string>& env);
/// CPU weight, processes, processors.
os::CgroupLimits common_limits(const Options& options, const TaskSpec& spec);

}  // namespace underway::driver::local
