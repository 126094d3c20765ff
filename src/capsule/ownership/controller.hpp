#pragma once
/// @file
/// Carries out what is decided about capsules (move_decisions.hpp): watches the tables, does what has to be done
/// outside of them, and submits how it went. What is under way stands in the records: a server that is killed while an
/// overlay is being copied begins that copy anew after its start, and the move goes on in the same phase.

#include <map>
#include <set>

#include "async/group.hpp"
#include "ownership/node_executor.hpp"
#include "server/server.hpp"

namespace underway::ownership {

class Controller {
 public:
  struct Options {
    Limits limits;
    Duration poll = std::chrono::seconds(1);          ///< while something waits for time to pass
    Duration retry_after = std::chrono::seconds(1);   ///< what failed; at most, for a look at all of them
    Duration fence_again = std::chrono::seconds(10);  ///< a host that could not be switched off
    Duration stage_patience = std::chrono::minutes(30);
    Duration copy_patience = std::chrono::hours(12);
    Duration step_patience = std::chrono::minutes(5);
    Duration rehearse_patience = std::chrono::hours(4);  ///< for a database to be migrated
    Duration busy_patience = std::chrono::minutes(15);   ///< until nobody else rehearses the same capsule, or copies it
    Duration overlay_patience = std::chrono::hours(1);   ///< for a snapshot, and for its way back
    Duration fence_patience = std::chrono::minutes(2);
    Duration check_every = std::chrono::milliseconds(20);
    Duration note_every = std::chrono::seconds(10);  ///< how recent the newest copy is, in the record
    Duration whole_every = std::chrono::minutes(1);  ///< a copy for which no file's times count
    Duration retry_copy = std::chrono::minutes(1);   ///< at most: the pause after one that failed doubles
    int copy_share = 15;  ///< copies that follow each other take both nodes one part of so many of a core at most
  };
  /// All outlive the controller.
  Controller(server::Server& server, NodeExecutor& node_executor, Fence& fence, async::Executor executor,
             Options options);

  /// Under which everything about capsules is decided.
  const Limits& limits() const { return options_.limits; }
  void start();
  async::awaitable<void> stop();

  /// What a move would be refused for, found out on the target; throws it. Changes nothing that matters.
  async::awaitable<void> check_move(MoveRequest request);

  /// Before an upgrade is taken back: runs the capsule's step before_revert, if it runs and has one. Error(conflict)
  /// when that fails, with what it says: something would be lost.
  async::awaitable<void> ask_what_is_lost(std::string ns, std::string name);

  /// `capsule` as it stands in the tables, with what is known of its newest copy and not written down there yet.
  /// Returns why services of a capsule with `sync` go on before what they save is on the standby; empty: they do not.
  std::string complete(model::Capsule& capsule) const;

 private:
  /// Of the copies that follow each other to a standby.
  struct Following {
    std::string node;
    std::int64_t epoch = 0;
    bool running = false;                  ///< somebody makes them
    std::int64_t at = 0;                   ///< what was written until then is there, ns since the epoch
    std::int64_t noted_at = 0;             ///< as the record has it
    std::int64_t whole_at = 0;             ///< the last one for which no file's times counted
    bool sync = false;                     ///< services are held for them
    std::int64_t behind_since = 0;         ///< since when a save may be missing there, ns since the epoch; 0: none is
    bool staged = false;                   ///< the standby was asked whether it could run it
    std::optional<async::Streak> failing;  ///< while and why there is no new one
  };
  struct Operation {
    std::string key;
    model::Capsule capsule;
    tables::Row<model::Job> job;
    Todo todo;
    std::optional<std::int64_t> silence;  ///< fence: which one
    /// Copies go on meanwhile: of an upgrade, before its stop.
    bool beside() const;
  };
  server::FollowerOptions what_capsules_follow() const;
  std::int64_t now() const;  ///< ns since the epoch
  async::awaitable<void> reconcile();
  /// Whether the nodes that it needs have a link. One that is heard of gets it soon, after a start of the server or of
  /// an agent: until then there is nothing to fail.
  bool reachable(const Todo& todo, const std::string& owner) const;
  async::awaitable<void> do_operation(Operation operation);
  void begin_following(Operation operation);
  void copy_beside(const tables::Tables& tables, Operation operation);
  async::awaitable<void> follow(Operation operation);
  async::awaitable<Copied> copy_once(const Operation& operation, CopyKind kind, std::int64_t& at);
  async::awaitable<void> copy_on(const Operation& operation, Following& following);
  async::awaitable<bool> next_is_due(const Operation& operation, Following& following, Copied copied,
                                     async::SteadyTime begun, async::SteadyTime rested);
  async::awaitable<bool> goes_on(const Operation& operation);
  async::awaitable<void> note_copy(const Operation& operation, Following& following);
  async::awaitable<void> report(Operation operation, Outcome outcome);
  async::awaitable<Outcome> perform(const Operation& operation);
  async::awaitable<void> step_of_move(const Operation& operation, Outcome& outcome);
  async::awaitable<bool> upgrade(Operation operation);
  /// Nothing when the upgrade went on without it.
  async::awaitable<std::optional<UpgradeOutcome>> perform_while_wanted(const Operation& operation);
  async::awaitable<bool> wanted(const Operation& operation);
  async::awaitable<UpgradeOutcome> perform_upgrade(const Operation& operation);
  /// No copy begins any more, and the one that is being made is over; until the key is taken from busy_.
  async::awaitable<void> hold_copies(std::string key);
  async::awaitable<void> step_of_upgrade(const Operation& operation, UpgradeOutcome& outcome);
  async::awaitable<void> stage(const Operation& operation, Outcome& outcome);
  async::awaitable<void> check(const Operation& operation);
  async::awaitable<void> fence(const Operation& operation);

  server::Server& server_;
  NodeExecutor& node_executor_;
  Fence& fence_;
  Options options_;
  server::Follower follower_;
  std::set<std::string> busy_;    ///< keys of capsules with an operation under way, or a copy being made
  std::set<std::string> trying_;  ///< of those with an operation beside which copies go on
  std::map<std::string, async::SteadyTime> busy_since_;  ///< by id of an upgrade whose rehearsal waits for another
  std::map<std::string, Following> following_;           ///< by key of the capsule
  async::TaskGroup tasks_;
};

}  // namespace underway::ownership
