#pragma once
/// @file
/// Fences hosts that providers of ours have made: they are taken away, and made again by the host controller.

#include "host/provider.hpp"
#include "ownership/node_executor.hpp"
#include "server/server.hpp"

namespace underway::host {

class HostFence final : public ownership::Fence {
 public:
  /// All outlive it; `provider` may be null: then there is nobody to ask.
  HostFence(server::Server& server, Provider* provider, async::Pool& pool)
      : server_(server), provider_(provider), pool_(pool) {}
  async::awaitable<bool> fence(std::string node_id, std::string host) override;

 private:
  server::Server& server_;
  Provider* provider_;
  async::Pool& pool_;
};

}  // namespace underway::host
