#pragma once
/// @file
/// `drain -slurm`: the Slurm node is set to drain, its Slurm jobs are waited for, and Slurm gets the node back when new
/// allocations may come to it again. What Slurm was told stands in the node's row (model::SlurmDrain), so that the wait
/// goes on wherever the server runs next.

#include "async/group.hpp"
#include "server/server.hpp"
#include "slurm/queue.hpp"

namespace underway::slurm {

/// What is to be done next about a node that Slurm was (or is to be) asked for.
enum class DrainStep {
  none,
  tell,       ///< `scontrol update … state=drain`
  wait,       ///< for its Slurm jobs
  release,    ///< Slurm is done with it: the drain goes on
  hand_back,  ///< `scontrol update … state=resume`
  forget,     ///< there is nothing (more) to hand back
};
struct DrainVerdict {
  DrainStep step = DrainStep::none;
  std::vector<std::string> names;  ///< Slurm's, for tell and hand_back; those waited for otherwise
};
/// `nodes`: what Slurm says of the names that share the node's host.
DrainVerdict decide_slurm_drain(const model::Node& node, const std::vector<NodeState>& nodes);

/// "waits for 2 Slurm jobs on c3 (17, 18)".
std::string waiting_text(const std::vector<std::string>& names,
                         const std::map<std::string, std::vector<std::string>>& jobs);

/// The allocation beside which Slurm's commands are run for the node: one that runs slurmctld as a task or in a
/// capsule, of the node's cluster before others; null when there is none.
tables::Row<model::Allocation> controller_for(const tables::Tables& tables, const model::Node& node);

class DrainController {
 public:
  struct Options {
    Duration poll = std::chrono::seconds(2);
    Duration patience = std::chrono::seconds(20);  ///< for one command
  };
  /// Both outlive the controller.
  DrainController(server::Server& server, async::Executor executor, Options options);
  DrainController(server::Server& server, async::Executor executor)
      : DrainController(server, std::move(executor), Options{}) {}

  void start();
  async::awaitable<void> stop();

 private:
  using Nodes = std::vector<tables::Row<model::Node>>;
  async::awaitable<void> wait_for_drains();
  async::awaitable<void> reconcile();
  async::awaitable<void> reconcile_with(tables::Row<model::Allocation> controller, Nodes nodes);
  async::awaitable<std::string> command(tables::Row<model::Allocation> controller, std::vector<std::string> words);
  /// Writes down how far it is; nothing: it is over.
  async::awaitable<void> record(std::string node_id, std::optional<model::SlurmDrainStatus> status,
                                std::string description);
  async::awaitable<void> record_failure(Nodes nodes, std::string why);

  server::Server& server_;
  Options options_;
  server::Follower follower_;
  async::TaskGroup tasks_;
};

}  // namespace underway::slurm
