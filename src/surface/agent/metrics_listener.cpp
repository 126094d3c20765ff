#include "agent/metrics_listener.hpp"

#include "base/log.hpp"
#include "http/tls.hpp"
#include "node/node.hpp"

namespace underway::agent {
namespace {

constexpr Duration kFresh = std::chrono::seconds(1);
constexpr std::size_t kConnections = 64;

/// As the node knows itself, with what it knows of its link.
model::Node self_of(const node::Node& node) {
  model::Node self = node.self();
  self.status = node.stats().linked ? model::NodeStatus::ready : model::NodeStatus::initializing;
  return self;
}

http::ServerOptions few(async::Pool& pool) {
  http::ServerOptions options;
  options.connection_limit = kConnections;
  options.body_limit = 0;
  options.pool = &pool;
  return options;
}

}  // namespace

MetricsListener::MetricsListener(const Config& config, node::Node& node, async::Loop& loop, async::Pool& pool,
                                 const Clock& clock)
    : MetricsListener(
          config, [&node] { return node.measure(); }, [&node] { return self_of(node); }, loop, pool, clock) {}

MetricsListener::MetricsListener(const Config& config, Source source, std::function<model::Node()> self,
                                 async::Loop& loop, async::Pool& pool, const Clock& clock)
    : settings_(config.telemetry),
      tls_(config.tls),
      source_(std::move(source)),
      self_(std::move(self)),
      pool_(pool),
      clock_(clock),
      started_(clock.now()),
      server_(loop.executor(), router_, few(pool)) {
  view_.nodes = settings_.publish_node_metrics;
  view_.all_jobs = settings_.publish_allocation_metrics;
  view_.eligibility = false;
  router_.add("GET", "/v1/metrics", "metrics", [this](http::Request request) { return answer(std::move(request)); });
}

http::Endpoint MetricsListener::start() {
  const http::Endpoint endpoint = http::parse_endpoint(settings_.listen);
  std::optional<http::TlsContext> tls;
  if (!tls_.cert_file.empty()) {
    const auto clients =
        tls_.verify_https_client ? http::ClientCertificates::demanded : http::ClientCertificates::requested;
    const http::TlsFiles files{tls_.cert_file, tls_.key_file, tls_.ca_file};
    tls = http::TlsContext::server(files, clients);
  }
  const bool plain = !tls.has_value();
  const auto got = server_.listen(endpoint, std::move(tls));
  log::info("agent: /v1/metrics listens at {}://{}", plain ? "http" : "https", http::to_string(got));
  if (plain && (settings_.publish_node_metrics || settings_.publish_allocation_metrics))
    log::warn("agent: names of what runs here are told plainly at {} to whoever asks, as `telemetry` says",
              http::to_string(got));
  return got;
}

async::awaitable<void> MetricsListener::stop() { co_await server_.stop(std::chrono::milliseconds(200)); }

async::awaitable<void> MetricsListener::measure() {
  if (last_ && clock_.now() - measured_ < kFresh) co_return;
  measured_ = clock_.now();  // before: whoever comes meanwhile gets the last one
  last_ = std::make_shared<const protocol::ClientMetrics>(co_await source_());
}

async::awaitable<http::Response> MetricsListener::answer(http::Request request) {
  co_await measure();
  const auto metrics = last_;
  const model::Node self = self_();
  const TimePoint now = clock_.now();
  const bool for_prometheus = request.query.find("format").value_or("") == "prometheus";
  auto write = [&] {
    api::Exposition all;
    if (metrics) api::add_client_metrics(all, *metrics, self, view_);
    api::add_process_metrics(all);
    return for_prometheus ? all.prometheus() : all.json(now, now - started_);
  };
  std::string text = co_await async::on_pool(pool_, write);
  if (!for_prometheus) co_return http::json(std::move(text));
  http::Response response = http::text(200, std::move(text));
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  co_return response;
}

}  // namespace underway::agent
