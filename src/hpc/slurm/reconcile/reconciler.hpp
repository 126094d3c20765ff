#pragma once
/// @file
/// A slurmctld that starts in a capsule starts held (slurm/reconcile/hold.hpp): it may have come from an older state.
/// This controller sees it, compares what it believes with what the nodes run (slurm/reconcile/reconcile.hpp), mends
/// what can be mended, writes down the rest for people, and lets it go on.
///
/// One that does not reach a node takes it for dead after SlurmdTimeout, and ends its jobs. While the agents see that
/// those jobs run it is told to take no node for dead, however long that takes.

#include "async/group.hpp"
#include "async/loop_clock.hpp"
#include "slurm/commands.hpp"
#include "slurm/queue.hpp"
#include "slurm/reconcile/hold.hpp"
#include "slurm/reconcile/reconcile.hpp"

namespace underway::slurm {

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
  using Clock = async::LoopClock;
  /// What is done for nodes that a slurmctld does not reach.
  struct Unreached {
    std::map<std::string, Clock::time_point> seen;  ///< by node: when its jobs were seen to run
    Clock::time_point look_at;                      ///< when slurmctld is told to look for its nodes
    Duration look_after{0};
  };
  async::awaitable<void> look();
  async::awaitable<void> look_at(Place place);
  async::awaitable<void> compare(Place place, std::string config);
  async::awaitable<void> note_next_job(const Place& place, std::int64_t next);
  async::awaitable<std::string> command(Place place, std::vector<std::string> words);
  /// All nodes, and all jobs, as slurmctld has them.
  async::awaitable<std::vector<NodeState>> nodes_of(Place place);
  async::awaitable<std::vector<SlurmJob>> slurm_jobs_of(Place place);
  async::awaitable<std::optional<TimePoint>> find_state_time(Place place);
  async::awaitable<Duration> find_age(Place place, std::string config, std::optional<TimePoint> state);
  /// The hosts among these that answer for their node, by the id of that.
  async::awaitable<std::vector<std::pair<std::string, std::string>>> nodes_on(std::set<std::string> hosts);
  async::awaitable<Reconciliation> find_out(Place place, std::string config, Duration behind,
                                            std::optional<TimePoint> state);
  /// Jobs by host.
  using Jobs = std::map<std::string, std::set<std::string>>;
  /// Asks hosts for the steps that run there; `spare`: hides some of them before, by host.
  async::awaitable<Jobs> look_at_hosts(std::set<std::string> wanted, Jobs spare);
  async::awaitable<void> look_at_host(std::string host, std::string node_id, std::vector<std::string> words,
                                      Jobs& seen);
  struct Logs {
    Ends ends;
    std::set<std::string> read;  ///< hosts of which all logs were
  };
  /// What slurmd's logs say of jobs, `ids`, and all since then.
  async::awaitable<Logs> look_for_ends(std::string config, std::vector<NodeState> nodes, std::set<std::string> ids,
                                       std::int64_t since);
  async::awaitable<void> look_for_ends_on(std::string host, std::string node_id, std::vector<std::string> words,
                                          Ends& found, std::set<std::string>& read);
  /// What is known of jobs besides what runs.
  async::awaitable<Known> find_known(Place place, std::string config, std::vector<NodeState> nodes,
                                     std::vector<SlurmJob> slurm_jobs, Jobs seen, std::optional<TimePoint> state);
  async::awaitable<bool> can_enter(Place place);
  /// Enters what can be; what cannot is among the findings then. `urgent`: what slurmctld has to know before it goes
  /// on, or else what only the accounting has to.
  async::awaitable<void> enter(Place place, Reconciliation& made, bool urgent);
  /// Has the accounting set right, until it is.
  async::awaitable<void> settle(Place place);
  /// Tells of jobs that have run and have no row in the accounting, and why it cannot be set right.
  async::awaitable<void> note_unsettled(Place place, Settled settled);
  /// Of jobs that have ended and slurmctld did not know, on the hosts of `seen`.
  async::awaitable<void> end_extern(Jobs seen, std::set<std::string> jobs);
  /// Enters the ends of jobs that slurmctld did not know of while they ran.
  async::awaitable<void> enter_ended(Place place, std::string config, std::vector<NodeState> nodes,
                                     std::vector<SlurmJob> slurm_jobs, Jobs seen);
  async::awaitable<void> carry_out(Place place, const Reconciliation& made);
  async::awaitable<void> keep_apart(Place place, const Reconciliation& made);
  async::awaitable<void> resume_spared(Place place, std::string config);
  /// The nodes of `silent` that run what slurmctld believes that they run; those of `known` also while they are not
  /// seen.
  async::awaitable<std::vector<std::string>> find_cut_off(Place place, std::set<std::string> silent,
                                                          std::vector<std::string> known);
  /// Holds the timeout while there are such nodes, and lets it go when there are none.
  async::awaitable<void> bear_with(Place place, std::string config, std::vector<std::string> known,
                                   std::vector<std::string> cut_off);
  async::awaitable<void> note_cut_off(Place place, std::vector<std::string> cut_off);
  async::awaitable<void> put_hold(Place place, Hold hold);

  server::Server& server_;
  async::Executor executor_;
  Options options_;
  std::map<std::string, std::vector<std::string>> meant_down_;  ///< by job: partitions that people have put down
  std::map<std::string, std::int64_t> next_job_;                ///< by job: NEXT_JOB_ID at the last look
  std::map<std::string, TimePoint> last_look_;                  ///< by job: when it answered and was not held
  std::map<std::string, bool> spares_;                          ///< by job: whether nodes may wait for spared jobs
  std::map<std::string, bool> unsettled_;                       ///< by job: whether the accounting may lack ends
  std::map<std::string, Unreached> unreached_;                  ///< by job, while nodes are cut off
  async::TaskGroup tasks_;
};

}  // namespace underway::slurm
