#pragma once
/// @file
/// Gives Slurm jobs the virtual machines that they ask for, and takes them back: looks at Slurm's queue, has it decided
/// (plan.hpp), registers and ends the jobs that hold them, and ends Slurm jobs that cannot have what they ask for. Runs
/// in the agent that holds the server role.

#include "async/group.hpp"
#include "async/loop.hpp"
#include "machines/plan.hpp"
#include "server/server.hpp"
#include "slurm/commands.hpp"

namespace underway::machines {

class Controller {
 public:
  struct Options {
    Duration poll = std::chrono::seconds(1);           ///< of the queue: jobs wait in their prolog for it
    Duration patience = std::chrono::seconds(20);      ///< for one command
    Duration host_patience = std::chrono::seconds(5);  ///< for one host
  };
  /// All outlive it. `pool`: a long queue takes long to read.
  Controller(server::Server& server, async::Pool& pool, async::Executor executor, Options options);
  Controller(server::Server& server, async::Pool& pool, async::Executor executor)
      : Controller(server, pool, std::move(executor), Options{}) {}

  void start();
  async::awaitable<void> stop();

 private:
  server::FollowerOptions what_machines_follow();
  async::awaitable<void> reconcile();
  async::awaitable<void> look_after(std::string cluster);
  struct SlurmSays {
    std::optional<std::vector<SlurmJob>> jobs;  ///< nothing: it does not answer
    std::map<std::string, Given> given;
  };
  async::awaitable<void> ask_slurm(std::optional<slurm::Place> place, const Facts& facts, SlurmSays& says);
  async::awaitable<void> make(Order order);
  async::awaitable<void> end(std::string job, bool forget);
  async::awaitable<void> refuse(slurm::Place place, Refusal refusal);
  async::awaitable<void> tell_node(std::string node_id, std::string slurm_job, std::string reason);
  async::awaitable<std::string> command(slurm::Place place, Command words);

  server::Server& server_;
  async::Pool& pool_;
  Options options_;
  Duration took_{};  ///< what Slurm answered last, of the cluster that was slowest
  server::Follower follower_;
  async::TaskGroup tasks_;
};

}  // namespace underway::machines
