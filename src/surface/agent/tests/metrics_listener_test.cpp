#include "agent/metrics_listener.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "http/client.hpp"
#include "http/endpoint.hpp"

namespace underway::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Listening {
  explicit Listening(const std::string& telemetry = {}) {
    config.telemetry.listen = "127.0.0.1:0";
    config.telemetry.publish_node_metrics = telemetry.find('n') != std::string::npos;
    config.telemetry.publish_allocation_metrics = telemetry.find('a') != std::string::npos;
    metrics.host.uptime = 77;
    metrics.allocations.running = 3;
    metrics.tasks.push_back({.ns = "default", .job = "web", .group = "g", .alloc = "a1", .task = "t", .running = true});
    listener.emplace(config, [this] { return measure(); }, [] { return node(); }, loop, pool, clock);
    endpoint = listener->start();
  }
  ~Listening() { loop.run_until_done(listener->stop()); }

  async::awaitable<protocol::ClientMetrics> measure() {
    ++measured;
    co_return metrics;
  }
  static model::Node node() {
    model::Node out;
    out.id = "n1";
    out.name = "c1";
    return out;
  }
  http::Response get(const std::string& target) {
    http::Client client(loop.executor(), http::parse_url("http://" + http::to_string(endpoint)));
    http::Request request;
    request.method = "GET";
    request.target = target;
    return loop.run_until_done(client.send(std::move(request)));
  }

  Config config;
  protocol::ClientMetrics metrics;
  int measured = 0;
  VirtualClock clock;
  async::Loop loop;
  async::Pool pool{1};
  std::optional<MetricsListener> listener;
  http::Endpoint endpoint;
};

TEST(MetricsListener, TellsCountsAloneUnlessTheConfigurationPublishesMore) {
  Listening listening;
  const auto answer = listening.get("/v1/metrics?format=prometheus");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("\nnomad_client_allocations_running 3\n"));
  EXPECT_THAT(answer.body, Not(HasSubstr("c1")));
  EXPECT_THAT(answer.body, Not(HasSubstr("web")));
}

TEST(MetricsListener, PublishesNodesAndAllocationsEachWhenItIsToldTo) {
  Listening nodes("n"), allocations("a");
  const std::string of_node = nodes.get("/v1/metrics?format=prometheus").body;
  EXPECT_THAT(of_node, HasSubstr("nomad_client_uptime{datacenter=\"dc1\",host=\"c1\""));
  EXPECT_THAT(of_node, Not(HasSubstr("eligibility"))) << "the node does not know it";
  EXPECT_THAT(of_node, Not(HasSubstr("web")));
  const std::string of_tasks = allocations.get("/v1/metrics?format=prometheus").body;
  EXPECT_THAT(of_tasks, HasSubstr("nomad_client_allocs_cpu_total_percent{alloc_id=\"a1\""));
  EXPECT_THAT(of_tasks, Not(HasSubstr("nomad_client_uptime")));
  EXPECT_TRUE(json::parse(nodes.get("/v1/metrics").body).at("Gauges").is_array());
}

TEST(MetricsListener, ServesNothingElseAndMeasuresAtMostOnceASecond) {
  Listening listening;
  EXPECT_EQ(listening.get("/v1/jobs").status, 404);
  for (int i = 0; i < 3; ++i) listening.get("/v1/metrics");
  EXPECT_EQ(listening.measured, 1);
  listening.clock.advance(std::chrono::seconds(2));
  listening.get("/v1/metrics");
  EXPECT_EQ(listening.measured, 2);
}

TEST(MetricsListener, IsForNodesAloneAndNeedsAPort) {
  Config config;
  config.data_dir = "/var/lib/underway";
  config.client.enabled = true;
  config.client.servers = {"https://server:4646"};
  const auto told = [&] { return testing::PrintToString(problems(config)); };
  for (const char* wrong : {"10.0.0.7", "unix:///run/x.sock", "10.0.0.7:x"}) {
    config.telemetry.listen = wrong;
    EXPECT_THAT(told(), HasSubstr("is no address with a port")) << wrong;
  }
  config.telemetry.listen = "10.0.0.7:4646";
  EXPECT_THAT(told(), Not(HasSubstr("telemetry")));
  config.server.enabled = true;
  EXPECT_THAT(told(), HasSubstr("telemetry.listen is for agents that are a node alone"));
  config.server.identity_algorithm = "HS256";
  EXPECT_THAT(told(), HasSubstr("server.identity_algorithm 'HS256' is neither RS256 nor EdDSA"));
}

}  // namespace
}  // namespace underway::agent
