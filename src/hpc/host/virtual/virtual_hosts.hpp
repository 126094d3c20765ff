#pragma once
/// @file
/// Makes the hosts of pools with provider "qemu": keeps the job of each pool (pool_job.hpp) as its hosts are, and
/// records what becomes of their machines. Runs in the agent that holds the server role, beside the host controller,
/// which gives hosts their names and addresses and leaves these alone.

#include "async/group.hpp"
#include "async/loop.hpp"
#include "host/virtual/pool_job.hpp"
#include "server/server.hpp"

namespace underway::host {

struct VirtualHostsOptions {
  /// A join token for the agent of a new machine.
  std::function<async::awaitable<std::string>(std::string cluster, std::string host, std::string pool)> join_token;
  /// Where the agents in machines on these networks link to; asked at each look, as a server that was started again has
  /// to listen there again. Errors: what keeps the server from listening there.
  std::function<std::string(const model::Cluster&)> server_address;
  Duration retry_after = std::chrono::seconds(5);    ///< at most
  Duration gather = std::chrono::milliseconds(100);  ///< from the first change to a look: machines come in crowds
};

class VirtualHosts {
 public:
  /// All outlive it. `pool`: for the job of a large pool, which takes long to write down.
  VirtualHosts(server::Server& server, async::Pool& pool, async::Executor executor, VirtualHostsOptions options);

  void start();
  async::awaitable<void> stop();

 private:
  /// What a pool's job was made of: as long as that stays there is nothing to compare.
  struct Held {
    model::Revision cluster = 0, job = 0;
    std::vector<std::string> hosts;  ///< those that are made anew with a mark
    bool operator==(const Held&) const = default;
  };
  async::awaitable<void> act();
  async::awaitable<void> follow(model::Cluster cluster, model::Pool pool);
  async::awaitable<void> prepare(const model::Cluster& cluster, const model::Pool& pool, const model::Host& host,
                                 AgentSeed agent);
  async::awaitable<void> hold(const model::Cluster& cluster, const model::Pool& pool, std::vector<model::Host> wanted);
  /// Machines that are to sleep, or to wake. Errors: exhausted (one that is to go cannot be woken for it).
  async::awaitable<void> follow_sleep(const model::Cluster& cluster, const model::Pool& pool);
  async::awaitable<void> forget(const model::Cluster& cluster, const model::Pool& pool, std::set<std::string> held);

  server::Server& server_;
  async::Pool& pool_;
  VirtualHostsOptions options_;
  server::Follower follower_;
  std::map<std::string, Held> held_;                       ///< by the job
  std::map<std::string, std::set<std::string>> outdated_;  ///< by the job: hosts that have what was declared before
  async::TaskGroup tasks_;
};

}  // namespace underway::host
