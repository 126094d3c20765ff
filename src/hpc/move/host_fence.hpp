#pragma once
/// @file
/// Fences hosts that providers of ours have made: they are taken away, and made again by the host controller.

#include "host/provider.hpp"
#include "move/plane.hpp"
#include "server/server.hpp"

namespace underway::move {

class HostFence final : public Fence {
 public:
  /// All outlive it; `provider` may be null: then there is nobody to ask.
  HostFence(server::Server& server, host::Provider* provider, async::Pool& pool)
      : server_(server), provider_(provider), pool_(pool) {}
  awaitable<bool> fence(std::string node_id, std::string host) override;

 private:
  server::Server& server_;
  host::Provider* provider_;
  async::Pool& pool_;
};

}  // namespace underway::move
