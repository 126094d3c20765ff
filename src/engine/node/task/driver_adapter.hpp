#pragma once
/// @file
/// The drivers as the runners see them: what blocks (mounting, starting a keeper, reading its result) is done on the
/// pool, and the end of a task is something to wait for.

#include <functional>
#include <map>
#include <memory>

#include "driver/driver.hpp"
#include "node/fingerprint/core_partition.hpp"
#include "node/runtime.hpp"

namespace underway::node {

class KeptTask;

class DriverAdapter final : public TaskDrivers {
 public:
  /// `on_leaving` is called when the end of a task that left processes running has been dealt with.
  DriverAdapter(std::vector<std::unique_ptr<driver::Driver>> drivers, Runtime& runtime,
                std::function<void()> on_leaving);

  /// Adds `driver.*` attributes and the drivers' health to `node`. Blocks: yes.
  void fingerprint(model::Node& node);
  /// Before anything is started: the cores that tasks may run on.
  void use_cores(std::vector<std::int64_t> usable) { cores_ = CorePartition(std::move(usable)); }

  std::optional<std::string> missing(const std::string& driver) const override;
  std::vector<std::string> problems(const std::string& driver, const boost::json::value& config) const override;
  std::string default_user(const std::string& driver) const override;
  TaskPaths paths(const std::string& driver, const AllocationDirectory& directory,
                  const std::string& task) const override;
  awaitable<std::shared_ptr<RunningTask>> start(LaunchSpec spec) override;
  awaitable<std::shared_ptr<RunningTask>> recover(LaunchSpec spec, boost::json::value handle) override;
  awaitable<void> discard(LaunchSpec spec) override;
  awaitable<std::vector<protocol::KeptBase>> bases(std::string driver, std::string directory) override;
  awaitable<std::vector<protocol::TaskCheckpoint>> checkpoints(std::string driver, std::string directory) override;
  awaitable<void> verify_checkpoint(std::string driver, std::string directory, std::string id) override;
  awaitable<std::string> lacks(std::string driver, std::vector<protocol::KeptBase> bases) override;
  awaitable<std::string> why_not_live(std::string driver, protocol::LiveMachine machine) override;
  /// As driver::Driver.
  awaitable<bool> reap_leftovers(bool end_them);

 private:
  driver::Driver& get(const std::string& name) const;
  /// Notes what a run holds; those that hold nothing are moved when that leaves them other cores.
  void hold_cores(const driver::TaskSpec& task, const LaunchSpec& spec);
  std::shared_ptr<KeptTask> keep(std::unique_ptr<driver::TaskHandle> handle, const driver::TaskSpec& task,
                                 const LaunchSpec& spec);
  void let_go(const std::string& run);
  void move_shared();

  std::map<std::string, std::unique_ptr<driver::Driver>> drivers_;
  std::map<std::string, driver::Fingerprint> found_;
  Runtime& runtime_;
  std::function<void()> on_leaving_;
  CorePartition cores_;
  std::map<std::string, std::weak_ptr<KeptTask>> shared_;  ///< runs without cores of their own, by keeper directory
};

/// A command of the host itself, in the agent's own namespaces. Throws not_found for a missing user or command.
std::shared_ptr<ExecSession> start_host_command(Runtime& runtime, const std::vector<std::string>& command, bool tty,
                                                int width, int height, const std::string& user, const std::string& cwd);

}  // namespace underway::node
