// A machine that moves from one QEMU to another, its disk on storage that both see.
#include <boost/json/parse.hpp>

#include "harness/command.hpp"
#include "vm/state/lease.hpp"
#include "vm/tests/machines.hpp"

namespace underway::vm {
namespace {

class Move : public MachineTest {
 protected:
  void SetUp() override {
    MachineTest::SetUp();
    if (IsSkipped()) return;
    image_ = make_image();
    spec_.config = on_disk();
    start();
    client_.emplace(kAddress);
    EXPECT_EQ(client_->next(), 1U);
  }
  void TearDown() override {
    if (target_) {
      target_->stop(SIGKILL, {});
      ASSERT_TRUE(target_->wait(seconds{60}));
      target_->destroy();
    }
    target_.reset();
    MachineTest::TearDown();
  }
  boost::json::object on_disk() const {
    return config({{"disk", boost::json::parse(fmt::format(R"([{{"data": [{{"image": "{}"}}]}}])", image_))},
                   {"append", fmt::format("console=ttyS0 panic=-1 quiet address={}/24 data=/dev/vda", kAddress)}});
  }
  std::string uri() const { return "unix:" + path_ + "/moving"; }
  /// As the agent of the other host does: it listens at once.
  void start_target() {
    target_spec_ = task_spec("web", 8);
    target_spec_.config = on_disk();
    target_spec_.env[Options::kIncoming] = uri();
    target_ = make_driver()->start(target_spec_);
  }
  Machine target() const { return Machine::open(run_directory(target_spec_)); }

  std::string image_;
  std::optional<Client> client_;
  driver::TaskSpec target_spec_;
  std::unique_ptr<driver::TaskHandle> target_;
};

TEST_F(Move, FileMemoryAndConnectionComeAlong) {
  const auto boot = client_->ask("boot");
  start_target();
  auto from = machine();
  auto to = target();
  EXPECT_FALSE(migrate(from, to, uri(), seconds{60}).rebooted);
  ASSERT_TRUE(task_->wait(seconds{60}));
  EXPECT_EQ(client_->next(), 2U);
  EXPECT_EQ(client_->ask("check"), "ok 2");
  EXPECT_EQ(client_->ask("boot"), boot);
  EXPECT_EQ(target_->status().phase, driver::TaskStatus::Phase::running);
}

TEST_F(Move, ATargetThatDiesLeavesTheSourceRunning) {
  for (const auto* step : {"stop", "send"}) {
    SCOPED_TRACE(step);
    start_target();
    auto to = target();
    auto from = machine([&](const std::string& now) {
      if (now == step) ::kill(target_->status().process.pid, SIGKILL);
    });
    const auto said = failure([&] { migrate(from, to, uri(), seconds{60}); });
    EXPECT_THAT(said, HasSubstr("machine 'web' goes on running here"));
    ASSERT_TRUE(target_->wait(seconds{60}));
    target_->destroy();
    target_.reset();
    EXPECT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
  }
  EXPECT_EQ(client_->next(), 2U);
  EXPECT_EQ(client_->ask("check"), "ok 2");
}

TEST_F(Move, ATargetThatDiesWhenItHasAllLeavesTheSourceRunning) {
  start_target();
  auto from = machine();
  EXPECT_FALSE(from.send(uri()));
  target_->stop(SIGKILL, {});
  ASSERT_TRUE(target_->wait(seconds{60}));
  from.stay();
  EXPECT_EQ(client_->next(), 2U);
  EXPECT_EQ(client_->ask("check"), "ok 2");
}

TEST_F(Move, AnAgentThatDiesBeforeAllIsSentLeavesItAtTheSource) {
  start_target();
  ASSERT_TRUE(die_in("send", [&](const MachineOptions& o) { Machine::open(run_directory(spec_), o).send(uri()); }));
  recover();
  ASSERT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
  EXPECT_EQ(client_->next(), 2U);
  EXPECT_EQ(client_->ask("check"), "ok 2");
}

TEST_F(Move, AnAgentThatDiesWhenAllIsSentDoesNotRunItTwice) {
  start_target();
  machine().send(uri());
  recover();  // as another agent finds it
  EXPECT_NE(task_->status().phase, driver::TaskStatus::Phase::running);
  auto to = target();
  to.accept(seconds{60});
  EXPECT_EQ(client_->next(), 2U);
  EXPECT_EQ(client_->ask("check"), "ok 2");
}

TEST_F(Move, AGuestThatRebootsOnTheWayIsNotCalledASuccess) {
  start_target();
  auto to = target();
  auto from = machine([&](const std::string& now) {
    if (now == "stop") EXPECT_EQ(client_->ask("reboot", milliseconds{500}), "no answer");
  });
  EXPECT_TRUE(migrate(from, to, uri(), seconds{60}).rebooted);
  Client(kAddress).ask("check");
}

TEST_F(Move, ASourceThatDiesWhileSendingLeavesNoTarget) {
  start_target();
  auto to = target();
  auto from = machine([&](const std::string& now) {
    if (now == "send") ::kill(qemu(), SIGKILL);
  });
  EXPECT_NE(failure([&] { migrate(from, to, uri(), seconds{60}); }), "it did not fail");
  ASSERT_TRUE(target_->wait(seconds{60}));
  target_->destroy();
  target_.reset();
  // As after a crash of its host: its disk is good.
  ASSERT_TRUE(task_->wait(seconds{60}));
  end();
  spec_.config = on_disk();
  start();
  Client client(kAddress);
  EXPECT_EQ(client.next(), 2U);
  EXPECT_EQ(client.ask("check"), "ok 2");
}

TEST_F(Move, ASourceThatDiesWhenTheTargetHasAllLeavesItThere) {
  start_target();
  machine().send(uri());
  ::kill(qemu(), SIGKILL);
  ASSERT_TRUE(task_->wait(seconds{60}));
  // Nobody says so to the target: its own agent finds it.
  target_ = make_driver()->recover(target_spec_);
  EXPECT_EQ(client_->next(), 2U);
  EXPECT_EQ(client_->ask("check"), "ok 2");
}

TEST_F(Move, ATargetsAgentThatIsRestartedMeanwhileTakesNothingFromTheSource) {
  start_target();
  target_ = make_driver()->recover(target_spec_);
  EXPECT_EQ(client_->next(), 2U);
  {
    auto from = machine();
    from.send(uri());
    target_ = make_driver()->recover(target_spec_);
    EXPECT_EQ(target().phase(), Phase::paused) << "the source may still go on";
    target_->stop(SIGKILL, {});
    ASSERT_TRUE(target_->wait(seconds{60}));
    from.stay();
  }
  EXPECT_EQ(client_->next(), 3U);
}

/// Two hosts that share nothing: the disk goes along.
class MoveApart : public Move {
 protected:
  void SetUp() override {
    Move::SetUp();
    elsewhere_ = path_ + "/elsewhere";
    os::make_directories(elsewhere_);
  }
  void start_target_apart() {
    target_spec_ = task_spec("web", 8 + tries_++);
    target_spec_.config = on_disk();
    target_spec_.env[Options::kIncoming] = uri();
    target_spec_.env[Options::kIncomingDisks] = disks();
    target_ = make_driver({}, elsewhere_)->start(target_spec_);
  }
  std::string disks() const { return "unix:" + path_ + "/disks"; }
  void fill(int lines) {
    for (int i = 0; i < lines; ++i) client_->next();
  }
  std::string elsewhere_;
  int tries_ = 0;
};

TEST_F(MoveApart, DiskFileMemoryAndConnectionComeAlong) {
  fill(20);
  start_target_apart();
  auto from = machine([&](const std::string& now) {
    // While it is copied the guest goes on writing.
    if (now == "stop") EXPECT_EQ(client_->next(), 22U);
  });
  auto to = target();
  EXPECT_FALSE(migrate(from, to, uri(), seconds{60}, disks()).rebooted);
  ASSERT_TRUE(task_->wait(seconds{60}));
  EXPECT_EQ(client_->next(), 23U);
  EXPECT_EQ(client_->ask("check"), "ok 23");
  // What is left behind is of yesterday, and nobody starts from it.
  end();
  spec_.config = on_disk();
  EXPECT_THAT(failure([&] { start(); }), HasSubstr("machine 'web' is not here any more"));
  // What came is a whole disk: a boot from it finds all.
  target_->stop(SIGKILL, {});
  ASSERT_TRUE(target_->wait(seconds{60}));
  target_->destroy();
  auto cold = task_spec("web", 20);
  cold.config = on_disk();
  target_ = make_driver({}, elsewhere_)->start(cold);
  Client again(kAddress);
  EXPECT_EQ(again.next(), 24U);
  EXPECT_EQ(again.ask("check"), "ok 24");
}

TEST_F(MoveApart, ATargetThatDiesInAnyStepLeavesTheSourceRunningOnItsOwnDisk) {
  std::uint64_t count = 1;
  for (const auto* step : {"copy", "stop", "drain", "send"}) {
    SCOPED_TRACE(step);
    start_target_apart();
    auto to = target();
    auto from = machine([&](const std::string& now) {
      if (now == step) ::kill(target_->status().process.pid, SIGKILL);
    });
    EXPECT_THAT(failure([&] { migrate(from, to, uri(), seconds{60}, disks()); }),
                HasSubstr("machine 'web' goes on running here"));
    ASSERT_TRUE(target_->wait(seconds{60}));
    target_->destroy();
    target_.reset();
    EXPECT_EQ(client_->next(), ++count);
    EXPECT_EQ(client_->ask("check"), fmt::format("ok {}", count));
    EXPECT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
    EXPECT_FALSE(find_moved(state()));
  }
  // What has half arrived there is nobody's, and is made anew by the next.
  auto cold = task_spec("web", 20);
  cold.config = on_disk();
  EXPECT_THAT(failure([&] { make_driver({}, elsewhere_)->start(cold); }), HasSubstr("is not here any more"));
}

TEST_F(MoveApart, AnAgentThatDiesInAnyStepLeavesItAtTheSourceOrDoneWithIt) {
  std::uint64_t count = 1;
  for (const auto* step : {"copy", "stop", "drain", "send"}) {
    SCOPED_TRACE(step);
    start_target_apart();
    ASSERT_TRUE(
        die_in(step, [&](const MachineOptions& o) { Machine::open(run_directory(spec_), o).send(uri(), disks()); }));
    recover();
    ASSERT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
    EXPECT_EQ(client_->next(), ++count);
    EXPECT_EQ(client_->ask("check"), fmt::format("ok {}", count));
    target_->stop(SIGKILL, {});
    ASSERT_TRUE(target_->wait(seconds{60}));
    target_->destroy();
    target_.reset();
  }
}

TEST_F(Move, WhileItMovesNobodyElseStartsIt) {
  start_target();
  auto third = task_spec("web", 9);
  third.config = on_disk();
  EXPECT_THAT(failure([&] { make_driver()->start(third); }), HasSubstr("runs already"));
  third.env[Options::kIncoming] = uri();
  EXPECT_THAT(failure([&] { make_driver()->start(third); }), HasSubstr("runs already"));
  EXPECT_EQ(client_->next(), 2U);
}

}  // namespace
}  // namespace underway::vm
