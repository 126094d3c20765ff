// What is measured, for people's dashboards: see api/operator/metrics.hpp.
#include "api/cluster/troubles.hpp"
#include "api/operator/metrics_source.hpp"
#include "api/routes.hpp"
#include "async/watchdog.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "growth/growth.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using acl::Level;

/// A scrape that waits longer for its own node goes without it.
constexpr Duration kNodePatience = std::chrono::seconds(5);

bool may_see_nodes(const Request& request) { return allows(request.rights(), Need{right::node(Level::read), {}, {}}); }

MetricsView view_of(const Api& api, const Request& request, const tables::Tables& tables) {
  MetricsView view;
  view.dispatched = api.metrics.dispatched_summaries;
  view.nodes = api.metrics.publish_nodes || may_see_nodes(request);
  view.all_jobs = api.metrics.publish_allocations || request.rights().is_management();
  if (view.all_jobs) return view;
  const auto look = [&](const std::string& ns) {
    if (request.may(ns, Capability::read_job)) view.namespaces.insert(ns);
  };
  look(model::kDefaultNamespace);  // it is there without a row
  for (const auto& ns : tables.rows<model::Namespace>()) look(ns->name);
  return view;
}

/// The node that this agent is, while it is linked. Looked for once: it stays the same.
tables::Row<model::Node> own_node(const Api& api, const tables::Tables& tables, std::string& known) {
  if (!api.agent.client) return nullptr;
  auto node = tables.find_node(known);
  if (!node) {
    for (const auto& row : tables.nodes())
      if (row->name == api.agent.name && row->host.empty()) node = row;
  }
  known = node ? node->id : "";
  return node && api.server.linked(node->id) ? node : nullptr;
}

struct Client {
  tables::Row<model::Node> node;
  protocol::ClientMetrics metrics;
};

awaitable<Client> ask(Api& api, tables::Row<model::Node> node) {
  boost::json::value nothing = boost::json::object{};
  const auto answer = co_await api.server.call_node(node->id, "node.metrics", std::move(nothing), kNodePatience);
  co_return Client{std::move(node), json::decode<protocol::ClientMetrics>(answer)};
}

/// What the agent's own node says, if it says anything: the server's metrics do not depend on it.
awaitable<std::optional<Client>> ask_own(Api& api, tables::Row<model::Node> node) {
  if (!node) co_return std::nullopt;
  try {
    co_return co_await ask(api, std::move(node));
  } catch (const Error& error) {
    log::debug("api: metrics without those of the own node: {}", error.one_line());
  }
  co_return std::nullopt;
}

/// JSON, or for Prometheus with ?format=prometheus.
Response answer(const Request& request, const Exposition& all, TimePoint now, Duration up) {
  if (request.query.find("format").value_or("") != "prometheus") return http::json(all.json(now, up));
  Response response = http::text(200, all.prometheus());
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  return response;
}

awaitable<Response> metrics_of_node(Api& api, Request request, std::string id) {
  request.require(right::node(Level::read));
  const auto* tables = co_await api.server.read();
  const MetricsView view = view_of(api, request, *tables);
  const Client client = co_await ask(api, get_node(*tables, id));
  const TimePoint now = api.clock.now();
  auto write = [&] {
    Exposition all;
    add_client_metrics(all, client.metrics, *client.node, view);
    return answer(request, all, now, now - api.server.started_at());
  };
  co_return co_await computed(api, request, "writing the metrics", write);
}

awaitable<Response> metrics(Api& api, std::shared_ptr<std::string> own, Request request) {
  if (const auto id = request.query.find("node_id")) co_return co_await metrics_of_node(api, request, std::string(*id));
  // Before the read, which waits until what is under way is durable.
  server::WriterMeasures writer = api.server.writer().measures();
  const auto* tables = co_await api.server.read();
  const MetricsView view = view_of(api, request, *tables);
  ServerSnapshot snapshot = take_snapshot(api.server, *tables, std::move(writer), view);
  const auto& watchdog = async::Watchdog::of(co_await asio::this_coro::executor);
  snapshot.host = api.agent.name;
  snapshot.now = api.clock.now();
  snapshot.writable = troubles_of(api).writable;
  snapshot.longest_hold_ms = std::chrono::duration_cast<std::chrono::milliseconds>(watchdog.longest()).count();
  snapshot.holds = static_cast<std::int64_t>(watchdog.holds());
  snapshot.meter = *api.meter;
  if (api.growth != nullptr) {
    snapshot.growth = api.growth->counters();
    if (view.nodes) snapshot.growing = api.growth->status();
  }
  auto node = own_node(api, *tables, *own);
  const auto client = co_await ask_own(api, std::move(node));
  const Duration up = snapshot.now - api.server.started_at();
  auto write = [&] {
    Exposition all;
    add_server_metrics(all, snapshot, view);
    if (client) add_client_metrics(all, client->metrics, *client->node, view);
    add_process_metrics(all);
    return answer(request, all, snapshot.now, up);
  };
  co_return co_await computed(api, request, "writing the metrics", write);
}

}  // namespace

void add_metrics_routes(Routes& routes, Api& api) {
  const auto own = std::make_shared<std::string>();
  routes.add("GET", "/v1/metrics", "metrics",
             right::greeting("monitoring reads it; without a token it holds counts alone"),
             [&api, own](Request request) { return metrics(api, own, std::move(request)); });
}

}  // namespace underway::api
