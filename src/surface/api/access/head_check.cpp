#include "api/access/head_check.hpp"

namespace underway::api {

namespace {

Api without_limits(Api api) {
  api.access.limits = {};
  return api;
}

/// A caller without ACL is known by where it comes from.
http::Sender sender_of(const Request& request) {
  const acl::Identity& caller = request.caller();
  switch (caller.kind) {
    case acl::Identity::Kind::root_socket:
      return {http::Sender::Kind::trusted};
    case acl::Identity::Kind::anonymous:
      return {http::Sender::Kind::stranger};
    case acl::Identity::Kind::unrestricted:
      return {http::Sender::Kind::known};
    default:
      return {http::Sender::Kind::known, caller.accessor};
  }
}

/// The sender's kind as a status that no route answers with.
constexpr int kFirstStatus = 1000;

http::Response answer_of(const http::Sender& sender) {
  return http::text(kFirstStatus + static_cast<int>(sender.kind), sender.name);
}

awaitable<Response> look(std::shared_ptr<Authorizer> authorizer, Right right, http::Request raw) {
  Request request{std::move(raw)};
  authorizer->enter(right, request);
  authorizer->check(right, request);
  co_return answer_of(sender_of(request));
}

}  // namespace

HeadCheck::HeadCheck(const std::vector<GuardedRoute>& routes, const Api& api)
    : api_(without_limits(api)), authorizer_(std::make_shared<Authorizer>(api_)) {
  for (const auto& route : routes) {
    heads_.add(route.methods, route.pattern, route.name,
               [authorizer = authorizer_, right = route.right](http::Request head) {
                 return look(authorizer, right, std::move(head));
               });
  }
}

/// Whom its authorizer throws out, and who asks for what there is not, gets an answer that is no sender.
asio::awaitable<http::Sender> HeadCheck::admit(http::Request head) const {
  const Response looked = co_await heads_.handle(std::move(head));
  if (looked.status < kFirstStatus) co_return http::Sender{http::Sender::Kind::refused};
  co_return http::Sender{static_cast<http::Sender::Kind>(looked.status - kFirstStatus), looked.body};
}

void check_body_was_read(const http::Request& request) {
  if (!request.headers.has(http::kUnreadBody)) return;
  throw Error(Code::unavailable, "the request's body was not read")
      .because("its caller had no right to send it, and has one since")
      .advise("send it again");
}

}  // namespace underway::api
