#pragma once
/// @file
/// A server with its controller of capsules, and two nodes whose links are in memory.

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "ownership/controller.hpp"
#include "ownership/link_executor.hpp"
#include "ownership/upgrade.hpp"
#include "rehearsal/rehearsal.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"
#include "store/memory_store.hpp"

namespace underway::ownership::testing {

using model::CapsuleState;
using server::testing::FakeNode;
using server::testing::uuid;
using namespace std::chrono_literals;

class FakeFence final : public Fence {
 public:
  awaitable<bool> fence(std::string node_id, std::string) override {
    asked.push_back(std::move(node_id));
    if (fails-- > 0) throw Error(Code::unavailable, "the provider does not answer");
    co_return knows;
  }
  std::vector<std::string> asked;
  int fails = 0;
  bool knows = true;
};

class ControllerTest : public ::testing::Test {
 protected:
  /// Of its own accord it has no copies made.
  explicit ControllerTest(boost::json::object protect = {{"standby", false}}) {
    start();
    for (const int number : {1, 2}) join(number);
    model::Job job = server::testing::make_job("svc");
    job.groups[0].tasks[0].driver = "capsule";
    job.groups[0].tasks[0].config =
        boost::json::object{{"image", "svc.capsule"}, {"protect", boost::json::array{std::move(protect)}}};
    loop.run_until_done(server->apply(server::RegisterJob{job, {}, {}}));
    until([&] { return find() && find()->ran; });
  }
  ~ControllerTest() override {
    for (auto& [number, node] : nodes) loop.run_until_done(node->stop());
    nodes.clear();
    stop();
  }

  void start() {
    server::Options options;
    options.root_by_raw_exec = true;
    options.heartbeat_ttl = 200ms;
    options.heartbeat_grace = 200ms;
    options.start_grace = 500ms;
    options.link_patience = 2s;
    options.guard = std::make_shared<const CapsuleGuard>();
    server = std::make_unique<server::Server>(loop.executor(), store, clock, ids, options);
    node_executor = std::make_unique<LinkExecutor>(*server, loop.executor());
    Controller::Options how;
    how.limits.lease = 100ms;
    how.limits.check = 5s;
    how.poll = 50ms;
    how.busy_patience = 300ms;
    how.retry_after = 20ms;
    how.fence_again = 50ms;
    controller = std::make_unique<Controller>(*server, *node_executor, fence, loop.executor(), how);
    server->start();
    controller->start();
  }
  void stop() {
    loop.run_until_done(controller->stop());
    loop.run_until_done(server->stop());
    loop.context().restart();
    loop.context().poll();
    controller.reset();
    server.reset();
  }
  void join(int number, std::vector<model::AllocationUpdate> running = {}) {
    model::Node node = server::testing::make_node(number);
    node.attributes["driver.capsule"] = "1";
    node.drivers["capsule"] = {true, true, "", {}};
    auto& slot = nodes[number];
    slot = std::make_unique<FakeNode>(loop.executor(), *server, std::move(node));
    slot->streams["move.stage"] = [this](boost::json::value, std::shared_ptr<link::Stream> stream) {
      return stage(std::move(stream));
    };
    slot->streams["move.save"] = [this](boost::json::value, std::shared_ptr<link::Stream> stream) {
      return snapshot(std::move(stream));
    };
    slot->streams["move.install"] = [this](boost::json::value, std::shared_ptr<link::Stream> stream) {
      return install(std::move(stream));
    };
    slot->streams["move.steps"] = [this](boost::json::value header, std::shared_ptr<link::Stream> stream) {
      return run_steps(std::move(header), std::move(stream));
    };
    slot->streams["move.send"] = [this](boost::json::value header, std::shared_ptr<link::Stream> stream) {
      return send(std::move(header), std::move(stream));
    };
    slot->streams["move.watch"] = [this](boost::json::value header, std::shared_ptr<link::Stream> stream) {
      return watch(std::move(header), std::move(stream));
    };
    slot->streams["move.receive"] = [this](boost::json::value, std::shared_ptr<link::Stream> stream) {
      return receive(std::move(stream));
    };
    slot->streams["move.look"] = [this](boost::json::value, std::shared_ptr<link::Stream> stream) {
      return look(std::move(stream));
    };
    slot->streams["rehearsal.run"] = [this](boost::json::value, std::shared_ptr<link::Stream> stream) {
      return rehearse(std::move(stream));
    };
    slot->running = std::move(running);
    loop.run_until_done(slot->join());
  }
  awaitable<void> stage(std::shared_ptr<link::Stream> stream) {
    if (!obstacle.empty()) throw Error(Code::invalid, obstacle);
    stream->end();
    co_return;
  }
  awaitable<void> snapshot(std::shared_ptr<link::Stream> stream) {
    if (no_snapshot) throw Error(Code::exhausted, "the disk is full");
    SaveReply reply{"20261122-031500", 0, {}};
    const auto told = json::to_value(reply);
    co_await stream->write_control(told);
    stream->end();
  }
  awaitable<void> install(std::shared_ptr<link::Stream> stream) {
    ++installed;
    stream->end();
    co_return;
  }
  awaitable<void> run_steps(boost::json::value header, std::shared_ptr<link::Stream> stream) {
    steps.push_back(json::decode<StepsRequest>(header).moment);
    stream->end();
    co_return;
  }
  awaitable<void> send(boost::json::value header, std::shared_ptr<link::Stream> stream) {
    const auto request = json::decode<CopyRequest>(header);
    ++rounds;
    asked.push_back(std::string(request.consistent ? "consistent" : "running") + (request.brief ? ", brief" : ""));
    if (too_much && request.brief) throw Error(Code::too_large, "more has changed than is read meanwhile");
    const auto seen = std::to_string(written);
    if (hold_first_round && rounds == 1) co_await async::sleep_for(30s);
    while (hold_copies) co_await async::sleep_for(5ms);
    std::string content(200'000, 'x');
    co_await stream->write(std::move(content));
    const auto heard = co_await stream->read();
    CopyReply reply;
    reply.bytes = heard ? 200'000 : -1;
    reply.files = 1;
    reply.consistent = request.consistent;
    reply.seen = seen;
    reply.cost = cost;
    const auto told = json::to_value(reply);
    co_await stream->write_control(told);
    stream->end();
    while (co_await stream->read()) {
    }
  }
  awaitable<void> watch(boost::json::value header, std::shared_ptr<link::Stream> stream) {
    const auto request = json::decode<WatchRequest>(header);
    watched_for = request.every;
    const bool changed = request.seen != std::to_string(written);
    WatchReply reply{changed, false, 1ms, 0ms};
    const auto told = json::to_value(reply);
    if (reply_after > 0s) co_await async::sleep_for(reply_after);
    co_await stream->write_control(told);
    while (request.seen == std::to_string(written)) co_await async::sleep_for(5ms);
    reply.changed = true;
    const auto last = json::to_value(reply);
    if (!changed) co_await stream->write_control(last);
    stream->end();
  }
  awaitable<void> receive(std::shared_ptr<link::Stream> stream) {
    while (received < 200'000) {
      const auto chunk = co_await stream->read();
      if (!chunk) throw Error(Code::unavailable, "cut off");
      received += chunk->bytes.size();
    }
    received = 0;
    std::string thanks = "thanks";
    co_await stream->write(std::move(thanks));
    stream->end();
    while (co_await stream->read()) {
    }
  }

  awaitable<void> look(std::shared_ptr<link::Stream> stream) {
    const auto told = json::to_value(LookReply{"sha256:old", "sha256:old", "sha256:new"});
    co_await stream->write_control(told);
    stream->end();
  }
  awaitable<void> rehearse(std::shared_ptr<link::Stream> stream) {
    ++rehearsals;
    if (rehearsal_fails) throw Error(*rehearsal_fails);
    if (rehearses_for_ever) {
      co_await stream->broken_off();
      ++broken_off;
      co_return;
    }
    while (hold_rehearsal) co_await async::sleep_for(5ms);
    model::Rehearsal verdict;
    verdict.digest = "sha256:new";
    verdict.findings = {{"start", true, 0, "", 1ms}};
    const auto told = json::to_value(verdict);
    co_await stream->write_control(told);
    stream->end();
  }

  std::optional<model::Capsule> find() const {
    return tables::find_record<model::Capsule>(server->writer().tables(), "default/svc");
  }
  int owner() const { return std::stoi(find()->owner.substr(0, 8)); }
  int other() const { return owner() == 1 ? 2 : 1; }
  void begin_move(int node) {
    loop.run_until_done(server->apply(BeginMove{{"default", "svc", uuid(node), false}, controller->limits()}));
  }
  void begin_upgrade() {
    loop.run_until_done(server->apply(BeginUpgrade{{.name = "svc", .image = "svc:2"}, controller->limits()}));
  }
  void cancel() { loop.run_until_done(server->apply(Cancel{"default", "svc", controller->limits()})); }
  bool upgrade_is_over() const { return find()->last_upgrade && !find()->upgrade; }
  template <class Condition>
  void until(Condition condition) {
    server::testing::run_until(loop, condition);
  }
  bool at_rest() const { return find() && !find()->move && find()->state == CapsuleState::held; }

  async::Loop loop;
  store::MemoryStore store;
  SystemClock clock;
  SeededIds ids{5};
  FakeFence fence;
  std::unique_ptr<server::Server> server;
  std::unique_ptr<LinkExecutor> node_executor;
  std::unique_ptr<Controller> controller;
  std::map<int, std::unique_ptr<FakeNode>> nodes;
  std::string obstacle;
  std::vector<std::string> steps;
  std::size_t received = 0;
  int rounds = 0, installed = 0;
  int written = 0;                 ///< by the capsule
  Duration cost{0};                ///< of a copy, as the node says
  Duration reply_after{0};         ///< what the node found out is on its way for so long
  Duration watched_for{0};         ///< as the node was told: how long what is written in place may wait
  std::vector<std::string> asked;  ///< of the capsule's owner, for each round
  bool too_much = false;           ///< for writers to stand still
  bool hold_first_round = false, no_snapshot = false, hold_copies = false;
  int rehearsals = 0, broken_off = 0;
  std::optional<Error> rehearsal_fails;
  bool rehearses_for_ever = false, hold_rehearsal = false;
};

}  // namespace underway::ownership::testing
