#include "api/allocation/task_api.hpp"

#include <sys/socket.h>

#include "base/json/json.hpp"
#include "http/plain_error.hpp"
#include "link/relay.hpp"
#include "protocol/task_api.hpp"

namespace underway::api {

namespace {

/// With ACL, whether the server has it or not, and no rights by the socket.
Api demanding(Api api) {
  api.access.acl = true;
  api.access.trust_root_socket = false;
  return api;
}

/// Throws denied unless it is a task of an allocation that runs on the node.
void check_task(const tables::Tables& tables, const std::string& node_id, const protocol::TaskApiRequest& request) {
  const Error refusal(Code::denied, fmt::format("task '{}' of allocation {} may not use the API", request.task,
                                                request.alloc.substr(0, 8)));
  const auto allocation = tables.find_allocation(request.alloc);
  if (!allocation || allocation->node_id != node_id)
    throw Error(refusal).because("the allocation is not one of the node's");
  if (allocation->client_terminal()) throw Error(refusal).because("the allocation is over");
  const auto* group = allocation->job ? allocation->job->find_group(allocation->group) : nullptr;
  if (group == nullptr || group->find_task(request.task) == nullptr)
    throw Error(refusal).because("the allocation has no such task");
}

}  // namespace

TaskApi::TaskApi(async::Executor executor, const http::Router& router, const Api& api, http::ServerOptions options)
    : api_(demanding(api)),
      authorizer_(std::make_shared<Authorizer>(api_)),
      http_(std::move(executor), router, strict(std::move(options))) {}

http::ServerOptions TaskApi::strict(http::ServerOptions options) {
  options.refuse = [this](const http::Request& request) { return refusal(request); };
  return options;
}

std::optional<Response> TaskApi::refusal(const http::Request& from) {
  Request request;
  request.headers = from.headers;
  request.remote = from.remote;
  try {
    if (auto too_much = authorizer_->enter(right::token(), request)) return too_much;
  } catch (const Error& error) {
    return http::error_response(error, http::error_form(request.headers));
  }
  if (request.caller().kind != acl::Identity::Kind::anonymous) return std::nullopt;
  // The status and the first word are Nomad's.
  return http::text(401,
                    "Unauthorized: the Task API asks for a token, also where ACL is off; send $NOMAD_TOKEN as "
                    "X-Nomad-Token or Authorization: Bearer");
}

server::Extension TaskApi::extension() {
  server::Extension extension;
  extension.call = [](std::string, std::string method, boost::json::value) -> awaitable<boost::json::value> {
    throw Error(Code::unsupported, fmt::format("'{}' is a stream", method));
    co_return nullptr;
  };
  extension.stream = [this](std::string node_id, std::string, boost::json::value header,
                            std::shared_ptr<link::Stream> stream) {
    return serve(std::move(node_id), std::move(header), std::move(stream));
  };
  return extension;
}

/// Over a socket pair, so that for the HTTP server it is a connection as any other. The pair ends with the stream.
awaitable<void> TaskApi::serve(std::string node_id, boost::json::value header, std::shared_ptr<link::Stream> stream) {
  const auto request = json::decode<protocol::TaskApiRequest>(header, "task.api");
  check_task(*co_await api_.server.read(), node_id, request);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw errno_error(errno, "cannot make a pair of sockets for a task");
  const auto socket = link::unix_socket(co_await asio::this_coro::executor, ends[1]);
  http_.adopt(ends[0], http::Peer{.address = fmt::format("task {} of allocation {}", request.task, request.alloc)});
  co_await link::relay(std::move(stream), socket);
}

}  // namespace underway::api
