#pragma once
/// @file
/// The links of a Server: what links.cpp and watches.cpp share.

#include <set>
#include <unordered_map>

#include "server/job/dependencies.hpp"
#include "server/node/data_feed.hpp"
#include "server/node/orders.hpp"
#include "server/server.hpp"

namespace underway::server {

/// One linked node.
struct Server::Session {
  std::string node_id;
  std::shared_ptr<link::Connection> connection;
  Orders orders;
  async::SteadyTime heard;                      ///< last sign of life
  std::vector<protocol::LoopTrouble> troubles;  ///< as its newest heartbeat told
  async::Event something_to_send;               ///< the sender waits for it
  bool dirty = true;
  std::map<std::string, model::Revision> epochs;  ///< of those that the node has orders of, how far we have been
  std::optional<trust::PeerIdentity> peer;        ///< what its certificate says
  DataFeed data;                                  ///< of its templates
  async::Event data_needs;                        ///< they have changed, or what they name has
  bool feeding = false;                           ///< send_data goes on: nodes without needs cost nothing

  Session(std::string id, std::shared_ptr<link::Connection> link, const Variables& variables, bool root_by_raw_exec)
      : node_id(std::move(id)),
        connection(std::move(link)),
        orders(node_id, root_by_raw_exec),
        heard(async::LoopClock::now()),
        data(node_id, variables) {}
};

/// One connection of a node. The session is made by the node's first call; until then the connection has no name.
struct Server::Linked {
  std::weak_ptr<link::Connection> connection;
  std::optional<trust::PeerIdentity> peer;
  std::shared_ptr<Session> session;
};

/// Which nodes are linked, when the others were heard of, and whose allocations changed since the last commit.
struct Server::Links final : tables::Tables::Follower {
  Links(Tables& t, const Guard* guard) : tables(t), dependents(guard) {}

  void reset() override {
    draining.clear();
    disconnected.clear();
  }
  void node_changed(const tables::Row<model::Node>& before, const tables::Row<model::Node>& after) override {
    const auto& id = (after ? after : before)->id;
    keep(draining, id, after && after->drain);
    keep(disconnected, id, after && after->status == model::NodeStatus::disconnected);
  }
  void keep(std::set<std::string>& set, const std::string& id, bool is_in) {
    if (is_in) set.insert(id);
    needs_care |= is_in;
    if (!is_in) set.erase(id);
  }
  void allocation_changed(const tables::Row<model::Allocation>& before,
                          const tables::Row<model::Allocation>& after) override {
    const auto& row = after ? after : before;
    dirty.insert(row->node_id);
    // Machines that are on their way to it are told of it, too, where they still are.
    if (row->arrival) {
      if (const auto from = tables.find_allocation(row->arrival->from)) dirty.insert(from->node_id);
    }
    needs_care |= !draining.empty() || disconnected.contains(row->node_id);
    const bool health = (before && before->is_ready()) != (after && after->is_ready());
    const bool status = !before || !after || before->client_status != after->client_status;
    const bool ended = after && after->client_terminal() && !(before && before->client_terminal());
    if (health || status) changes.insert({row->ns, row->job_id, row->node_id, ended || !after});
    // Its replacement may wait for it to have ended.
    if (ended && !row->next_allocation.empty()) ended_with_successor.push_back(row->next_allocation);
    // So may any of its name, wherever it is, if only one may run.
    if (before && model::may_run_still(*before) && !(after && model::may_run_still(*after)))
      names_free[{row->ns, row->job_id}].insert(row->name);
  }

  Tables& tables;
  std::unordered_map<std::string, std::shared_ptr<Session>> sessions;  ///< by node id
  async::Event linked;                                                 ///< a session began
  std::unordered_map<std::string, async::SteadyTime> silent_since;     ///< ready nodes without a session
  std::set<std::string> dirty;
  std::set<Dependents::Event> changes;
  Dependents dependents;
  std::vector<std::string> ended_with_successor;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> names_free;  ///< by namespace and job
  std::set<std::string> draining, disconnected;                                     ///< ids of nodes
  bool needs_care = false;  ///< one of them may be ready for its next step
  async::Event care;
};

}  // namespace underway::server
