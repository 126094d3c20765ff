// Virtual machines that come to an allocation from another node.
#include "node/allocation/disk.hpp"
#include "node/task/task_event.hpp"
#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

using model::ArrivalPhase;
using model::TaskRunState;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kSource = "00000000-0000-4000-8000-00000000beef";

/// Another node, with a machine that may still run there.
class FakeSource final : public Predecessors {
 public:
  awaitable<std::optional<std::string>> wait_for_directory(std::string) override { co_return std::nullopt; }
  awaitable<void> fetch_disk(std::string, std::string) override { co_return; }
  awaitable<std::vector<protocol::KeptMachine>> describe_machines(std::string) override {
    ++described;
    if (failure) throw *failure;
    co_return std::vector<protocol::KeptMachine>{{"main", "fake", bytes, {{"/srv/image", 7, "00ff"}}}};
  }
  awaitable<void> fetch_machine(std::string, std::string task, std::string to) override {
    while (running) co_await changed.wait();
    if (failure) throw *failure;
    os::make_directories(to);
    os::write_file(to + "/saved.json", "memory of " + task, 0600);
  }
  bool has_namesake(const std::string&) const override { return namesake; }

  bool running = true, namesake = false;
  std::int64_t bytes = 1 << 20;
  int described = 0;
  std::optional<Error> failure;
  async::Event changed;
};

class Arrival : public RunnerTest {
 protected:
  Arrival() { context.predecessors = &source; }
  static StoredOrder order_of() {
    auto order = make_order({make_task("main")});
    order.order.allocation.job = std::make_shared<const model::Job>(order.job);
    order.order.allocation.previous_allocation = kSource;
    order.order.allocation.arrival = model::AllocArrival{.from = kSource, .origin = kSource};
    order.order.start = false;
    return order;
  }
  ArrivalPhase phase() const { return runner->update().arrival->phase; }
  void sleeps() {
    source.running = false;
    source.changed.notify_all();
    runtime.settle();
  }

  FakeSource source;
  std::string root = directory.path() + "/alloc/" + kAllocationId;
};

TEST_F(Arrival, LooksWhetherItCanBeHereBeforeItSleepsAndStartsWhatHasCome) {
  auto order = order_of();
  run(order);
  EXPECT_EQ(phase(), ArrivalPhase::ready);
  ASSERT_EQ(drivers.asked_bases.size(), 1u);
  EXPECT_EQ(drivers.asked_bases[0].sha256, "00ff");
  EXPECT_TRUE(drivers.order.empty());
  sleeps();
  EXPECT_EQ(phase(), ArrivalPhase::arrived);
  EXPECT_TRUE(drivers.order.empty()) << "the server says when";
  order.order.start = true;
  order.order.allocation.arrival->phase = ArrivalPhase::arrived;
  runner->obey(order);
  runtime.settle();
  ASSERT_EQ(state().state, TaskRunState::running);
  const auto& spec = drivers.running.at("main")->spec;
  EXPECT_EQ(spec.arrived, root + "/.machines/main");
  EXPECT_EQ(spec.origin, kSource);
  EXPECT_EQ(os::find_file(spec.arrived + "/saved.json"), "memory of main");
}

TEST_F(Arrival, IsRefusedWithTheReason) {
  drivers.lacking = "'/srv/image' is another image here";
  run(order_of());
  EXPECT_EQ(phase(), ArrivalPhase::refused);
  EXPECT_THAT(runner->update().arrival->trouble, HasSubstr("another image here"));
  EXPECT_TRUE(drivers.order.empty());
}

TEST_F(Arrival, IsRefusedWhereTheDiskIsTooSmall) {
  source.bytes = std::int64_t{1} << 60;
  run(order_of());
  EXPECT_EQ(phase(), ArrivalPhase::refused);
  EXPECT_THAT(runner->update().arrival->trouble, HasSubstr("of disk free, and they may need"));
}

TEST_F(Arrival, IsRefusedWhenTheOldNodeCannotGiveThem) {
  source.failure = Error(Code::unsupported, "it writes to disks outside of its own directory");
  run(order_of());
  EXPECT_EQ(phase(), ArrivalPhase::refused);
}

TEST_F(Arrival, IsLostWithItsNodeAndBeginsAnew) {
  source.failure = Error(Code::not_found, "node 'c1' is down");
  run(order_of());
  EXPECT_EQ(phase(), ArrivalPhase::lost);
  EXPECT_THAT(state().events.back().message, HasSubstr("this one begins anew"));
}

TEST_F(Arrival, GoesOnWhereAnAgentBeforeUsWas) {
  run(order_of());
  ASSERT_EQ(phase(), ArrivalPhase::ready);
  restart_agent();
  EXPECT_EQ(source.described, 1) << "it had looked";
  EXPECT_EQ(phase(), ArrivalPhase::ready);
  sleeps();
  EXPECT_EQ(phase(), ArrivalPhase::arrived);
  restart_agent();
  EXPECT_EQ(phase(), ArrivalPhase::arrived);
}

TEST_F(Arrival, IsNotWaitedForAnyLongerWhenTheServerSaysSo) {
  auto order = order_of();
  run(order);
  order.order.allocation.arrival->phase = ArrivalPhase::lost;
  order.order.allocation.arrival->trouble = "the drain's deadline has passed";
  order.order.start = true;
  runner->obey(order);
  runtime.settle();
  EXPECT_EQ(phase(), ArrivalPhase::lost);
  sleeps();
  EXPECT_EQ(phase(), ArrivalPhase::lost) << "what comes too late is not used";
  EXPECT_EQ(state().state, TaskRunState::running);
}

TEST_F(RunnerTest, WhatMachinesKeptIsRemovedOnceTheyAreElsewhere) {
  FakeSource source;
  context.predecessors = &source;
  const std::string kept = directory.path() + "/machines/web";
  os::make_directories(kept);
  auto order = make_order({make_task("main")});
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  drivers.kept_in = kept;
  run(order);
  order.order.allocation.desired_status = model::DesiredStatus::stop;
  runner->obey(order);
  runtime.settle();
  ASSERT_TRUE(runner->dead());
  EXPECT_TRUE(os::exists(kept));
  order.order.allocation.sleep = model::AllocSleep{.left = true};
  runner->obey(order);
  runtime.settle();
  EXPECT_FALSE(os::exists(kept));
  EXPECT_TRUE(os::list_directory(directory.path() + "/machines").empty());
  runner.reset();
}

TEST_F(RunnerTest, WhatMachinesKeptStaysForTheNextOneOfTheirName) {
  FakeSource source;
  source.namesake = true;
  context.predecessors = &source;
  const std::string kept = directory.path() + "/machines/web";
  os::make_directories(kept);
  auto order = make_order({make_task("main")});
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  drivers.kept_in = kept;
  run(order);
  order.order.allocation.desired_status = model::DesiredStatus::stop;
  runner->obey(order);
  runtime.settle();
  ASSERT_TRUE(runner->dead());
  EXPECT_TRUE(os::exists(kept));
  order.order.allocation.sleep = model::AllocSleep{.left = true};
  runner->obey(order);
  runtime.settle();
  EXPECT_TRUE(os::exists(kept));
  runner.reset();
}

}  // namespace
}  // namespace underway::node
