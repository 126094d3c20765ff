#pragma once
/// @file
/// The server's end of the link, on a unix socket, and agents that can be killed: for tests on the real kernel.

#include <csignal>

#include "base/json/json.hpp"
#include "fixture.hpp"
#include "http/server.hpp"
#include "link/connection.hpp"
#include "os/process/cgroup.hpp"
#include "os/process/process.hpp"
#include "protocol/messages.hpp"

namespace underway::node {

using namespace std::chrono_literals;

class FakeServer {
 public:
  explicit FakeServer(const std::string& directory) : socket_(directory + "/link.sock") {
    router_.add("GET", "/v1/underway/link", "link", [this](http::Request) { return accept(); });
    server_ = std::make_unique<http::Server>(loop.executor(), router_);
    server_->listen(http::Endpoint{.socket_path = socket_});
  }
  ~FakeServer() {
    connection.reset();
    loop.run_until_done(server_->stop(0s));
  }

  std::string address() const { return "unix://" + socket_; }
  /// Serves `body` over HTTP on the loopback address; returns the port.
  std::uint16_t serve_file(const std::string& path, std::string body) {
    router_.add("GET", path, path, [body](http::Request) -> awaitable<http::Response> {
      http::Response response;
      response.body = body;
      co_return response;
    });
    return server_->listen(http::Endpoint{.host = "127.0.0.1"}).port;
  }

  /// Serves until `condition` holds; false when `limit` passed first.
  template <class Condition>
  bool until(Condition condition, Duration limit = 20s) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      loop.context().restart();
      loop.context().run_one_for(20ms);
    }
    return true;
  }

  void send(protocol::AllocationsMessage message) {
    auto body = json::to_value(message, json::Encoding::compact);
    loop.run_until_done(connection->notify("allocations", std::move(body)));
  }
  boost::json::value call(std::string method, boost::json::value body) {
    return loop.run_until_done(connection->call(std::move(method), std::move(body)));
  }
  /// Everything that a stream brings, until it ends or `enough` says so.
  std::string read_stream(std::string method, boost::json::value header,
                          std::function<bool(const std::string&)> enough = {}, std::string input = {},
                          std::optional<std::int64_t>* exit_code = nullptr) {
    const auto talk = [&]() -> awaitable<std::string> {
      const auto stream = co_await connection->open(std::move(method), std::move(header));
      if (!input.empty()) co_await stream->write(input);
      if (!enough) stream->end();
      std::string all;
      while (auto chunk = co_await stream->read()) {
        if (chunk->channel == link::Channel::control) {
          if (exit_code != nullptr) *exit_code = json::parse(chunk->bytes).at("ExitCode").to_number<std::int64_t>();
          continue;
        }
        all += chunk->bytes;
        if (enough && enough(all)) {
          stream->reset(Error(Code::unavailable, "enough"));
          break;
        }
      }
      co_return all;
    };
    return loop.run_until_done(async::within(30s, "a stream of the node", talk()));
  }

  const model::AllocationUpdate* find(const std::string& id) const {
    const auto it = updates.find(id);
    return it == updates.end() ? nullptr : &it->second;
  }
  bool is(const std::string& id, model::ClientStatus status) const {
    const auto* update = find(id);
    return update != nullptr && update->client_status == status;
  }
  std::string events(const std::string& id, const std::string& task) const {
    std::string text;
    if (const auto* update = find(id))
      for (const auto& event : update->task_states.at(task).events) text += event.type + ": " + event.message + "\n";
    return text;
  }

  async::Loop loop;
  std::shared_ptr<link::Connection> connection;
  std::optional<protocol::RegisterRequest> registered;
  int registrations = 0;
  bool refusing = false;  ///< whoever dials
  std::map<std::string, model::AllocationUpdate> updates;

 private:
  awaitable<http::Response> accept() {
    if (refusing) throw Error(Code::unavailable, "the server is gone");
    http::Response response;
    response.upgrade = [this](std::shared_ptr<http::WebSocket> socket) { return serve(std::move(socket)); };
    co_return response;
  }
  awaitable<void> serve(std::shared_ptr<http::WebSocket> socket) {
    link::Handlers handlers;
    handlers.call = [this](std::string method, boost::json::value body) {
      return answer(std::move(method), std::move(body));
    };
    handlers.notify = [](std::string, boost::json::value) {};
    const auto mine =
        link::Connection::make(loop.executor(), std::move(socket), link::Side::acceptor, std::move(handlers));
    connection = mine;
    try {
      co_await mine->run();
    } catch (const Error&) {
      // The agent was killed: that is what the test is about.
    }
  }
  awaitable<boost::json::value> answer(std::string method, boost::json::value body) {
    if (method == "register") {
      registered = json::decode<protocol::RegisterRequest>(body);
      ++registrations;
      const protocol::RegisterReply reply{registered->node.id, 10s};
      co_return json::to_value(reply);
    }
    for (auto& update : json::decode<protocol::UpdateRequest>(body).updates) updates[update.id] = std::move(update);
    co_return boost::json::object{};
  }

  std::string socket_;
  http::Router router_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace underway::node
