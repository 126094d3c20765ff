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
    co_return std::vector<protocol::KeptMachine>{{"main", "fake", bytes, {{"/srv/image", 7, "00ff"}}, live}};
  }
  awaitable<void> fetch_machine(std::string, std::string task, std::string to) override {
    while (running) co_await changed.wait();
    if (failure) throw *failure;
    os::make_directories(to);
    os::write_file(to + "/saved.json", "memory of " + task, 0600);
  }
  awaitable<protocol::Departure> receive_machine(std::string, std::string) override {
    while (sending) co_await changed.wait();
    if (not_sent) throw *not_sent;
    co_return protocol::Departure{.stood_still = std::chrono::milliseconds(40)};
  }
  awaitable<void> carry(protocol::MachineStream, os::Fd) override { co_return; }
  awaitable<protocol::MoveFate> fate_of(std::string, std::string to) override {
    asked_for.push_back(to);
    if (unlinked) throw Error(Code::unavailable, "no server is linked");
    co_return fate;
  }
  bool has_namesake(const std::string&) const override { return namesake; }

  std::optional<protocol::LiveMachine> live;
  bool sending = true, unlinked = false;
  std::optional<Error> not_sent;
  protocol::MoveFate fate = protocol::MoveFate::open;
  std::vector<std::string> asked_for;
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

/// The machine comes while it runs.
class LiveArrival : public Arrival {
 protected:
  LiveArrival() {
    source.live.emplace();
    drivers.lacking_live.clear();
  }
  void sent() {
    source.sending = false;
    source.changed.notify_all();
    runtime.settle();
  }
  FakeTask& target() { return process(); }
  void told_to_start(StoredOrder order) {
    order.order.start = true;
    order.order.allocation.arrival->phase = ArrivalPhase::arrived;
    order.order.allocation.arrival->live = true;
    runner->obey(order);
    runtime.settle();
  }
};

TEST_F(LiveArrival, StandsStillUntilTheServerSaysThatItIsOurs) {
  auto order = order_of();
  run(order);
  EXPECT_EQ(phase(), ArrivalPhase::coming);
  ASSERT_TRUE(drivers.running.contains("main")) << "what takes it in runs already";
  EXPECT_TRUE(target().spec.takes_in);
  EXPECT_EQ(state().state, TaskRunState::pending);
  sent();
  EXPECT_EQ(phase(), ArrivalPhase::arrived);
  EXPECT_TRUE(runner->stands_still());
  EXPECT_EQ(state().state, TaskRunState::pending);
  EXPECT_EQ(target().verbs, std::vector<std::string>{"await memory"});
  told_to_start(order);
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(target().verbs.back(), "go on");
  EXPECT_FALSE(runner->stands_still());
  EXPECT_EQ(drivers.order.size(), 1u) << "nothing was started anew";
  EXPECT_THAT(state().events.back().message, HasSubstr("came from another node while it ran"));
}

TEST_F(LiveArrival, SleepsOnTheWayWhenItDoesNotReachUs) {
  run(order_of());
  source.not_sent = Error(Code::conflict, "its memory did not arrive");
  sent();
  EXPECT_EQ(phase(), ArrivalPhase::ready);
  EXPECT_THAT(runner->update().arrival->trouble, HasSubstr("did not arrive"));
  EXPECT_TRUE(target().forgotten) << "what was to take it in is gone before that is told";
  sleeps();
  EXPECT_EQ(phase(), ArrivalPhase::arrived);
}

TEST_F(LiveArrival, SleepsOnTheWayWhenNothingCanTakeItIn) {
  drivers.failures.emplace_back(Code::conflict, "one of that name has its disks here");
  run(order_of());
  EXPECT_EQ(phase(), ArrivalPhase::ready);
  EXPECT_THAT(runner->update().arrival->trouble, HasSubstr("has its disks here"));
}

TEST_F(LiveArrival, SleepsOnTheWayForAnAgentThatWasStartedAnewMeanwhile) {
  run(order_of());
  ASSERT_EQ(phase(), ArrivalPhase::coming);
  restart_agent();
  EXPECT_EQ(phase(), ArrivalPhase::ready);
  EXPECT_TRUE(target().forgotten);
}

TEST_F(LiveArrival, GoesOnUnderAnAgentThatWasStartedAnewWhenAllOfItIsHere) {
  auto order = order_of();
  run(order);
  sent();
  restart_agent();
  EXPECT_EQ(phase(), ArrivalPhase::arrived);
  EXPECT_FALSE(target().forgotten);
  EXPECT_EQ(state().state, TaskRunState::pending);
  told_to_start(order);
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(target().verbs.back(), "go on");
}

TEST_F(LiveArrival, BootsFromItsDisksWhenItsMemoryIsGoneAfterThat) {
  auto order = order_of();
  run(order);
  sent();
  target().cannot_move = true;
  const auto& gone = target();
  const auto keep = drivers.running.at("main");
  told_to_start(order);
  EXPECT_TRUE(gone.forgotten);
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_FALSE(target().spec.takes_in);
}

TEST_F(LiveArrival, EndsWithAnOrderToStop) {
  auto order = order_of();
  run(order);
  sent();
  order.order.allocation.desired_status = model::DesiredStatus::stop;
  runner->obey(order);
  runtime.settle();
  EXPECT_TRUE(runner->dead());
  EXPECT_TRUE(target().forgotten) << "it never ran here";
  EXPECT_EQ(target().verbs, std::vector<std::string>{"await memory"});
}

/// The machine is ours, and goes to another node while it runs.
class LiveDeparture : public RunnerTest {
 protected:
  LiveDeparture() {
    context.predecessors = &source;
    run(make_order({make_task("main")}));
  }
  void depart() {
    asio::co_spawn(runtime.context, send(), asio::detached);
    runtime.settle();
  }
  awaitable<void> send() {
    const protocol::MachineStream request{.alloc = kAllocationId, .to = kSource, .task = "main"};
    try {
      co_await runner->send_machine(request);
      told = "sent";
    } catch (const Error& error) {
      told = error.one_line();
    }
  }
  void decided(protocol::MoveFate fate) {
    source.fate = fate;
    runtime.advance(1s);
  }
  FakeSource source;
  std::string told;
};

TEST_F(LiveDeparture, StandsStillUntilItIsKnownWhoseItIs) {
  depart();
  EXPECT_EQ(told, "sent");
  runtime.advance(2s);
  EXPECT_EQ(process().verbs, std::vector<std::string>{"depart"});
  EXPECT_EQ(source.asked_for.front(), kSource);
  decided(protocol::MoveFate::left);
  EXPECT_EQ(process().verbs.back(), "leave");
  EXPECT_TRUE(runner->dead()) << "and does not begin again";
}

TEST_F(LiveDeparture, GoesOnWhenItIsNotTheOthers) {
  depart();
  decided(protocol::MoveFate::stays);
  EXPECT_EQ(process().verbs.back(), "stay");
  EXPECT_EQ(state().state, TaskRunState::running);
  source.fate = protocol::MoveFate::open;
  depart();
  EXPECT_EQ(process().verbs.back(), "depart") << "it may try again";
}

TEST_F(LiveDeparture, RunsOnWhenItCannotBeSent) {
  process().cannot_move = true;
  depart();
  EXPECT_THAT(told, HasSubstr("did not arrive"));
  EXPECT_TRUE(source.asked_for.empty()) << "there is nothing to ask";
  EXPECT_EQ(state().state, TaskRunState::running);
}

TEST_F(LiveDeparture, WaitsForAServerThatIsAway) {
  source.unlinked = true;
  depart();
  runtime.advance(60s);
  EXPECT_EQ(process().verbs, std::vector<std::string>{"depart"});
  source.unlinked = false;
  decided(protocol::MoveFate::stays);
  EXPECT_EQ(process().verbs.back(), "stay");
}

TEST_F(LiveDeparture, IsSettledByTheNextAgent) {
  depart();
  restart_agent();
  EXPECT_EQ(process().verbs, std::vector<std::string>{"depart"});
  decided(protocol::MoveFate::left);
  EXPECT_EQ(process().verbs.back(), "leave");
  EXPECT_TRUE(runner->dead());
}

TEST_F(LiveDeparture, DoesNotBeginAgainBeforeThatIsKnown) {
  depart();
  end("main", {.exit_code = 137});
  runtime.advance(120s);
  EXPECT_EQ(drivers.order.size(), 1u) << "the other one may have it";
  decided(protocol::MoveFate::stays);
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(state().state, TaskRunState::running);
}

TEST_F(LiveDeparture, IsOneThingAtATime) {
  depart();
  const auto pause = [&]() -> awaitable<void> { co_await runner->do_to_machines("main", MachineVerb::pause); };
  EXPECT_THROW(runtime.run(pause()), Error);
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
