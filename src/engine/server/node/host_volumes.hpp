#pragma once
/// @file
/// Dynamic host volumes between the tables and the nodes. What is wanted is durable first; then the node is asked,
/// which may be asked twice (node/volume/volume_messages.hpp); then its answer is durable. When the server or the node
/// dies while a plugin makes a volume, the record still says that it is pending, and `loop` asks again when the node is
/// linked.

#include <set>

#include "async/control_loop.hpp"
#include "server/node/host_volume_decisions.hpp"

namespace underway::server {

class Server;

class HostVolumes {
 public:
  /// `server` outlives it.
  explicit HostVolumes(Server& server) : server_(server) {}

  struct Answer {
    model::HostVolume volume;
    std::string warning;  ///< why it is not ready yet; empty when it is
  };
  /// Resumes when the node has made it, or cannot be reached now: then it is pending.
  /// Throws what the decision throws, and what the node's plugin says.
  async::awaitable<Answer> put(PutHostVolume request);
  /// `force`: also when the node cannot be asked; what it has is left there.
  async::awaitable<void> remove(std::string id, bool force);

  /// Carries on what was begun and not ended.
  async::LoopPlan loop();

 private:
  async::awaitable<void> make(model::HostVolume volume);
  async::awaitable<void> erase(model::HostVolume volume);
  async::awaitable<void> carry_on();

  Server& server_;
  std::set<std::string> busy_;  ///< volumes that a node is being asked about
};

}  // namespace underway::server
