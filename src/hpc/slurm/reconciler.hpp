#pragma once
/// @file
/// A slurmctld that starts in a capsule starts held (slurm/hold.hpp): it may have come from an older state. This
/// controller sees it, compares what it believes with what the nodes run (slurm/reconcile.hpp), mends what can be
/// mended, writes down the rest for people, and lets it go on.

#include "async/group.hpp"
#include "slurm/beside.hpp"
#include "slurm/hold.hpp"
#include "slurm/reconcile.hpp"

namespace underway::slurm {

/// Whether a slurmctld has to be compared now: it was started since the last time, and all its partitions are down.
bool is_held(const std::vector<Partition>& partitions, const std::string& boot, const std::string& compared_boot);

class Reconciler {
 public:
  struct Options {
    Duration poll = std::chrono::seconds(2);
    Duration patience = std::chrono::seconds(20);      ///< for one command
    Duration look_patience = std::chrono::seconds(5);  ///< for one host
  };
  /// Both outlive it.
  Reconciler(server::Server& server, async::Executor executor, Options options);
  Reconciler(server::Server& server, async::Executor executor) : Reconciler(server, std::move(executor), Options{}) {}

  void start();
  async::awaitable<void> stop();

 private:
  async::awaitable<void> run();
  async::awaitable<void> look_at(Place place);
  async::awaitable<void> compare(Place place, std::string boot);
  async::awaitable<std::string> command(Place place, std::vector<std::string> words);
  async::awaitable<Reconciliation> find_out(Place place);
  async::awaitable<std::map<std::string, std::set<std::string>>> look_at_hosts(std::set<std::string> wanted);
  async::awaitable<void> look_at_host(std::string host, std::string node_id,
                                      std::map<std::string, std::set<std::string>>& hosts);
  async::awaitable<void> release(Place place, std::int64_t first_job);

  server::Server& server_;
  async::Executor executor_;
  Options options_;
  std::map<std::string, std::string> compared_;                 ///< by allocation: BOOT_TIME
  std::map<std::string, std::vector<std::string>> meant_down_;  ///< by job: partitions that people have put down
  async::TaskGroup tasks_;
};

}  // namespace underway::slurm
