#pragma once
/// @file
/// The Plane over the links of nodes. Data go from the source's stream to the target's by way of the server, which
/// looks at none of them and holds no more than two windows.

#include "move/messages.hpp"
#include "move/plane.hpp"
#include "server/server.hpp"

namespace underway::move {

class LinkPlane final : public Plane {
 public:
  LinkPlane(server::Server& server, async::Executor executor) : server_(server), executor_(std::move(executor)) {}

  awaitable<void> stage(model::Capsule capsule, tables::Row<model::Job> job, std::string target) override;
  awaitable<Copied> copy(model::Capsule capsule, tables::Row<model::Job> job, std::string target,
                         bool consistent) override;
  awaitable<void> install(model::Capsule capsule, tables::Row<model::Job> job, std::string target) override;
  awaitable<void> run_steps(model::Capsule capsule, std::string node, std::string moment) override;

 private:
  awaitable<void> ask(std::string node, std::string method, boost::json::value header);

  server::Server& server_;
  async::Executor executor_;
};

}  // namespace underway::move
