#pragma once
/// @file
/// The node's end of a link, in memory: it registers, does what it is ordered to do at once, and reports. For tests of
/// everything above the server.

#include "link/testing/socket_pair.hpp"
#include "protocol/messages.hpp"
#include "server/server.hpp"

#include "base/json/json.hpp"

namespace underway::server::testing {

/// Runs `loop` until `condition` holds. Throws after ten seconds: the test hangs otherwise.
template <class Condition>
void run_until(async::Loop& loop, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) throw Error(Code::timeout, "the condition never came to hold");
    loop.context().restart();
    loop.context().run_one_for(std::chrono::milliseconds(20));
  }
}

class FakeNode {
 public:
  FakeNode(async::Executor executor, Server& server, model::Node node, std::string secret = "secret")
      : executor_(executor),
        server_(server),
        node_(std::move(node)),
        secret_(std::move(secret)),
        tasks_(executor, "n") {}
  FakeNode(const FakeNode&) = delete;
  FakeNode& operator=(const FakeNode&) = delete;

  /// Dials and registers; heartbeats follow. Throws the server's refusal.
  async::awaitable<void> join() {
    const auto [mine, theirs] = link::FakeSocket::pair();
    link::Handlers handlers;
    handlers.notify = [this](std::string method, boost::json::value body) {
      if (method == "allocations") obey(json::decode<protocol::AllocationsMessage>(body));
    };
    handlers.call = [this](std::string method, boost::json::value body) { return answer(method, std::move(body)); };
    handlers.stream = [this](std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) {
      return serve(method, std::move(header), std::move(stream));
    };
    connection = link::Connection::make(executor_, mine, link::Side::dialler, std::move(handlers));
    tasks_.spawn("server", server_.serve_link(theirs));
    tasks_.spawn("link", run(connection));
    co_await register_again();
    tasks_.spawn("heartbeats", beat(connection));
  }
  /// The call that a node makes first, and again when its fingerprints have changed.
  async::awaitable<void> register_again() {
    const protocol::RegisterRequest own{node_, secret_, running, ordered};
    const auto request = json::to_value(own, json::Encoding::compact);
    registered = json::decode<protocol::RegisterReply>(co_await connection->call("register", request));
  }
  async::awaitable<void> send_heartbeat() {
    co_await connection->notify("heartbeat", json::to_value(protocol::Heartbeat{troubles}, json::Encoding::compact));
  }
  /// The link breaks as a pulled cable would break it.
  void cut() { connection->abort(); }
  async::awaitable<void> stop() {
    if (connection) connection->abort();
    co_await tasks_.stop();
  }

  async::awaitable<void> tell(std::vector<model::AllocationUpdate> updates) {
    const auto request = json::to_value(protocol::UpdateRequest{std::move(updates)}, json::Encoding::compact);
    co_await connection->call("update", request);
  }

  model::Node& node() { return node_; }
  const std::string& id() const { return node_.id; }

  bool obedient = true;                         ///< reports that it runs what shall start and ended what shall stop
  bool silent = false;                          ///< sends no heartbeats
  std::vector<protocol::LoopTrouble> troubles;  ///< that its heartbeats tell of
  std::shared_ptr<link::Connection> connection;
  protocol::RegisterReply registered;
  std::vector<model::AllocationUpdate> running;             ///< told when it registers
  std::vector<protocol::OrderedAllocation> ordered;         ///< likewise
  std::vector<protocol::AllocationsMessage> received;       ///< since the beginning
  std::map<std::string, protocol::AllocationOrder> orders;  ///< as they stand, by allocation
  std::map<std::string, model::Job> jobs;                   ///< by job_key
  /// Answers of calls, by method; without one it echoes.
  std::map<std::string, std::function<boost::json::value(const boost::json::value&)>> answers;
  /// Serve streams, by method.
  std::map<std::string, std::function<async::awaitable<void>(boost::json::value, std::shared_ptr<link::Stream>)>>
      streams;

 private:
  static async::awaitable<void> run(std::shared_ptr<link::Connection> link) {
    try {
      co_await link->run();
    } catch (const Error&) {  // the test cut it, or the server did
    }
  }
  async::awaitable<void> beat(std::shared_ptr<link::Connection> link) {
    while (link->is_open()) {
      if (!silent) co_await send_heartbeat();
      co_await async::sleep_for(registered.heartbeat_ttl / 2);
    }
  }
  async::awaitable<boost::json::value> answer(std::string method, boost::json::value body) {
    const auto it = answers.find(method);
    co_return it == answers.end() ? body : it->second(body);
  }
  async::awaitable<void> serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) {
    const auto it = streams.find(method);
    if (it == streams.end()) throw Error(Code::unsupported, "no such stream here");
    co_await it->second(std::move(header), std::move(stream));
  }

  void obey(protocol::AllocationsMessage message) {
    if (message.full) orders.clear();
    for (const auto& [key, job] : message.jobs) jobs[key] = job;
    for (const auto& id : message.remove) orders.erase(id);
    std::vector<model::AllocationUpdate> updates;
    for (const auto& order : message.set) {
      orders[order.allocation.id] = order;
      if (auto update = reaction(order)) updates.push_back(std::move(*update));
    }
    received.push_back(std::move(message));
    if (!updates.empty() && obedient) tasks_.spawn("report", tell(std::move(updates)));
  }
  static std::optional<model::AllocationUpdate> reaction(const protocol::AllocationOrder& order) {
    const auto& allocation = order.allocation;
    if (allocation.client_terminal()) return std::nullopt;
    model::AllocationUpdate update;
    update.id = allocation.id;
    auto& task = update.task_states["t"];
    if (allocation.server_terminal()) {
      update.client_status = model::ClientStatus::complete;
      task.state = model::TaskRunState::dead;
    } else if (order.start && allocation.client_status == model::ClientStatus::pending) {
      update.client_status = model::ClientStatus::running;
      update.health.healthy = update.health.ready = true;
      task.state = model::TaskRunState::running;
    } else {
      return std::nullopt;
    }
    return update;
  }

  async::Executor executor_;
  Server& server_;
  model::Node node_;
  std::string secret_;
  async::TaskGroup tasks_;
};

}  // namespace underway::server::testing
