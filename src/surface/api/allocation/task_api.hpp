#pragma once
/// @file
/// The server's end of the Task API (node/task/task_api.hpp): connections that tasks make and nodes bring over their
/// links are served as any other HTTP connection, but for two things. Nobody is root there, whatever the kernel says of
/// the other end; and every request shows a valid token, also to routes that are open elsewhere, also while ACL is off.
/// Source: Nomad's documentation, "Task API".

#include "api/access/authorizer.hpp"
#include "http/server.hpp"
#include "server/extension.hpp"

namespace underway::api {

class TaskApi {
 public:
  /// `router` has the routes of `api`; both outlive it, and the executor is their loop.
  TaskApi(async::Executor executor, const http::Router& router, const Api& api, http::ServerOptions options = {});

  /// Answers the streams protocol::kTaskApiStream. It refuses (denied) a task that does not run on the node.
  server::Extension extension();
  /// As http::Server::stop.
  awaitable<void> stop(Duration grace) { return http_.stop(grace); }
  std::size_t connections() const { return http_.connections(); }

 private:
  http::ServerOptions strict(http::ServerOptions options);
  /// What is answered to who shows no valid token.
  std::optional<Response> refusal(const http::Request& request);
  awaitable<void> serve(std::string node_id, boost::json::value header, std::shared_ptr<link::Stream> stream);

  Api api_;
  std::shared_ptr<Authorizer> authorizer_;
  http::Server http_;
};

}  // namespace underway::api
