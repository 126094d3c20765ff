// The agent and the servers: self, members, health, leader, peers, regions, collection, metrics,
// and the link that nodes dial.
#include <charconv>

#include "api/openapi.hpp"
#include "api/routes.hpp"
#include "api/troubles.hpp"
#include "async/watchdog.hpp"
#include "base/json.hpp"
#include "base/version.hpp"

namespace underway::api {
namespace {

using acl::Level;
using boost::json::array;
using boost::json::object;

awaitable<Response> static_read(Api& api, Request request, boost::json::value value) {
  std::vector<tables::Scope> scopes;
  std::string text = boost::json::serialize(value);
  co_return co_await answer_read(api, request, std::move(scopes), [&text](const tables::Tables&) { return text; });
}

boost::json::value member(const Api& api) {
  std::string address = api.agent.http_address;
  std::int64_t port = 0;
  if (const auto colon = address.rfind(':'); colon != std::string::npos) {
    const auto digits = std::string_view(address).substr(colon + 1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), port).ec == std::errc{}) address.resize(colon);
  }
  return object{
      {"Name", api.agent.name + "." + api.agent.region},
      {"Addr", address},
      {"Port", port},
      {"Status", "alive"},
      {"Tags",
       object{{"region", api.agent.region}, {"dc", api.agent.datacenter}, {"role", "nomad"}, {"build", version()}}}};
}

/// Our own words, and those that Nomad's clients look for.
boost::json::value configuration(const Api& api) {
  object all = api.agent.config.is_object() ? api.agent.config.get_object() : object{};
  all["Region"] = api.agent.region;
  all["Datacenter"] = api.agent.datacenter;
  all["NodeName"] = api.agent.name;
  all["Version"] = object{{"Version", version()}};
  all["ACL"] = object{{"Enabled", api.access.acl}};
  all["Server"] = object{{"Enabled", api.agent.server}};
  all["Client"] = object{{"Enabled", api.agent.client}};
  return all;
}

/// The node that this agent is; empty when it is none, or not known yet.
std::string own_node(const Api& api, const tables::Tables& tables) {
  if (!api.agent.client) return {};
  for (const auto& node : tables.nodes()) {
    if (node->name == api.agent.name) return node->id;
  }
  return {};
}

awaitable<Response> agent_self(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  const char* const server = api.agent.server ? "true" : "false";
  object stats{{"underway", object{{"version", version()},
                                   {"build", build_id()},
                                   {"server", server},
                                   {"leader", "true"},
                                   {"client", api.agent.client ? "true" : "false"}}},
               {"nomad", object{{"server", server},
                                {"leader", "true"},
                                {"leader_addr", api.agent.http_address},
                                {"known_regions", "1"},
                                {"version", version()}}}};
  if (const std::string id = own_node(api, *tables); !id.empty()) stats["client"] = object{{"node_id", id}};
  boost::json::value self =
      object{{"config", configuration(api)}, {"member", member(api)}, {"stats", std::move(stats)}};
  co_return co_await static_read(api, std::move(request), std::move(self));
}

awaitable<Response> agent_members(Api& api, Request request) {
  boost::json::value members = object{{"ServerName", api.agent.name},
                                      {"ServerRegion", api.agent.region},
                                      {"ServerDC", api.agent.datacenter},
                                      {"Members", array{member(api)}}};
  co_return co_await static_read(api, std::move(request), std::move(members));
}

/// As Nomad answers it: 500 when something is not well.
awaitable<Response> agent_health(Api& api, Request request) {
  const auto troubles = troubles_of(api);
  object health;
  if (api.agent.server)
    health["server"] =
        object{{"ok", troubles.writable}, {"message", troubles.writable ? "ok" : troubles.attention.front().what}};
  if (api.agent.client) health["client"] = object{{"ok", true}, {"message", "ok"}};
  auto response = co_await static_read(api, std::move(request), boost::json::value(std::move(health)));
  if (!troubles.writable) response.status = 500;
  co_return response;
}

awaitable<Response> collect(Api& api, Request) {
  co_await api.server.collect(server::Retention::none());
  co_return http::json("");
}

struct Gauge {
  const char* name;
  const char* help;
  std::int64_t value;
};

std::vector<Gauge> gauges(Api& api, const tables::Tables& tables, const async::Watchdog& watchdog) {
  std::int64_t ready = 0, linked = 0, running = 0, pending = 0, blocked = 0;
  for (const auto& node : tables.nodes()) {
    ready += node->ready() ? 1 : 0;
    linked += api.server.linked(node->id) ? 1 : 0;
  }
  for (const auto& allocation : tables.allocations()) {
    running += allocation->client_status == model::ClientStatus::running ? 1 : 0;
    pending += allocation->client_status == model::ClientStatus::pending && !allocation->server_terminal() ? 1 : 0;
  }
  for (const auto& evaluation : tables.blocked_evaluations()) blocked += evaluation ? 1 : 0;
  std::map<model::JobStatus, std::int64_t> jobs;
  for (const auto& job : tables.jobs()) ++jobs[job->status];
  return {{"underway_jobs", "Jobs known.", static_cast<std::int64_t>(tables.jobs().size())},
          {"underway_nodes", "Nodes known.", static_cast<std::int64_t>(tables.nodes().size())},
          {"underway_nodes_ready", "Nodes that are ready and eligible.", ready},
          {"underway_nodes_linked", "Nodes whose link stands.", linked},
          {"underway_allocations_running", "Allocations that run.", running},
          {"underway_allocations_pending", "Allocations that are wanted and do not run yet.", pending},
          {"underway_evaluations_blocked", "Evaluations that wait for capacity.", blocked},
          {"underway_revision", "Revision of the store.", tables.revision()},
          {"underway_writable", "1 if changes can be written to the disk, 0 if they are refused.",
           troubles_of(api).writable ? 1 : 0},
          {"underway_loop_longest_hold_ms", "The longest that anything kept everybody waiting since the start.",
           std::chrono::duration_cast<std::chrono::milliseconds>(watchdog.longest()).count()},
          // What dashboards of Nomad ask for and is a count: names of jobs are not for everybody.
          {"nomad.nomad.job_status.pending", "Jobs that wait.", jobs[model::JobStatus::pending]},
          {"nomad.nomad.job_status.running", "Jobs that run.", jobs[model::JobStatus::running]},
          {"nomad.nomad.job_status.dead", "Jobs that are over.", jobs[model::JobStatus::dead]},
          {"nomad.nomad.heartbeat.active", "Nodes whose link stands.", linked},
          {"nomad.nomad.blocked_evals.total_blocked", "Evaluations that wait for capacity.", blocked},
          {"nomad.client.allocations.running", "Allocations that run, on all nodes.", running},
          {"nomad.client.allocations.pending", "Allocations that do not run yet, on all nodes.", pending}};
}

constexpr const char* kRequests = "underway.http.requests";
constexpr const char* kHolds = "underway.loop.holds";
constexpr const char* kRequestTimes = "underway.http.request_seconds";

std::string prometheus_name(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

/// Prometheus' text exposition format 0.0.4.
std::string prometheus_text(const std::vector<Gauge>& gauges, const Meter& meter, std::uint64_t holds) {
  std::string text;
  for (const auto& gauge : gauges)
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{0} {2}\n", prometheus_name(gauge.name), gauge.help,
                        gauge.value);
  text += fmt::format("# HELP {0} Requests answered.\n# TYPE {0} counter\n{0} {1}\n",
                      prometheus_name(kRequests) + "_total", meter.requests());
  text += fmt::format(
      "# HELP {0} Times that anything kept everybody waiting for 50 ms or more.\n# TYPE {0} counter\n{0} {1}\n",
      prometheus_name(kHolds) + "_total", holds);
  text += fmt::format(
      "# HELP {0} How long requests took that did not wait on purpose.\n# TYPE {0} summary\n{0}_sum {1}\n{0}_count "
      "{2}\n",
      prometheus_name(kRequestTimes), meter.times().sum, meter.times().count);
  return text;
}

/// What Nomad's clients read of a counter and of a sample. All are since the start of the server.
object sampled(const char* name, const Meter::Times& times, double up) {
  return {{"Name", name},      {"Count", times.count},          {"Rate", up > 0 ? times.sum / up : 0.0},
          {"Sum", times.sum},  {"SumSq", times.sum_of_squares}, {"Min", times.least},
          {"Max", times.most}, {"Mean", times.mean()},          {"Stddev", times.deviation()},
          {"Labels", object{}}};
}

/// A counter is a sample of ones.
object counted(const char* name, std::int64_t count, double up) {
  const double sum = static_cast<double>(count);
  return sampled(name, {count, sum, sum, 1, 1}, up);
}

/// JSON, or for Prometheus with ?format=prometheus.
awaitable<Response> metrics(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  const auto& watchdog = async::Watchdog::of(co_await asio::this_coro::executor);
  const auto all = gauges(api, *tables, watchdog);
  const Meter& meter = *api.meter;
  if (request.query.find("format").value_or("") == "prometheus") {
    Response response = http::text(200, prometheus_text(all, meter, watchdog.holds()));
    response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    co_return response;
  }
  array list;
  for (const auto& gauge : all)
    list.push_back(object{{"Name", gauge.name}, {"Value", gauge.value}, {"Labels", object{}}});
  const double up = std::chrono::duration<double>(api.clock.now() - api.server.started_at()).count();
  array counters{counted(kRequests, meter.requests(), up),
                 counted(kHolds, static_cast<std::int64_t>(watchdog.holds()), up)},
      samples{sampled(kRequestTimes, meter.times(), up)};
  co_return http::json(boost::json::serialize(object{{"Gauges", std::move(list)},
                                                     {"Counters", std::move(counters)},
                                                     {"Samples", std::move(samples)},
                                                     {"Points", array{}},
                                                     {"Timestamp", format_time(api.clock.now())}}));
}

}  // namespace

void add_agent_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto constant = [&](const char* path, const char* name, Right right, boost::json::value value) {
    routes.add("GET", path, name, right,
               [&api, value](Request request) { return static_read(api, std::move(request), value); });
  };
  routes.add("GET", "/v1/agent/self", "agent self", right::agent(Level::read), with(agent_self));
  routes.add("GET", "/v1/agent/members", "agent members", right::node(Level::read), with(agent_members));
  routes.add("GET", "/v1/agent/health", "agent health", right::open("load balancers and monitoring ask it"),
             with(agent_health));
  constant("/v1/agent/servers", "agent servers", right::agent(Level::read), array{api.agent.http_address});
  constant("/v1/status/leader", "leader", right::open("clients look for a server by it"),
           boost::json::string(api.agent.http_address));
  constant("/v1/status/peers", "peers", right::open("clients look for a server by it"), array{api.agent.http_address});
  constant("/v1/regions", "regions", right::open("clients look for a server by it"), array{api.agent.region});
  routes.add("PUT|POST", "/v1/system/gc", "collect garbage", right::management(), with(collect));
  routes.add("GET", "/v1/metrics", "metrics", right::open("monitoring reads it; it holds counts alone"), with(metrics));
  routes.add("GET", "/v1/underway/openapi.json", "OpenAPI document", right::open("it is the same everywhere"),
             [](Request) -> awaitable<Response> { co_return http::json(openapi_document()); });
}

}  // namespace underway::api
