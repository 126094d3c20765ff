// A server and its controller of capsules as they are, with two nodes, in simulated time: what waits, polls and backs
// off goes by it. (capsule_test.cpp plays the decisions alone, by the thousand.)
#include <gtest/gtest.h>

#include "async/testing/simulated_time.hpp"
#include "base/error.hpp"
#include "ownership/controller.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"
#include "store/memory_store.hpp"

namespace underway::sim {
namespace {

using async::awaitable;
using model::CapsuleState;
using server::testing::FakeNode;
using server::testing::uuid;
using namespace std::chrono_literals;

/// Everything that a move asks of nodes is done at once.
class WillingNodes final : public ownership::NodeExecutor {
 public:
  awaitable<void> stage(model::Capsule, tables::Row<model::Job>, std::string) override { co_return; }
  awaitable<ownership::Copied> copy(model::Capsule, tables::Row<model::Job>, std::string,
                                    ownership::CopyKind kind) override {
    ownership::Copied copied;
    copied.consistent = kind != ownership::CopyKind::running;
    co_return copied;
  }
  awaitable<bool> watch(model::Capsule, tables::Row<model::Job>, std::string, Duration, Duration, Duration patience,
                        std::function<void(Duration)>) override {
    co_await async::sleep_for(patience);
    co_return false;
  }
  awaitable<void> install(model::Capsule, tables::Row<model::Job>, std::string) override { co_return; }
  awaitable<void> run_steps(model::Capsule, std::string, std::string) override { co_return; }
  awaitable<ownership::Saved> snapshot(model::Capsule) override { co_return ownership::Saved{}; }
  awaitable<ownership::Looked> look(model::Capsule, tables::Row<model::Job>) override { co_return ownership::Looked{}; }
  awaitable<model::Rehearsal> rehearse(model::Capsule, tables::Row<model::Job>) override {
    co_return model::Rehearsal{};
  }
  awaitable<std::string> restore(model::Capsule, std::string) override { co_return std::string(); }
};

/// The power supply of a rack that does not answer before `answers_at`.
class SlowFence final : public ownership::Fence {
 public:
  explicit SlowFence(const Clock& clock) : clock_(clock) {}
  awaitable<bool> fence(std::string, std::string) override {
    asked.push_back(clock_.now());
    if (clock_.now() < answers_at) throw Error(Code::unavailable, "the power supply does not answer");
    co_return true;
  }
  std::vector<TimePoint> asked;
  TimePoint answers_at{};

 private:
  const Clock& clock_;
};

class Controllers {
 public:
  Controllers() {
    server_.start();
    controller_.start();
    for (const int number : {1, 2}) {
      model::Node node = server::testing::make_node(number);
      node.attributes["driver.capsule"] = "1";
      node.drivers["capsule"] = {true, true, "", {}};
      nodes_[number] = std::make_unique<FakeNode>(loop_.executor(), server_, std::move(node));
      run(nodes_[number]->join());
    }
    model::Job job = server::testing::make_job("svc");
    job.groups[0].tasks[0].driver = "capsule";
    job.groups[0].tasks[0].config = boost::json::object{
        {"image", "svc.capsule"}, {"protect", boost::json::array{boost::json::object{{"standby", false}}}}};
    run(registered(std::move(job)));
    within(1min, [this] { return find() && find()->ran; });
  }
  ~Controllers() {
    for (auto& [number, node] : nodes_) run(node->stop());
    nodes_.clear();
    run(controller_.stop());
    run(server_.stop());
  }
  Controllers(const Controllers&) = delete;
  Controllers& operator=(const Controllers&) = delete;

  void keep_copies_on(int node) {
    const std::string id = uuid(node);
    run(submitted(ownership::SetStandby{"default", "svc", id, 1h, Duration{0}, controller_.limits()}));
    within(1min, [this, node] { return find()->find_replica(uuid(node)) != nullptr; });
  }
  /// How long it took.
  template <class Condition>
  Duration within(Duration limit, Condition condition) {
    const TimePoint begun = time_.now();
    EXPECT_TRUE(time_.run_until(condition, limit)) << "it did not come to be within " << human_duration(limit);
    return time_.now() - begun;
  }
  std::optional<model::Capsule> find() {
    return tables::find_record<model::Capsule>(server_.writer().tables(), "default/svc");
  }
  bool runs_on(int node) {
    const auto capsule = find();
    return capsule && capsule->owner == uuid(node) && !capsule->move && capsule->state == CapsuleState::held;
  }
  int owner() { return std::stoi(find()->owner.substr(0, 8)); }
  bool is_down(int node) { return server_.writer().tables().find_node(uuid(node))->silent(); }
  FakeNode& node(int number) { return *nodes_.at(number); }
  SlowFence& fence() { return fence_; }
  async::SimulatedTime& time() { return time_; }
  const async::LoopHealth& health(const std::string& loop) {
    for (const auto& one : server_.loops().health()) {
      if (one.name == loop) return one;
    }
    throw Error(Code::not_found, fmt::format("no loop '{}'", loop));
  }

 private:
  static server::Options options() {
    server::Options out;
    out.root_by_raw_exec = true;
    out.guard = std::make_shared<const ownership::CapsuleGuard>();
    return out;
  }
  awaitable<void> registered(model::Job job) {
    server::RegisterJob request{std::move(job), {}, {}};
    co_await server_.apply(std::move(request));
  }
  template <class What>
  awaitable<void> submitted(What what) {
    auto request = server::testing::asked(std::move(what));
    co_await server_.apply(std::move(request));
  }
  void run(awaitable<void> task) {
    async::TaskGroup tasks(loop_.executor(), "test");
    tasks.spawn("step", std::move(task));
    EXPECT_TRUE(time_.run_until([&] { return tasks.size() == 0; }, 1min));
  }

  async::Loop loop_;
  store::MemoryStore store_{store::MemoryStore::Mode::stepped};
  async::SimulatedTime time_{loop_, [this] { return store_.step(); }};
  SeededIds ids_{5};
  server::Server server_{loop_.executor(), store_, time_, ids_, options()};
  WillingNodes node_executor_;
  SlowFence fence_{time_};
  ownership::Controller controller_{server_, node_executor_, fence_, loop_.executor(), {}};
  std::map<int, std::unique_ptr<FakeNode>> nodes_;
};

/// When the node counts as down, when it is asked about, and when the capsule runs again.
std::vector<TimePoint> history_of_a_failover() {
  Controllers world;
  const int from = world.owner(), to = from == 1 ? 2 : 1;
  world.keep_copies_on(to);
  world.fence().answers_at = world.time().now() + 10min;
  world.node(from).silent = true;
  const Duration silent = world.within(1min, [&] { return world.is_down(from); });
  EXPECT_GE(silent, 6s) << "nine since its last heartbeat";
  EXPECT_LE(silent, 12s);
  std::vector<TimePoint> moments{world.time().now()};
  world.within(20min, [&] { return world.runs_on(to); });
  EXPECT_GE(world.time().now(), world.fence().answers_at) << "nothing may run twice";
  EXPECT_LE(world.time().now(), world.fence().answers_at + 1min);
  EXPECT_EQ(world.health("capsules").failures, 0) << "that a fence does not answer is no failure of the loop";
  const auto& asked = world.fence().asked;
  EXPECT_GE(asked.size(), 50U) << "every ten seconds";
  EXPECT_LE(asked.size(), 62U);
  moments.insert(moments.end(), asked.begin(), asked.end());
  moments.push_back(world.time().now());
  return moments;
}

TEST(ControllersSim, ACapsuleGetsToItsStandbyWhenItsHostIsKnownToBeOffAfterTenMinutes) {
  EXPECT_EQ(history_of_a_failover(), history_of_a_failover()) << "it depends on more than the seed";
}

}  // namespace
}  // namespace underway::sim
