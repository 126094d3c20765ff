// A machine as a task: it starts, is taken back, ends.
#include <poll.h>

#include <thread>

#include <boost/json/parse.hpp>

#include "harness/command.hpp"
#include "vm/state/lease.hpp"
#include "vm/state/shared_memory.hpp"
#include "vm/tests/machines.hpp"

namespace underway::vm {
namespace {

class Life : public MachineTest {
 protected:
  /// What a console says until `text` is in it.
  static std::string listen(const os::Fd& console, const std::string& text, Duration within = seconds{120}) {
    const Deadline deadline(within);
    std::string said;
    while (said.find(text) == std::string::npos && os::wait_for(console.get(), POLLIN, deadline.milliseconds())) {
      char bytes[1024];
      const auto size = ::read(console.get(), bytes, sizeof bytes);
      if (size <= 0) break;
      said.append(bytes, static_cast<std::size_t>(size));
    }
    return said;
  }
};

TEST_F(Life, AGuestBootsAndWhatItSaysIsTheTasksLog) {
  start();
  Client client(kAddress);
  EXPECT_EQ(client.next(), 1U);
  EXPECT_EQ(client.ask("check"), "ok 1");
  EXPECT_THAT(out(), HasSubstr("guest: ready"));
  EXPECT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
  EXPECT_GT(task_->usage().memory_bytes, 50U << 20);
}

TEST_F(Life, WhoIsOnItsConsoleReadsWhatItSaysAndSoDoesItsLog) {
  start();
  const auto console = task_->console();
  EXPECT_THAT(listen(console, "guest: ready"), HasSubstr("guest: ready"));
  // Who writes the log reads for himself.
  EXPECT_TRUE(harness::eventually(seconds{10}, [&] { return out().find("guest: ready") != std::string::npos; }))
      << out();
}

TEST_F(Life, WhoIsOnItsConsoleTypesWhoLeavesItEndsNothingAndTheNextOneComes) {
  // A shell, on its console.
  spec_.config = config({{"initrd", source_dir() + "/build/guest/initrd"}, {"guest_agent", false}});
  start();
  auto console = task_->console();
  ASSERT_THAT(listen(console, "guest: up"), HasSubstr("guest: up"));
  os::write_all(console, "echo said-$((6 * 7))\n", "the console");
  EXPECT_THAT(listen(console, "said-42"), HasSubstr("said-42"));
  console.reset();
  console = task_->console();
  os::write_all(console, "echo said-$((6 * 8))\n", "the console");
  EXPECT_THAT(listen(console, "said-48"), HasSubstr("said-48"));
  task_->stop(SIGKILL, {});
  ASSERT_TRUE(task_->wait(seconds{60}));
  EXPECT_THAT(failure([&] { task_->console(); }), HasSubstr("nobody listens at"));
}

TEST_F(Life, AStopAsksTheGuestByItsAgentAndItEndsCleanly) {
  start();
  Client client(kAddress);
  task_->stop(SIGTERM, seconds{60});
  ASSERT_TRUE(task_->wait(seconds{60}));
  EXPECT_TRUE(task_->status().exit.success()) << os::to_string(task_->status().exit) << out();
  EXPECT_THAT(out(), HasSubstr("guest: told by its agent's port to shut down"));
}

TEST_F(Life, WithoutAnAgentAStopPressesThePowerButton) {
  spec_.config = config({{"guest_agent", false}});
  start();
  Client client(kAddress);
  task_->stop(SIGTERM, seconds{60});
  ASSERT_TRUE(task_->wait(seconds{60}));
  EXPECT_TRUE(task_->status().exit.success());
  EXPECT_THAT(out(), HasSubstr("guest: its power button was pressed"));
}

TEST_F(Life, AGuestThatDoesNotHearIsKilledWhenTimeIsUp) {
  // No program of ours in it: a shell, which hears no button.
  spec_.config = config({{"initrd", source_dir() + "/build/guest/initrd"}, {"guest_agent", false}});
  start();
  ASSERT_TRUE(harness::eventually(seconds{120}, [&] { return out().find("guest: up") != std::string::npos; }));
  task_->stop(SIGTERM, milliseconds{300});
  ASSERT_TRUE(task_->wait(seconds{60}));
  EXPECT_EQ(task_->status().exit.signal, SIGKILL);
}

TEST_F(Life, ItOutlivesItsAgentAndIsTakenBack) {
  ASSERT_FALSE(start_dies_in("never"));  // an agent that ends after the start
  recover();
  ASSERT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
  Client client(kAddress);
  EXPECT_EQ(client.next(), 1U);
  const pid_t before = qemu();
  recover();
  EXPECT_EQ(qemu(), before);
  EXPECT_EQ(client.next(), 2U);
}

TEST_F(Life, AnAgentThatDiesInAnyStepOfAStartLeavesAMachineOrNone) {
  for (const auto* step : {"turn", "launch", "connect", "join", "boot"}) {
    SCOPED_TRACE(step);
    ASSERT_TRUE(start_dies_in(step));
    recover();
    if (task_->status().phase == driver::TaskStatus::Phase::running) {
      Client client(kAddress);
      EXPECT_EQ(client.next(), 1U);
    } else {
      EXPECT_TRUE(std::string(step) == "turn" || std::string(step) == "launch");
      EXPECT_EQ(lease_holder(state()), "");
    }
    end();
  }
}

TEST_F(Life, TwoAgentsThatStartOneMachineAreToldApartByName) {
  start();
  const auto second = make_driver();
  const auto other = task_spec("web", 9);
  auto spec = other;
  spec.config = config();
  const auto said = failure([&] { second->start(spec); });
  EXPECT_THAT(said, HasSubstr("machine 'web' runs already"));
  EXPECT_THAT(said, HasSubstr(fmt::format("pid {} (machine 'web' of 7f3a9c01/web on gpu-014)", qemu())));
  EXPECT_FALSE(os::exists(other.keeper_dir));
  Client client(kAddress);
  EXPECT_EQ(client.next(), 1U);
}

TEST_F(Life, AQemuThatIsStartedByHandIsRefusedByTheLeaseItself) {
  start();
  const auto second = harness::shell(
      fmt::format("exec qemu-system-x86_64 -nodefaults -display none -S -pidfile {}/lease", state()), seconds{20});
  EXPECT_NE(second.exit_code, 0);
  EXPECT_THAT(second.err, HasSubstr("Cannot lock pid file"));
  Client client(kAddress);
  EXPECT_EQ(client.next(), 1U);
}

TEST_F(Life, WhatCannotStartLeavesNothingAndSaysWhatQemuSaid) {
  spec_.config = config({{"args", {"-device", "no-such-device"}}});
  const auto said = failure([&] { start(); });
  EXPECT_THAT(said, HasSubstr("no-such-device"));
  EXPECT_THAT(said, HasSubstr("machine 'web' cannot start"));
  EXPECT_EQ(lease_holder(state()), "");
  spec_ = task_spec("web", ++runs_);
  spec_.config = config({{"network", boost::json::parse(R"([{"lan": [{"bridge": "br-none"}]}])")}});
  EXPECT_THAT(failure([&] { start(); }), HasSubstr("there is no bridge 'br-none' on node 'gpu-014'"));
}

TEST_F(Life, DebiansGuestAgentIsSpokenTo) {
  if (!os::exists(source_dir() + "/build/guest/agent")) GTEST_SKIP() << "needs qemu-guest-agent in build/guest";
  spec_.config = with_agent();
  start();
  Client client(kAddress);
  const auto boot = client.ask("boot");
  auto agent = machine().agent(seconds{120});
  EXPECT_EQ(agent.boot_id(seconds{30}), boot);
  const std::string large(500'000, 'x');
  agent.write_file("/tmp/large", large, seconds{60});
  const auto ran = agent.run({"/bin/sh", "-c", "wc -c < /tmp/large; cat; exit 3"}, "said\n", seconds{60});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "500000\nsaid\n");
  EXPECT_THAT(failure([&] { agent.run({"/no/such"}, {}, seconds{30}); }), HasSubstr("refuses 'guest-exec'"));
}

TEST_F(Life, MemoryIsSharedWhileSomebodyUsesItAndUnpluggedBeforeItMoves) {
  const auto shared = boost::json::parse(R"([{"ring": [{"memory": 4}]}])");
  const auto place = path_ + "/shared";
  spec_.config = config({{"shared_memory", shared}});
  start();
  auto other = task_spec("db", 9);
  other.config = config({{"shared_memory", shared}, {"name", "db"}, {"network", boost::json::array()}});
  auto second = make_driver()->start(other);
  Client client(kAddress);
  // The guest sees it: vendor and device of ivshmem.
  EXPECT_EQ(client.ask("pci 1af4 1110"), "1");
  EXPECT_THAT(memory_users(place, "default+ring"), testing::UnorderedElementsAre(state(), machines_ + "/db"));
  EXPECT_THAT(failure([&] { machine().suspend(); }), HasSubstr("shm0 is of this host"));
  machine().unplug("shm0", seconds{60});
  EXPECT_EQ(client.ask("pci 1af4 1110"), "0");
  // Of the other nothing but its death is known.
  ::kill(second->status().process.pid, SIGKILL);
  ASSERT_TRUE(second->wait(seconds{60}));
  EXPECT_THAT(memory_users(place, "default+ring"), testing::ElementsAre(state()));
  second->destroy();
  // Asleep it uses none; awake it has it again.
  machine().suspend();
  ASSERT_TRUE(task_->wait(seconds{60}));
  EXPECT_THAT(memory_users(place, "default+ring"), testing::IsEmpty());
  end();
  driver_->reap_leftovers(false);
  EXPECT_FALSE(os::exists(place + "/default+ring"));
  spec_.config = config({{"shared_memory", shared}});
  start();
  EXPECT_TRUE(harness::eventually(seconds{60}, [&] { return client.ask("pci 1af4 1110") == "1"; }));
  EXPECT_THAT(memory_users(place, "default+ring"), testing::ElementsAre(state()));
}

TEST_F(Life, SuspendedToRamItStandsStillAndGoesOn) {
  start();
  Client client(kAddress);
  EXPECT_EQ(client.next(), 1U);
  machine().pause();
  EXPECT_EQ(client.ask("next", milliseconds{300}), "no answer");
  // Whoever takes it back knows that it is meant to stand still.
  recover();
  EXPECT_EQ(machine().phase(), Phase::paused);
  machine().unpause();
  EXPECT_THAT(client.ask("check"), testing::StartsWith("2 ")) << "the answer to what was asked while it stood still";
  EXPECT_EQ(client.ask("next"), "ok 2") << "and the one to the question after it";
}

TEST_F(Life, AsATaskItIsPausedResumedAndKeptInACheckpoint) {
  start();
  Client client(kAddress);
  EXPECT_EQ(client.next(), 1U);
  task_->pause();
  task_->pause();  // it does already
  EXPECT_EQ(machine().phase(), Phase::paused);
  EXPECT_EQ(client.ask("next", milliseconds{300}), "no answer");
  task_->resume();
  task_->resume();
  EXPECT_THAT(client.ask("check"), testing::StartsWith("2 ")) << "the answer to what was asked while it stood still";
  EXPECT_EQ(client.ask("next"), "ok 2") << "and the one to the question after it";

  const auto kept = task_->checkpoint();
  const auto all = list_checkpoints(state());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(kept.id, all[0].id);
  EXPECT_EQ(kept.bytes, all[0].stored_bytes);
  EXPECT_EQ(kept.at, all[0].created);
  EXPECT_EQ(memories().size(), 1U);
  EXPECT_EQ(client.next(), 3U) << "the answer to the last question before it";
  EXPECT_EQ(client.next(), 4U) << "and to the first one after it";
}

TEST_F(Life, AStopInTheMiddleOfACheckpointStillAsksTheGuest) {
  driver_ = make_driver([this](const std::string& step) {
    if (step == "stream" && task_) task_->stop(SIGTERM, seconds{60});
  });
  start();
  Client client(kAddress);
  task_->checkpoint();
  ASSERT_TRUE(task_->wait(seconds{90}));
  EXPECT_TRUE(task_->status().exit.success()) << os::to_string(task_->status().exit) << out();
  EXPECT_THAT(out(), HasSubstr("guest: told by its agent's port to shut down"));
}

TEST_F(Life, AStopOfAPausedMachineHasItGoOnToShutDown) {
  start();
  Client client(kAddress);
  task_->pause();
  task_->stop(SIGTERM, seconds{60});
  ASSERT_TRUE(task_->wait(seconds{90}));
  EXPECT_TRUE(task_->status().exit.success()) << os::to_string(task_->status().exit) << out();
}

}  // namespace
}  // namespace underway::vm
