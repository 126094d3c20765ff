#pragma once
/// @file
/// Looks at the heads of requests before their bodies are taken: who may not do what the head asks for sends nothing,
/// and what is held for strangers is little.

#include "api/routes.hpp"
#include "http/server.hpp"

namespace underway::api {

class HeadCheck {
 public:
  /// `routes` as they are registered with `api`, which outlives it.
  HeadCheck(const std::vector<GuardedRoute>& routes, const Api& api);

  /// For http::ServerOptions::admit. It counts nobody's requests and logs nothing: who is refused is led to the route
  /// without a body, and is answered, counted and logged there.
  asio::awaitable<http::Sender> admit(http::Request head) const;

 private:
  Api api_;  ///< without limits
  std::shared_ptr<Authorizer> authorizer_;
  http::Router heads_;
};

/// What a route's handler is kept from when the head's right was refused and has come since: its body was not read.
void check_body_was_read(const http::Request& request);

}  // namespace underway::api
