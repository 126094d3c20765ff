// The log of an agent as it is written, and the machine that it runs on.
#include "api/routes.hpp"
#include "async/log_lines.hpp"
#include "base/text.hpp"
#include "node/fingerprint/host_stats.hpp"
#include "protocol/client_messages.hpp"

namespace underway::api {
namespace {

using acl::Level;

/// So that proxies do not take the stream for dead, and who has gone is noticed.
constexpr Duration kMonitorHeartbeat = std::chrono::seconds(10);

/// Nomad's StreamFrame, or the bytes.
awaitable<void> write_piece(http::BodyWriter& writer, std::string piece, bool plain) {
  if (!plain) piece = boost::json::serialize(boost::json::object{{"Data", base64_encode(piece)}});
  co_await writer.write(std::move(piece));
}

awaitable<void> stream_own(async::Executor executor, log::Level level, protocol::MonitorRequest wanted, bool plain,
                           http::BodyWriter& writer) {
  async::LogLines lines(std::move(executor), level);
  while (true) {
    const auto line = co_await lines.next(async::deadline_in(kMonitorHeartbeat));
    if (line)
      co_await write_piece(writer, (wanted.json ? log::json_of(*line) : log::text_of(*line)) + "\n", plain);
    else if (!plain)
      co_await writer.write("{}");
  }
}

awaitable<void> stream_of_node(std::shared_ptr<link::Stream> stream, bool plain, http::BodyWriter& writer) {
  while (auto chunk = co_await stream->read()) {
    if (chunk->channel == link::Channel::data)
      co_await write_piece(writer, std::move(chunk->bytes), plain);
    else if (!plain)
      co_await writer.write("{}");
  }
}

/// `server_id`: there is one server, and every name of it is good.
awaitable<Response> monitor(Api& api, Request request) {
  protocol::MonitorRequest wanted;
  if (const auto level = request.query.find("log_level"); level && !level->empty()) wanted.level = *level;
  wanted.json = request.query.flag("log_json");
  const bool plain = request.query.flag("plain");
  log::Level level{};
  if (!log::parse_level(wanted.level, level))
    throw Error(Code::invalid, fmt::format("Unknown log level: {}", wanted.level));
  const std::string node_id = request.query.find("node_id").value_or("");
  if (!node_id.empty() && request.query.has("server_id"))
    throw Error(Code::invalid, "Cannot target node and server simultaneously");
  Response response;
  response.headers.set("Content-Type", plain ? "text/plain; charset=utf-8" : "application/json");
  if (!node_id.empty()) {
    const auto* tables = co_await api.server.read();
    const std::string id = get_node(*tables, node_id)->id;
    const auto stream = co_await api.server.open_stream(id, "node.monitor", json::to_value(wanted));
    response.stream = [stream, plain](http::BodyWriter& writer) { return stream_of_node(stream, plain, writer); };
    co_return response;
  }
  const async::Executor executor = co_await asio::this_coro::executor;
  response.stream = [executor, level, wanted, plain](http::BodyWriter& writer) {
    return stream_own(executor, level, wanted, plain, writer);
  };
  co_return response;
}

awaitable<Response> host(Api& api, Request request) {
  if (const std::string node_id = request.query.find("node_id").value_or(""); !node_id.empty()) {
    const auto* tables = co_await api.server.read();
    const std::string id = get_node(*tables, node_id)->id;
    boost::json::value nothing = boost::json::object{};
    const auto answer = co_await api.server.call_node(id, "node.host", std::move(nothing));
    co_return http::json(boost::json::serialize(answer));
  }
  co_return http::json(boost::json::serialize(
      boost::json::object{{"AgentID", api.agent.name}, {"HostData", node::host_data(node::Machine{}, "/")}}));
}

awaitable<Response> reload(Api& api, Request request) {
  if (!api.reload) throw Error(Code::unsupported, "this server has no configuration to read again");
  request.tell("log level and certificates read again");
  api.reload();
  co_return http::json("{}");
}

/// One loop schedules for all kinds of jobs; it is always there.
boost::json::array kinds() { return {"service", "batch", "system", "sysbatch", "_core"}; }

awaitable<Response> schedulers(Api& api, Request) {
  boost::json::object worker{{"id", api.agent.name},
                             {"enabled_schedulers", kinds()},
                             {"started", format_time(api.server.started_at())},
                             {"status", "Started"},
                             {"workload_status", "WaitingToDequeue"}};
  co_return http::json(boost::json::serialize(
      boost::json::object{{"server_id", api.agent.name}, {"schedulers", boost::json::array{std::move(worker)}}}));
}

awaitable<Response> scheduler_configuration(Api& api, Request) {
  co_return http::json(boost::json::serialize(
      boost::json::object{{"server_id", api.agent.name}, {"num_schedulers", 1}, {"enabled_schedulers", kinds()}}));
}

}  // namespace

void add_monitor_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto read = right::agent(Level::read);
  routes.add("GET", "/v1/agent/monitor", "agent monitor", read, with(monitor));
  routes.add("GET", "/v1/agent/host", "agent host", read, with(host));
  routes.add("PUT|POST", "/v1/agent/reload", "agent reload", right::agent(Level::write), with(reload));
  routes.add("GET", "/v1/agent/schedulers", "agent schedulers", read, with(schedulers));
  routes.add("GET", "/v1/agent/schedulers/config", "agent scheduler configuration", read,
             with(scheduler_configuration));
}

}  // namespace underway::api
