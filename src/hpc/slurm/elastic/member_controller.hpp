#pragma once
/// @file
/// Keeps Slurm's nodes as the hosts of pools are that join it (`slurm` of a pool): a host that comes is let in when it
/// is ready, one that is to go is emptied first, and what somebody changed by scontrol is noticed. While slurmctld is
/// away hosts come and wait, or wait with going; what was missed follows when it is back. Decisions: membership.hpp.

#include "async/group.hpp"
#include "async/loop.hpp"
#include "async/loop_clock.hpp"
#include "server/server.hpp"
#include "slurm/commands.hpp"
#include "slurm/elastic/membership.hpp"

namespace underway::slurm {

/// The slurmctld of a cluster: where it runs now, and whether one is declared at all.
struct ClusterController {
  std::optional<Place> place;  ///< absent: it does not run at the moment
  bool declared = false;       ///< a job of the cluster runs one, if it is not stopped
};
ClusterController controller_of(const tables::Tables& tables, const std::string& cluster);

/// Why the node may have no jobs as the tables have it: files that are not as declared, and checks of its system jobs
/// that fail, script checks too.
std::vector<std::string> reasons_in_tables(const tables::Tables& tables, const std::string& node_id);

/// How hosts stand is written down: of those that exist, and what is new.
struct NoteMembers {
  std::string cluster;
  std::vector<model::SlurmMember> members;
  std::vector<std::string> forgotten;  ///< hosts that have no row any more
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteMembers& request,
                                         const server::Context& context);

class MemberController {
 public:
  struct Options {
    Duration poll = std::chrono::milliseconds(500);    ///< while something is under way
    Duration rest = std::chrono::seconds(5);           ///< otherwise: after which changes by others are noticed
    Duration recheck = std::chrono::seconds(30);       ///< of a node that has jobs
    Duration patience = std::chrono::seconds(20);      ///< for one command
    Duration look_patience = std::chrono::seconds(5);  ///< for one host
  };
  /// All outlive it. `pool`: what Slurm prints of ten thousand nodes takes long to read.
  MemberController(server::Server& server, async::Pool& pool, async::Executor executor, Options options);
  MemberController(server::Server& server, async::Pool& pool, async::Executor executor)
      : MemberController(server, pool, std::move(executor), Options{}) {}

  void start();
  async::awaitable<void> stop();

 private:
  using Clock = async::LoopClock;
  using Rows = std::vector<tables::Row<model::Host>>;
  /// What was seen of a host when it was looked at last.
  struct Seen {
    std::string node_id;
    std::int64_t agent_start = 0;
    Clock::time_point at;
    std::optional<NodeReport> report;
    std::string unseen;
    bool gate_open = false;
    std::string boot;
  };
  server::FollowerOptions what_members_follow();
  async::awaitable<void> reconcile();
  async::awaitable<void> look_after(tables::Row<model::Cluster> cluster);
  async::awaitable<std::string> version_of(Place place, model::Pool pool);
  async::awaitable<std::vector<MemberHost>> look_at_hosts(model::Pool pool, Rows rows, std::string version);
  async::awaitable<void> look_at_host(std::string key, std::string node_id, std::vector<std::string> words);
  async::awaitable<void> open_gate(std::string node_id, std::string& failure);
  async::awaitable<std::string> command(Place place, std::vector<std::string> words);
  async::awaitable<SlurmView> ask_slurm(Place place, std::vector<MemberHost> hosts);
  async::awaitable<void> carry_out(Place place, MembershipPlan& plan, const std::vector<MemberHost>& hosts);
  async::awaitable<void> note(std::string cluster, MembershipPlan plan);
  bool is_due(const Seen& seen, const MemberHost& host, std::int64_t agent_start) const;

  server::Server& server_;
  async::Pool& pool_;
  async::Executor executor_;
  Options options_;
  std::map<std::string, Seen> seen_;                       ///< by "cluster/host"
  std::map<std::string, Clock::time_point> restarted_at_;  ///< by node id
  bool settled_ = true;                                    ///< at the newest look
  server::Follower follower_;
  async::TaskGroup tasks_;
};

}  // namespace underway::slurm
