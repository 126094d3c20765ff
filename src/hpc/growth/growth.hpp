#pragma once
/// @file
/// Pools with `elastic` have as many hosts as Slurm's queue asks for: looks at Slurm and at the hosts, has the policy
/// (elastic/tick.hpp) decide, and writes down which hosts each pool is to have. The host controller makes and ends
/// them, and the member controller of Slurm lets them in and out (slurm/elastic/member_controller.hpp): no Slurm job is
/// on a host that goes. Runs in the agent that holds the server role.

#include "async/control_loop.hpp"
#include "async/group.hpp"
#include "async/loop.hpp"
#include "async/loop_clock.hpp"
#include "growth/asked.hpp"
#include "growth/entitled.hpp"
#include "growth/notices.hpp"
#include "growth/status.hpp"
#include "server/server.hpp"
#include "slurm/commands.hpp"

namespace underway::growth {

class Growth {
 public:
  struct Options {
    Duration poll = std::chrono::seconds(1);         ///< of the queue
    Duration rest = std::chrono::seconds(5);         ///< of the nodes too, while no job waits and no host comes or goes
    Duration patience = std::chrono::seconds(20);    ///< for one command
    Duration retry_after = std::chrono::seconds(5);  ///< at most
  };
  /// All outlive it. `pool`: a long queue takes long to read, and to decide about.
  Growth(server::Server& server, async::Pool& pool, async::Executor executor, Options options);
  Growth(server::Server& server, async::Pool& pool, async::Executor executor)
      : Growth(server, pool, std::move(executor), Options{}) {}

  void start();
  async::awaitable<void> stop();

  /// As of the newest look; a cluster that was not looked at yet has an `at` of 0. By name. Thread: the loop's.
  std::vector<Status> status() const;
  /// Nothing: there is no such cluster, or none of its pools grows.
  std::optional<Status> status(const std::string& cluster) const;
  /// Why the job waits. Nothing: as above. `job`: Slurm's number, "17", or a task of an array, "17_3".
  std::optional<JobExplanation> explain(const std::string& cluster, const std::string& job) const;
  const Counters& counters() const { return counters_; }

 private:
  /// Something that Slurm was told about a reservation in vain.
  struct Refused {
    slurm::Command words;
    async::Streak streak;
    async::LoopClock::time_point next;
  };
  /// What is known of a cluster between looks. Lost with the server, but for what is written down (Memory).
  struct Known {
    Status status;
    elastic::Explanation explanation;
    std::shared_ptr<const SlurmLook> slurm = std::make_shared<SlurmLook>();  ///< a long queue is not copied
    std::vector<AskedPool> asked;
    std::map<std::string, Seen> hosts;                   ///< as they were at the newest look, by name
    std::optional<Memory> memory;                        ///< as of that look
    std::optional<async::LoopClock::time_point> looked;  ///< when that was
    std::map<std::string, std::string> put;              ///< by Slurm job: why, though told, Slurm has it elsewhere
    std::map<std::string, Refused> refused;              ///< by reservation
    Duration took{};                                     ///< that look, with Slurm's answers
    bool settled = true;                                 ///< nothing waits, comes or goes
  };
  server::FollowerOptions what_growth_follows();
  async::awaitable<void> reconcile();
  async::awaitable<void> look_after(tables::Row<model::Cluster> cluster);
  /// What the tables and Slurm said at one moment, and what follows from it.
  struct Look {
    ClusterFacts before_asking, facts;
    SlurmLook slurm;
    Outlook outlook;
    AskedOutlook asked;
    std::vector<EntitledJob> entitled;
    async::LoopClock::time_point at;
    Duration took{};
  };
  /// Nothing: the cluster grows no more.
  async::awaitable<std::shared_ptr<Look>> look_at(tables::Row<model::Cluster> cluster, slurm::Place place);
  async::awaitable<void> ask_slurm(Look& look, slurm::Place place);
  async::awaitable<void> decide_on(Look& look);
  void remember(const std::shared_ptr<Look>& look, async::LoopClock::time_point begin);
  /// Pools that Slurm asks for, put right by how it has its nodes; it is told first of boots that failed.
  async::awaitable<void> follow_slurm(slurm::Place place, AskedOutlook found);
  /// Puts Slurm jobs into the partitions of pools that are for them. Slurm is told once of each, whether it refuses or
  /// a plug-in of the site takes it back.
  async::awaitable<void> put_into_partitions(std::string cluster, slurm::Place place, std::vector<EntitledJob> jobs);
  /// Has Slurm keep the hosts of reservations for those whom they are for.
  async::awaitable<void> reserve(std::string cluster, slurm::Place place, std::map<std::string, slurm::Command> steps);
  /// What is known of a look beside the tables. `ids`: jobs of which Slurm has to tell more than its queue.
  async::awaitable<std::string> ask_redo(slurm::Place place, std::vector<std::string> ids);
  /// Tells the Slurm jobs of hosts that are taken back, and has them queued again when their notice is over.
  async::awaitable<void> follow_notices(slurm::Place place, std::shared_ptr<Look> look);
  async::awaitable<std::vector<std::string>> listeners_of(const NoticeSteps& steps, NoticeBook& book,
                                                          const SlurmLook& look, std::string cluster);
  async::awaitable<void> listen(std::string node_id, std::optional<std::set<std::string>>& heard);
  /// Has hosts sleep, or wake, or taken back, as urgent work needs their room.
  async::awaitable<void> make_room(std::string cluster, const SlurmLook& look);
  /// The pools stay as they are for `why`. Said in the log when it begins.
  void leave_alone(const std::string& cluster, std::string why);
  /// Whether it may rest on the newest look: nothing was under way, nothing was asked for since, and still nobody
  /// waits.
  async::awaitable<bool> is_quiet(const std::string& cluster, slurm::Place place);
  async::awaitable<std::string> command(slurm::Place place, std::vector<std::string> words);
  async::awaitable<bool> succeeds(slurm::Place place, std::vector<std::string> words);

  server::Server& server_;
  async::Pool& pool_;
  async::Executor executor_;
  Options options_;
  std::map<std::string, Known> known_;  ///< by cluster
  Counters counters_;
  server::Follower follower_;
  async::TaskGroup tasks_;
};

}  // namespace underway::growth
