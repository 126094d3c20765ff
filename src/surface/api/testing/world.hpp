#pragma once
/// @file
/// The whole API over a server in memory, asked without a network. Time stands still and ids are seeded, so answers are
/// the same in every run. For tests.

#include "api/routes.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"
#include "store/memory_store.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"

namespace underway::api::testing {

using server::testing::FakeNode;
using server::testing::make_job;
using server::testing::make_node;
using server::testing::report;
using server::testing::uuid;

/// What a response says of itself; "": nothing.
inline std::string header(const http::Response& response, const char* name) {
  return std::string(response.headers.find(name).value_or(""));
}

class World {
 public:
  explicit World(AccessOptions access = {}, server::Options how = options())
      : server(loop.executor(), store, clock, ids, std::move(how)),
        api{server,
            {"test", "global", "dc1", boost::json::object{{"datacenter", "dc1"}}, true, true, "127.0.0.1:4646"},
            clock,
            std::move(access)} {
    api.workers = &workers;
    server.start();
    routes = register_routes(router, api);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (auto& node : nodes) loop.run_until_done(node->stop());
    loop.run_until_done(server.stop());
    loop.context().restart();
    loop.context().poll();
  }

  static http::Request request(const std::string& method, const std::string& target, std::string body = {}) {
    http::Request out;
    out.method = method;
    out.target = target;
    const auto question = target.find('?');
    out.path = http::percent_decode(target.substr(0, question));
    if (question != std::string::npos) out.query = http::Query::parse(target.substr(question + 1));
    out.body = std::move(body);
    return out;
  }
  http::Response send(const std::string& method, const std::string& target, std::string body = {}) {
    auto out = request(method, target, std::move(body));
    if (!token.empty()) out.headers.set("X-Nomad-Token", token);
    out.remote = peer;
    return loop.run_until_done(router.handle(std::move(out)));
  }
  http::Response get(const std::string& target) { return send("GET", target); }
  http::Response put(const std::string& target, std::string body) { return send("PUT", target, std::move(body)); }
  /// The body of a 200. Throws Error with the answer's text otherwise.
  boost::json::value read(const std::string& target) {
    const auto response = get(target);
    if (response.status != 200) throw Error(Code::internal, fmt::format("{}: {}", response.status, response.body));
    return json::parse(response.body);
  }

  static std::string job_body(const model::Job& job, const std::string& more = {}) {
    return "{\"Job\":" + json::encode(job) + more + "}";
  }
  http::Response run(const model::Job& job) { return put("/v1/jobs", job_body(job)); }

  template <class What>
  auto apply(What what) {
    return loop.run_until_done(server.apply(server::testing::asked(std::move(what))));
  }
  void join(model::Node node) { apply(server::RegisterNode{node, "secret"}); }
  void update(const std::string& node_id, const model::AllocationUpdate& what) {
    apply(server::UpdateAllocations{node_id, {what}});
  }
  /// A node that is linked, and does what it is told.
  FakeNode& link(int number) {
    nodes.push_back(std::make_unique<FakeNode>(loop.executor(), server, make_node(number)));
    loop.run_until_done(nodes.back()->join());
    return *nodes.back();
  }
  const tables::Tables& tables() { return server.writer().tables(); }
  std::string allocation_of(const std::string& job) {
    for (const auto& row : tables().allocations_of_job("default", job)) {
      if (!row->terminal()) return row->id;
    }
    throw Error(Code::internal, "no allocation of " + job);
  }

  /// A node that is not linked here will not dial; its jobs may be root.
  static server::Options options() {
    server::Options out;
    out.link_patience = std::chrono::milliseconds(20);
    out.root_by_raw_exec = true;
    return out;
  }

  async::Loop loop;
  async::Workers workers;
  store::MemoryStore store;
  VirtualClock clock;
  SeededIds ids{1};
  server::Server server;
  http::Router router;
  Api api;
  std::vector<GuardedRoute> routes;
  std::string token;  ///< sent with every request, when not empty
  http::Peer peer;    ///< whom requests come from
  std::vector<std::unique_ptr<FakeNode>> nodes;
};

}  // namespace underway::api::testing
