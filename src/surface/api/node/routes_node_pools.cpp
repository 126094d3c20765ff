// Node pools: list, read, write, delete, and what is in them.
#include "api/cluster/change_note.hpp"
#include "api/node/node_body.hpp"
#include "api/nomad/nomad_body.hpp"
#include "api/nomad/stubs.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "server/node/node_pool_decisions.hpp"
#include "tables/node_pools.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using acl::Level;
using model::NodePool;
using server::Context;
using tables::Scope;
using tables::Tables;
using tables::Topic;

NodePool get_pool(const Tables& tables, const std::string& name) {
  auto pool = tables::find_node_pool(tables, name);
  if (!pool) throw Error(Code::not_found, "node pool not found");
  return *pool;
}

awaitable<Response> list_pools(Api& api, Request request) {
  const std::string prefix = request.query.find("prefix").value_or("");
  std::vector<Scope> scopes{tables::records_scope()};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    std::vector<Item> items;
    for (const auto& pool : tables::node_pools(tables)) {
      if (pool.name.starts_with(prefix) && request.rights().node_pool(pool.name, Level::read))
        items.push_back(item_of(pool.name, std::make_shared<const NodePool>(pool)));
    }
    return items;
  });
}

awaitable<Response> read_pool(Api& api, Request request) {
  const std::string name = request.param("name");
  std::vector<Scope> scopes{tables::record_scope<NodePool>(name)};
  co_return co_await answer_read(api, request, std::move(scopes),
                                 [&](const Tables& tables) { return nomad_json(get_pool(tables, name)); });
}

awaitable<Response> put_pool(Api& api, Request request) {
  auto pool = json::decode<NodePool>(boost::json::value(parse_body(request)));
  if (!request.params.empty()) {
    if (pool.name.empty()) pool.name = request.param("name");
    if (pool.name != request.param("name")) throw Error(Code::invalid, "node pool name does not match request path");
  }
  const std::string name = pool.name;
  request.require(right::node_pool(Level::write), {}, name);
  Scope subject = tables::record_scope<NodePool>(name);
  co_await request.about(std::move(subject));
  server::PutNodePool wanted{std::move(pool)};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", tables->revision_of(tables::record_scope<NodePool>(name)));
}

awaitable<Response> delete_pool(Api& api, Request request) {
  const std::string name = request.param("name");
  server::DeleteNodePool wanted{name};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", tables->revision_of(tables::record_scope<NodePool>(name)));
}

awaitable<Response> pool_jobs(Api& api, Request request) {
  const std::string name = request.param("name"), ns = namespace_of(request);
  std::vector<Scope> scopes{{Topic::jobs, ""}, {Topic::allocations, ""}, tables::record_scope<NodePool>(name)};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    get_pool(tables, name);
    std::vector<Item> items;
    NamespaceFilter shown(request);
    for (const auto& job : tables.jobs(ns)) {
      if (job->node_pool != name || !shown(job->ns)) continue;
      const bool whole = request.may(job->ns, Capability::read_job);
      items.push_back({job->ns + "." + job->id, [&tables, job] { return nomad_json(stub(tables, *job)); },
                       whole ? filter::datum_of(*job) : filter::Datum{}});
    }
    return items;
  });
}

awaitable<Response> pool_nodes(Api& api, Request request) {
  const std::string name = request.param("name");
  const bool os = request.query.flag("os"), resources = request.query.flag("resources");
  std::vector<Scope> scopes{{Topic::nodes, ""}, tables::record_scope<NodePool>(name)};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    get_pool(tables, name);
    std::vector<Item> items;
    for (const auto& node : tables.nodes()) {
      if (name != model::kEveryNodePool && node->node_pool != name) continue;
      items.push_back(
          {node->id, [node, os, resources] { return node_stub_json(*node, os, resources); }, filter::datum_of(*node)});
    }
    return items;
  });
}

}  // namespace

void add_node_pool_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  constexpr auto read = right::node_pool(Level::read), write = right::node_pool(Level::write);
  routes.add("GET", "/v1/node/pools", "list node pools", right::something(), with(list_pools));
  routes.add("PUT|POST", "/v1/node/pools", "write node pool", write, with(put_pool));
  routes.add("GET", "/v1/node/pool/:name", "read node pool", read, with(read_pool));
  routes.add("PUT|POST", "/v1/node/pool/:name", "change node pool", write, with(put_pool));
  routes.add("DELETE", "/v1/node/pool/:name", "delete node pool", write, with(delete_pool));
  routes.add("GET", "/v1/node/pool/:name/jobs", "jobs of node pool", right::ns(Capability::list_jobs), with(pool_jobs));
  routes.add("GET", "/v1/node/pool/:name/nodes", "nodes of node pool", right::node(Level::read), with(pool_nodes));
}

}  // namespace underway::api
