#pragma once
/// @file
/// /v1/metrics of an agent that is a node alone, and listens nowhere else: for a Prometheus that asks every agent, as
/// it does with Nomad. There are no tokens here, as nobody knows them; the configuration says what is told beside
/// counts.

#include "agent/config/config.hpp"
#include "api/operator/metrics_source.hpp"
#include "async/loop.hpp"
#include "http/router.hpp"
#include "http/server.hpp"

namespace underway::node {
class Node;
}

namespace underway::agent {

class MetricsListener {
 public:
  /// What the node measures. Two who ask within a second get the same: it costs no more than one does.
  using Source = std::function<async::awaitable<protocol::ClientMetrics>()>;

  /// All outlive it.
  MetricsListener(const Config& config, node::Node& node, async::Loop& loop, async::Pool& pool, const Clock& clock);
  /// For tests: `self` tells of the node.
  MetricsListener(const Config& config, Source source, std::function<model::Node()> self, async::Loop& loop,
                  async::Pool& pool, const Clock& clock);

  /// Listens at `telemetry.listen`. Throws as http::Server::listen.
  http::Endpoint start();
  async::awaitable<void> stop();

 private:
  async::awaitable<http::Response> answer(http::Request request);
  async::awaitable<void> measure();

  TelemetrySettings settings_;
  TlsSettings tls_;
  Source source_;
  std::function<model::Node()> self_;
  async::Pool& pool_;
  const Clock& clock_;
  const TimePoint started_;
  api::MetricsView view_;
  std::shared_ptr<const protocol::ClientMetrics> last_;
  TimePoint measured_{};
  http::Router router_;
  http::Server server_;
};

}  // namespace underway::agent
