#pragma once
/// @file
/// Tries the forecast of each growing cluster on its own jobs, once a day and whenever it is declared otherwise: asks
/// Slurm's accounting day by day, the newest first, replays, and writes down what was found (trial.hpp). Runs in the
/// agent that holds the server role.

#include "async/group.hpp"
#include "async/loop.hpp"
#include "async/loop_clock.hpp"
#include "growth/forecast/trial.hpp"
#include "server/server.hpp"
#include "slurm/commands.hpp"

namespace underway::growth {

class ForecastTrials {
 public:
  struct Options {
    Duration look = std::chrono::minutes(1);          ///< whether one is due
    Duration patience = std::chrono::minutes(2);      ///< for the jobs of a day
    Duration longest_pause = std::chrono::hours(24);  ///< after trials that failed; the first is a look's
  };
  /// All outlive it. `pool`: replays take seconds.
  ForecastTrials(server::Server& server, async::Pool& pool, async::Executor executor, Options options);
  ForecastTrials(server::Server& server, async::Pool& pool, async::Executor executor)
      : ForecastTrials(server, pool, std::move(executor), Options{}) {}

  void start();
  async::awaitable<void> stop();

 private:
  struct Failed {
    std::string of;  ///< digest, as of ForecastTrial
    Duration pause{};
    async::LoopClock::time_point next;
  };
  server::FollowerOptions what_trials_follow();
  async::awaitable<void> reconcile();
  async::awaitable<void> look_after(const std::string& cluster);
  async::awaitable<ForecastTrial> hold(std::shared_ptr<const ClusterFacts> facts, slurm::Place place);
  void failed(const std::string& cluster, const std::string& digest);

  server::Server& server_;
  async::Pool& pool_;
  Options options_;
  std::map<std::string, Failed> failed_;  ///< by cluster
  server::Follower follower_;
  async::TaskGroup tasks_;
};

}  // namespace underway::growth
