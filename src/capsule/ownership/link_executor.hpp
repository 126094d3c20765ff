#pragma once
/// @file
/// The NodeExecutor over the links of nodes. Data go from the source's stream to the target's by way of the server,
/// which looks at none of them and holds no more than two windows.

#include "ownership/messages.hpp"
#include "ownership/node_executor.hpp"
#include "server/server.hpp"

namespace underway::ownership {

class LinkExecutor final : public NodeExecutor {
 public:
  LinkExecutor(server::Server& server, async::Executor executor) : server_(server), executor_(std::move(executor)) {}

  awaitable<void> stage(model::Capsule capsule, tables::Row<model::Job> job, std::string target) override;
  awaitable<Copied> copy(model::Capsule capsule, tables::Row<model::Job> job, std::string target,
                         CopyKind kind) override;
  awaitable<bool> watch(model::Capsule capsule, tables::Row<model::Job> job, std::string seen, Duration every,
                        Duration rest, Duration patience, std::function<void(Duration)> unchanged) override;
  awaitable<void> install(model::Capsule capsule, tables::Row<model::Job> job, std::string target) override;
  awaitable<void> run_steps(model::Capsule capsule, std::string node, std::string moment) override;
  awaitable<Looked> look(model::Capsule capsule, tables::Row<model::Job> job) override;
  awaitable<model::Rehearsal> rehearse(model::Capsule capsule, tables::Row<model::Job> job) override;
  awaitable<Saved> snapshot(model::Capsule capsule) override;
  awaitable<std::string> restore(model::Capsule capsule, std::string snapshot) override;

 private:
  /// Bytes of the disk that its overlay takes at the owner's; 0: the owner does not say.
  awaitable<std::int64_t> measure(std::string owner, CapsuleRequest request);
  /// What the node told before the end of its stream; null: nothing.
  awaitable<boost::json::value> ask(std::string node, std::string method, boost::json::value header);

  server::Server& server_;
  async::Executor executor_;
};

}  // namespace underway::ownership
