#pragma once
/// @file
/// Makes hosts follow the pools: watches the tables, has providers create and destroy hosts, and records how it went.
/// Runs in the agent that holds the server role, beside the engine.

#include "async/group.hpp"
#include "host/reconcile.hpp"
#include "server/server.hpp"

namespace underway::host {

struct ControllerOptions {
  /// The agent that each host runs: program and arguments, to which name, pool and cluster are added.
  std::string agent_program;
  std::string server_address;  ///< where the agents link to: "https+unix:///run/underway/link.sock"
  /// A join token for the agent of a new host; absent: its link needs none.
  std::function<async::awaitable<std::string>(std::string cluster, std::string host, std::string pool)> join_token;
  Duration stop_patience = std::chrono::seconds(30);  ///< for a cluster's jobs to end before its hosts go anyway
  Duration retry_after = std::chrono::seconds(5);     ///< at most, after a host could not be made
  Duration join_patience = std::chrono::seconds(5);   ///< for an agent to join, before its host tells what it says
};

class Controller {
 public:
  /// All outlive the controller. `provider` makes hosts of provider "local".
  Controller(server::Server& server, Provider& provider, async::Pool& pool, async::Executor executor, Clock& clock,
             ControllerOptions options);

  /// Takes over what exists, and returns once the tables say what that is; then follows them.
  async::awaitable<void> start();
  async::awaitable<void> stop();

 private:
  server::FollowerOptions what_hosts_follow() const;
  async::awaitable<void> adopt();
  async::awaitable<void> act();
  async::awaitable<void> create_all(model::Cluster cluster, std::vector<tables::Row<model::Host>> hosts,
                                    std::vector<model::Host> due, std::set<std::string> still_there);
  async::awaitable<void> create(model::Cluster cluster, model::Host host);
  async::awaitable<void> try_again(model::Host host, std::string why, Duration pause);
  async::awaitable<void> destroy(std::string cluster, std::string name);
  async::awaitable<void> forget(std::string cluster, std::string name);
  async::awaitable<void> remove_cluster(std::string name);
  async::awaitable<void> prepare(model::Cluster cluster, std::vector<tables::Row<model::Host>> hosts,
                                 std::set<std::string> still_there);
  async::awaitable<void> record(std::string cluster, std::string name, model::HostStatus status,
                                std::string description);
  async::awaitable<void> lose(std::string cluster, std::string name, std::string reason);
  async::awaitable<void> revisit(std::string cluster, std::string name);
  async::awaitable<void> look_at_silent_hosts(std::vector<tables::Row<model::Host>> silent);
  async::awaitable<void> listen_to_joining_hosts(std::vector<tables::Row<model::Host>> hosts);
  /// `what` failed, as "hosts: cannot make host c1 of cluster demo"; how long until it is tried again.
  Duration failed(const std::string& what, std::string why);
  void succeeded(const std::string& what);
  bool may_empty(const tables::Tables& tables, const model::Cluster& cluster);
  HostSpec complete_spec(const model::Cluster& cluster, const model::Host& host, const std::string& token) const;

  using HostKey = std::pair<std::string, std::string>;  ///< cluster, host

  server::Server& server_;
  Provider& provider_;
  async::Pool& pool_;
  Clock& clock_;
  ControllerOptions options_;
  server::Follower follower_;
  std::map<std::string, async::Streak> failing_;     ///< by what fails
  std::set<HostKey> busy_;                           ///< being created or destroyed
  std::map<std::string, TimePoint> stopping_since_;  ///< by cluster
  std::map<HostKey, TimePoint> joining_;             ///< hosts whose agent has not joined, and when to listen to them
  std::map<HostKey, HostInfo> unknown_;              ///< that run, and that no state here knows yet
  async::TaskGroup tasks_;
};

}  // namespace underway::host
