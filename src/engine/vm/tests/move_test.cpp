// A machine that moves from one QEMU to another, its disk on storage that both see.
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <boost/json/parse.hpp>
#include <iostream>
#include <thread>

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
  EXPECT_FALSE(from.send(uri()).reset);
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
  // What has half arrived there is nobody's, and goes with the run that was to take it in.
  EXPECT_FALSE(os::exists(elsewhere_ + "/web"));
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

/// While they run, although they are translated: what is done with real KVM.
class MoveLive : public MoveApart {
 protected:
  static SendOptions live() { return {.live = true, .asks = true}; }
  /// Somebody who does not stop counting, and what he was told last.
  class Counting {
   public:
    explicit Counting(Client& client)
        : thread_([this, &client](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
              const auto begun = std::chrono::steady_clock::now();
              // A translated guest that was stopped while it wrote may wait for its disk for a minute or two.
              last_ = client.next(std::chrono::minutes{4});
              longest_ = std::max(longest_, std::chrono::steady_clock::now() - begun);
              if (last_ == 0) return;
            }
          }) {}
    std::uint64_t end() {
      thread_.request_stop();
      thread_.join();
      return last_;
    }
    double longest() const { return std::chrono::duration<double, std::milli>(longest_).count(); }

   private:
    std::uint64_t last_ = 0;
    std::chrono::steady_clock::duration longest_{0};
    std::jthread thread_;
  };
  void expect_to_count_on(std::uint64_t from) {
    EXPECT_EQ(client_->next(), from + 1);
    EXPECT_EQ(client_->ask("check"), fmt::format("ok {}", from + 1));
  }
  /// What an agent does with one of the departures: the one connection that comes goes to the entrance.
  void carry(const os::Fd& door, driver::MachinePart part) {
    if (!os::wait_for(door.get(), POLLIN, 60'000)) return;
    const os::Fd from(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const os::Fd to = target_->entrance(part);
    std::jthread back([&] { pass(to, from); });
    pass(from, to);
  }
  static void pass(const os::Fd& from, const os::Fd& to) {
    std::array<char, 65536> bytes;
    while (os::wait_for(from.get(), POLLIN, 60'000)) {
      const auto n = ::recv(from.get(), bytes.data(), bytes.size(), 0);
      if (n <= 0) break;
      for (ssize_t sent = 0; sent < n;) {
        if (!os::wait_for(to.get(), POLLOUT, 60'000)) return;
        const auto more = ::send(to.get(), bytes.data() + sent, static_cast<std::size_t>(n - sent), MSG_NOSIGNAL);
        if (more < 0) return;
        sent += more;
      }
    }
    ::shutdown(to.get(), SHUT_WR);
  }
  void end_target() {
    target_->stop(SIGKILL, {});
    ASSERT_TRUE(target_->wait(seconds{60}));
    target_->destroy();
    target_.reset();
  }
};

TEST_F(MoveLive, WhoCountsWaitsForTheLastOfItAlone) {
  const auto boot = client_->ask("boot");
  start_target_apart();
  Counting counting(*client_);
  auto from = machine();
  auto to = target();
  const auto sent = from.send(uri(), disks(), live());
  to.accept(seconds{60});
  from.leave();
  std::this_thread::sleep_for(milliseconds{200});
  const auto last = counting.end();
  EXPECT_FALSE(sent.reset);
  EXPECT_TRUE(sent.converged);
  std::cerr << "stood still for " << std::chrono::duration<double, std::milli>(sent.stood_still).count()
            << " ms, an answer took " << counting.longest() << " ms at most, " << last << " counted\n";
  ASSERT_TRUE(task_->wait(seconds{60}));
  expect_to_count_on(last);
  EXPECT_EQ(client_->ask("boot"), boot);
  EXPECT_TRUE(find_moved(state())) << "the disk that is left is of yesterday";
}

TEST_F(MoveLive, OneThatWritesFasterThanItCanBeSentIsMadeToStandStill) {
  start_target_apart();
  Counting counting(*client_);
  auto from = machine();
  auto to = target();
  auto options = live();
  options.converge_within = {};
  EXPECT_FALSE(from.send(uri(), disks(), options).converged);
  to.accept(seconds{60});
  from.leave();
  expect_to_count_on(counting.end());
}

TEST_F(MoveLive, ATargetThatDiesInAnyStepLeavesTheSourceRunning) {
  std::uint64_t last = 1;
  for (const auto* step : {"copy", "send", "drain"}) {
    SCOPED_TRACE(step);
    start_target_apart();
    auto from = machine([&](const std::string& now) {
      if (now == step) ::kill(target_->status().process.pid, SIGKILL);
    });
    Counting counting(*client_);
    EXPECT_THAT(failure([&] { from.send(uri(), disks(), live()); }), HasSubstr("machine 'web' goes on running here"));
    ASSERT_TRUE(target_->wait(seconds{60}));
    target_->destroy();
    target_.reset();
    last = counting.end();
    expect_to_count_on(last);
    EXPECT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
  }
}

TEST_F(MoveLive, AnAgentThatDiesInAnyStepLeavesItAtTheSource) {
  std::uint64_t count = 1;
  for (const auto* step : {"copy", "send", "drain"}) {
    SCOPED_TRACE(step);
    start_target_apart();
    ASSERT_TRUE(die_in(
        step, [&](const MachineOptions& o) { Machine::open(run_directory(spec_), o).send(uri(), disks(), live()); }));
    recover();
    ASSERT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
    EXPECT_EQ(client_->next(), ++count);
    EXPECT_EQ(client_->ask("check"), fmt::format("ok {}", count));
    end_target();
  }
}

TEST_F(MoveLive, OneThatWasSentWholeStandsStillUntilSomebodySaysWhoseItIs) {
  start_target_apart();
  machine().send(uri(), disks(), live());
  for (int agents = 0; agents < 2; ++agents) {
    recover();
    ASSERT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
    EXPECT_EQ(machine().phase(), Phase::postmigrate);
  }
  EXPECT_EQ(target().phase(), Phase::paused);
  end_target();
  EXPECT_FALSE(os::exists(elsewhere_ + "/web")) << "of what did not come nothing is kept";
  task_->stay();
  expect_to_count_on(1);
  task_->stay();  // again, as an agent does that did not see it
  expect_to_count_on(2);
}

/// As two agents do it: by the sockets in the directories of the runs, and nobody listens elsewhere.
TEST_F(MoveLive, GoesByTheSocketsOfItsRun) {
  target_spec_ = task_spec("web", 8);
  target_spec_.config = on_disk();
  target_spec_.takes_in = true;
  const auto driver = make_driver({}, elsewhere_);
  target_ = driver->start(target_spec_);
  const auto how = task_->live();
  EXPECT_EQ(how.why_not, "it is translated, without real KVM");
  EXPECT_EQ(driver->why_not_live(how), how.why_not);
  auto doors = task_->departures();
  std::jthread memory([&] { carry(doors.memory, driver::MachinePart::memory); });
  std::jthread disk([&] { carry(doors.disk, driver::MachinePart::disk); });
  Counting counting(*client_);
  const auto departed = task_->depart();
  EXPECT_TRUE(departed.converged);
  target_->await_memory();
  target_->go_on();
  task_->leave();
  ASSERT_TRUE(task_->wait(seconds{60}));
  expect_to_count_on(counting.end());
  EXPECT_EQ(target_->kept_in(), elsewhere_ + "/web");
  EXPECT_EQ(target_->live().why_not, how.why_not) << "it may go on from here";
}

TEST_F(MoveLive, BootsFromItsDisksWhenItsMemoryWasLostOnTheWay) {
  target_spec_ = task_spec("web", 8);
  target_spec_.config = on_disk();
  target_spec_.takes_in = true;
  target_ = make_driver({}, elsewhere_)->start(target_spec_);
  {
    auto doors = task_->departures();
    std::jthread memory([&] { carry(doors.memory, driver::MachinePart::memory); });
    std::jthread disk([&] { carry(doors.disk, driver::MachinePart::disk); });
    task_->depart();
    target_->await_memory();
  }
  ::kill(target_->status().process.pid, SIGKILL);
  ASSERT_TRUE(target_->wait(seconds{60}));
  EXPECT_NE(failure([&] { target_->go_on(); }), "it did not fail");
  target_->destroy();
  task_->leave();
  ASSERT_TRUE(task_->wait(seconds{60}));
  auto cold = task_spec("web", 9);
  cold.config = on_disk();
  target_ = make_driver({}, elsewhere_)->start(cold);
  Client again(kAddress);
  EXPECT_EQ(again.next(), 2U);
  EXPECT_EQ(again.ask("check"), "ok 2");
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
