// Ephemeral disks that follow their allocation.
#include "node/allocation/disk.hpp"
#include "model/validate/first_cause.hpp"
#include "node/task/task_event.hpp"
#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

using model::TaskRunState;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kBefore = "00000000-0000-4000-8000-00000000beef";

void put(const std::string& path, const std::string& text) {
  os::make_directories(path.substr(0, path.rfind('/')));
  os::write_file(path, text, 0644);
}

/// The predecessor is on this node, elsewhere, or nowhere.
class FakePredecessors final : public Predecessors {
 public:
  awaitable<std::optional<std::string>> wait_for_directory(std::string allocation) override {
    asked.push_back(allocation);
    while (running) co_await changed.wait();
    co_return directory;
  }
  awaitable<void> fetch_disk(std::string allocation, std::string to) override {
    asked.push_back(allocation);
    if (!remote) throw Error(Code::unavailable, "node 'c2' is not linked");
    put(to + "/alloc/data/db", *remote);
    if (breaks_off) throw Error(Code::unavailable, "the link has ended");
    co_return;
  }

  awaitable<std::vector<protocol::KeptMachine>> describe_machines(std::string) override {
    co_return std::vector<protocol::KeptMachine>();
  }
  awaitable<void> fetch_machine(std::string, std::string, std::string) override { co_return; }
  awaitable<protocol::Departure> receive_machine(std::string, std::string) override { co_return protocol::Departure{}; }
  awaitable<void> carry(protocol::MachineStream, os::Fd) override { co_return; }
  awaitable<protocol::MoveFate> fate_of(std::string, std::string) override { co_return protocol::MoveFate::open; }
  bool has_namesake(const std::string&) const override { return false; }

  bool running = false;
  bool breaks_off = false;
  std::optional<std::string> directory, remote;
  std::vector<std::string> asked;
  async::Event changed;
};

class DiskTest : public RunnerTest {
 protected:
  DiskTest() { context.predecessors = &predecessors; }
  static StoredOrder order_of(bool sticky, bool migrate) {
    auto order = make_order({make_task("main")});
    order.job.groups[0].ephemeral_disk.sticky = sticky;
    order.job.groups[0].ephemeral_disk.migrate = migrate;
    order.order.allocation.job = std::make_shared<const model::Job>(order.job);
    order.order.allocation.previous_allocation = kBefore;
    return order;
  }
  void leave_a_disk() {
    predecessors.directory = before;
    put(before + "/alloc/data/db", "rows");
    put(before + "/alloc/logs/main.stdout.0", "line");
    put(before + "/main/local/cache", "warm");
    put(before + "/main/tmp/x", "y");
  }
  std::optional<std::string> file(const std::string& path) { return os::find_file(root + "/" + path); }

  FakePredecessors predecessors;
  std::string before = directory.path() + "/alloc/" + kBefore, root = directory.path() + "/alloc/" + kAllocationId;
};

TEST_F(DiskTest, AStickyDiskIsThereBeforeTheFirstTaskStarts) {
  leave_a_disk();
  drivers.before_start = [this] {
    EXPECT_EQ(file("alloc/data/db"), "rows");
    EXPECT_EQ(file("main/local/cache"), "warm");
  };
  run(order_of(true, false));
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(file("alloc/logs/main.stdout.0"), std::nullopt) << "logs stay with whom they are of";
  EXPECT_EQ(file("main/tmp/x"), std::nullopt);
  EXPECT_FALSE(os::exists(before + "/alloc/data"));
}

TEST_F(DiskTest, NothingStartsBeforeItsPredecessorHasEnded) {
  leave_a_disk();
  predecessors.running = true;
  run(order_of(true, false));
  EXPECT_EQ(state().state, TaskRunState::pending);
  EXPECT_EQ(state().events.back().message, "Waiting for the disk of allocation 00000000");
  predecessors.running = false;
  predecessors.changed.notify_all();
  runtime.settle();
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(file("alloc/data/db"), "rows");
}

TEST_F(DiskTest, WithoutStickyNobodyIsAsked) {
  leave_a_disk();
  run(order_of(false, false));
  EXPECT_TRUE(predecessors.asked.empty());
  EXPECT_EQ(file("alloc/data/db"), std::nullopt);
}

TEST_F(DiskTest, ADiskOfAnotherNodeIsFetchedWhenItMigrates) {
  predecessors.remote = "far rows";
  run(order_of(false, true));
  EXPECT_EQ(file("alloc/data/db"), "far rows");
  EXPECT_EQ(predecessors.asked, (std::vector<std::string>{kBefore, kAllocationId}));
  EXPECT_FALSE(os::exists(root + "/.arriving"));
  EXPECT_FALSE(os::exists(root + "/.arrived"));
}

TEST_F(DiskTest, ADiskThatCannotBeHadIsAnEmptyOneAndAnEventSaysSo) {
  for (const bool migrate : {false, true}) {
    SCOPED_TRACE(migrate);
    run(order_of(true, migrate));
    EXPECT_EQ(state().state, TaskRunState::running);
    std::string told;
    for (const auto& event : state().events) told += event.message + "\n";
    EXPECT_THAT(told, HasSubstr("The disk of allocation 00000000 cannot be had, this one begins empty: "));
    EXPECT_THAT(told, HasSubstr(migrate ? "node 'c2' is not linked" : "`migrate` is not set"));
    drop();
    os::remove_tree(directory.path() + "/node");
    files = StateFiles(directory.path());
  }
}

TEST_F(DiskTest, HalfADiskIsNone) {
  predecessors.remote = "half";
  predecessors.breaks_off = true;
  run(order_of(false, true));
  EXPECT_EQ(state().state, TaskRunState::running);
  EXPECT_EQ(file("alloc/data/db"), std::nullopt);
}

TEST_F(DiskTest, AnAgentThatDiedInTheMiddleGoesOnWithWhatItHad) {
  struct Case {
    const char* name;
    std::function<void()> had;
  };
  const std::vector<Case> cases = {
      {"one part was moved",
       [this] {
         os::make_directories(root + "/.arriving/alloc");
         std::rename((before + "/alloc/data").c_str(), (root + "/.arriving/alloc/data").c_str());
       }},
      {"all of it was moved", [this] { take_over(before, root, {"alloc/data", "main/local"}); }},
      {"one part was in place",
       [this] {
         take_over(before, root, {"alloc/data", "main/local"});
         os::make_directories(root + "/alloc");
         std::rename((root + "/.arrived/alloc/data").c_str(), (root + "/alloc/data").c_str());
       }},
  };
  for (const auto& test_case : cases) {
    SCOPED_TRACE(test_case.name);
    leave_a_disk();
    test_case.had();
    run(order_of(true, false));
    EXPECT_EQ(file("alloc/data/db"), "rows");
    EXPECT_EQ(file("main/local/cache"), "warm");
    EXPECT_FALSE(os::exists(root + "/.arriving"));
    EXPECT_FALSE(os::exists(root + "/.arrived"));
    drop();
    os::remove_tree(directory.path() + "/alloc");
    os::remove_tree(directory.path() + "/node");
    files = StateFiles(directory.path());
  }
}

TEST_F(DiskTest, AfterARestartOfTheAgentNothingIsTakenAgain) {
  leave_a_disk();
  run(order_of(true, false));
  put(root + "/alloc/data/db", "newer rows");
  leave_a_disk();
  restart_agent();
  EXPECT_EQ(file("alloc/data/db"), "newer rows");
  EXPECT_EQ(predecessors.asked.size(), 1u);
}

TEST_F(DiskTest, AnAllocationThatWaitsForItCanBeStopped) {
  leave_a_disk();
  predecessors.running = true;
  auto order = order_of(true, false);
  run(order);
  order.order.allocation.desired_status = model::DesiredStatus::stop;
  runner->obey(order);
  runtime.settle();
  EXPECT_EQ(state().state, TaskRunState::dead);
  EXPECT_TRUE(drivers.order.empty());
}

TEST_F(RunnerTest, WhatHasMoreOnDiskThanItsEphemeralDiskFailsAndSaysWhichTask) {
  options.enforce_disk_below = 100;
  auto order = make_order({make_task("writer"), make_task("other")});
  order.job.groups[0].ephemeral_disk.size_mb = 10;
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  run(order);
  const std::string root = directory.path() + "/alloc/" + kAllocationId;
  os::write_file(root + "/writer/local/a", std::string(9 << 20, 'x'), 0644);
  runtime.advance(15s);
  EXPECT_EQ(status(), model::ClientStatus::running) << "it may have what it asked for";
  os::write_file(root + "/other/local/b", std::string(3 << 20, 'x'), 0644);
  runtime.advance(15s);
  EXPECT_EQ(status(), model::ClientStatus::failed);
  EXPECT_EQ(drivers.order.size(), 2u) << "it is not started again on the same disk";
  const auto cause = model::first_cause(runner->update().task_states);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->task, "writer");
  EXPECT_THAT(cause->text, HasSubstr("its ephemeral_disk is 10.0 MiB: 9.0 MiB of it task 'writer'"));
}

TEST_F(RunnerTest, NobodyMeasuresWhereItIsSwitchedOff) {
  options.enforce_disk_below = 0;
  auto order = make_order({make_task("main")});
  order.job.groups[0].ephemeral_disk.size_mb = 10;
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  run(order);
  os::write_file(directory.path() + "/alloc/" + kAllocationId + "/main/local/a", std::string(11 << 20, 'x'), 0644);
  runtime.advance(1h);
  EXPECT_EQ(status(), model::ClientStatus::running);
}

TEST(MeasureDisk, CountsAFileOnceAndFollowsNoLink) {
  const TemporaryDirectory directory;
  os::make_directories(directory.path() + "/task/local", 0755);
  const std::string file = directory.path() + "/task/local/a";
  os::write_file(file, std::string(1 << 20, 'x'), 0644);
  const auto before = measure_disk(directory.path());
  EXPECT_GE(before.bytes, 1u << 20);
  EXPECT_EQ(before.parts.at("task"), before.bytes);
  ASSERT_EQ(::link(file.c_str(), (file + "2").c_str()), 0);
  ASSERT_EQ(::symlink("/usr", (directory.path() + "/task/usr").c_str()), 0);
  EXPECT_LT(measure_disk(directory.path()).bytes, before.bytes + (64 << 10));
}

}  // namespace
}  // namespace underway::node
