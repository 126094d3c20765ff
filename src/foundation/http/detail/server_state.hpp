#pragma once
/// @file
/// What all connections of one server share: its options, and what they may hold together.

#include <list>

#include "async/event.hpp"
#include "async/group.hpp"
#include "http/detail/budget.hpp"
#include "http/detail/turns.hpp"
#include "http/detail/wire.hpp"
#include "http/server.hpp"

namespace underway::http::detail {

class Connection;

/// What all connections of one server share.
struct ServerState {
  ServerState(async::Executor on, const Router& routes, ServerOptions chosen)
      : executor(std::move(on)),
        router(routes),
        options(std::move(chosen)),
        farewells(executor, "http server"),
        turns(executor, options.handshakes_at_once),
        places(options.connection_limit),
        bodies(options.bodies_limit),
        strangers(options.strangers_limit) {}

  async::Executor executor;
  const Router& router;
  ServerOptions options;
  std::list<std::shared_ptr<Connection>> connections;
  async::Event ended;          ///< a connection is gone
  async::TaskGroup farewells;  ///< WebSockets being closed by `stop`
  Turns turns;                 ///< at TLS handshakes
  Budget places;               ///< of connections, by address
  Budget bodies, strangers;    ///< bytes of bodies, by who sends them
  bool stopping = false;

  const std::string& date();
  /// What a connection of `peer` is counted in.
  Budget::Share place_for(const Peer& peer);
  /// What a body is counted in.
  Budget::Share share_of(const Sender& sender, const Peer& peer);
  /// Before any of a body is taken: throws Refused when `declared` bytes will not fit.
  void check_room(const Sender& sender, const Peer& peer, std::size_t declared) const;
  Refused no_room(const Sender& sender) const;

 private:
  std::time_t date_of_ = 0;
  std::string date_;
};

}  // namespace underway::http::detail
