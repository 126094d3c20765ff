#pragma once
/// @file
/// The one place where requests are let in: who is it (token, socket), may it do this (the route's Right), and may it
/// still (streams and blocking queries end when the token is revoked or expires). Handlers see only what passed.

#include "api/api.hpp"
#include "api/request.hpp"

namespace underway::api {

using asio::awaitable;

class Authorizer : public std::enable_shared_from_this<Authorizer> {
 public:
  explicit Authorizer(Api& api);

  /// Finds out who sent the request. Returns a refusal (429) when the caller asks too much; throws Error(denied) when
  /// its token is not known or has expired.
  std::optional<Response> enter(const Right& right, Request& request);
  /// Throws Error(denied) unless the caller has the right.
  void check(const Right& right, const Request& request);
  /// Of those who change something, where there is an audit log.
  RowLocks& row_locks() { return row_locks_; }
  /// Every decision that was handed in until now is durable, or refused.
  awaitable<void> settle();
  /// Runs `work`; cancels it and throws Error(denied) once the caller of `request` has lost a right that it needed.
  template <class T>
  awaitable<T> while_allowed(Request request, awaitable<T> work);
  /// `response`, whose stream or socket ends when the caller loses its right.
  Response guarded(const Request& request, Response response);

 private:
  class Watch;
  acl::IdentityPtr workload(std::string_view token);
  acl::IdentityPtr identify(const http::Request& request);
  std::optional<Response> limit(Request& request, const std::string& accessor);
  /// Brings the caller's rights up to date. Returns why it may not go on; nothing when it may.
  std::optional<Error> renew(Standing& standing);
  awaitable<void> guarded_socket(Request request, std::shared_ptr<http::WebSocket> socket,
                                 std::function<awaitable<void>(std::shared_ptr<http::WebSocket>)> serve);

  Api& api_;
  acl::Identities identities_;
  Limiter limiter_;
  RowLocks row_locks_;
  acl::IdentityPtr root_, own_;  ///< at the unix socket: root, and the agent's own user
};

}  // namespace underway::api
