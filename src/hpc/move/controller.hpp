#pragma once
/// @file
/// Carries out what is decided about capsules (tend.hpp): watches the tables, does what has to be done outside of them,
/// and submits how it went. What is under way stands in the records, so it goes on wherever the server runs next.

#include "async/group.hpp"
#include "move/plane.hpp"
#include "server/server.hpp"

namespace underway::move {

class Controller {
 public:
  struct Options {
    Limits limits;
    Duration poll = std::chrono::seconds(1);          ///< while something waits for time to pass
    Duration retry_after = std::chrono::seconds(1);   ///< what failed
    Duration fence_again = std::chrono::seconds(10);  ///< a host that could not be switched off
    Duration stage_patience = std::chrono::minutes(30);
    Duration copy_patience = std::chrono::hours(12);
    Duration step_patience = std::chrono::minutes(5);
    Duration rehearse_patience = std::chrono::hours(4);  ///< for a database to be migrated
    Duration overlay_patience = std::chrono::hours(1);   ///< for a snapshot, and for its way back
    Duration fence_patience = std::chrono::minutes(2);
    Duration check_every = std::chrono::milliseconds(20);
  };
  /// All outlive the controller.
  Controller(server::Server& server, Plane& plane, Fence& fence, async::Executor executor, Options options);

  void start();
  async::awaitable<void> stop();

  /// What a move would be refused for, found out on the target; throws it. Changes nothing that matters.
  async::awaitable<void> rehearse(MoveRequest request);

 private:
  struct Errand {
    std::string key;
    model::Capsule capsule;
    tables::Row<model::Job> job;
    Todo todo;
    std::optional<std::int64_t> silence;  ///< fence: which one
  };
  async::awaitable<void> run();
  std::vector<tables::Scope> scopes(const tables::Tables& tables) const;
  async::awaitable<void> tend();
  /// Whether the nodes that it needs have a link. One that is heard of gets it soon, after a start of the server or of
  /// an agent: until then there is nothing to fail.
  bool reachable(const Todo& todo, const std::string& owner) const;
  async::awaitable<void> do_errand(Errand errand);
  async::awaitable<void> report(Errand errand, Outcome outcome);
  async::awaitable<Outcome> perform(const Errand& errand);
  async::awaitable<void> step_of_move(const Errand& errand, Outcome& outcome);
  async::awaitable<bool> upgrade(Errand errand);
  async::awaitable<UpgradeOutcome> perform_upgrade(const Errand& errand);
  async::awaitable<void> step_of_upgrade(const Errand& errand, UpgradeOutcome& outcome);
  async::awaitable<void> stage(const Errand& errand, Outcome& outcome);
  async::awaitable<void> check(const Errand& errand);
  async::awaitable<void> fence(const Errand& errand);

  server::Server& server_;
  Plane& plane_;
  Fence& fence_;
  Options options_;
  std::set<std::string> busy_;  ///< keys of capsules with an errand under way
  async::TaskGroup tasks_;
};

}  // namespace underway::move
