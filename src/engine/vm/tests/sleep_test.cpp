// A machine that is suspended to the disk, and one that goes back to a checkpoint.
#include <fcntl.h>
#include <sys/mount.h>

#include <thread>

#include <boost/json/parse.hpp>

#include "harness/command.hpp"
#include "vm/state/lease.hpp"
#include "vm/tests/machines.hpp"

namespace underway::vm {
namespace {

class Sleep : public MachineTest {
 protected:
  /// With a disk that it writes to.
  boost::json::object on_disk(boost::json::object more = {}) const {
    more["disk"] = boost::json::parse(fmt::format(R"([{{"data": [{{"image": "{}"}}]}}])", image_));
    more["append"] = fmt::format("console=ttyS0 panic=-1 quiet address={}/24 data=/dev/vda", kAddress);
    return config(std::move(more));
  }
  void SetUp() override {
    MachineTest::SetUp();
    if (IsSkipped()) return;
    image_ = make_image();
    spec_.config = on_disk();
  }
  /// Its task has ended because it sleeps; a new one of the same machine, as a job that is started again.
  void wake_up() {
    ASSERT_TRUE(task_->wait(seconds{60}));
    EXPECT_TRUE(task_->status().exit.success()) << os::to_string(task_->status().exit);
    end();
    spec_.config = on_disk();
    start();
  }
  std::string image_;
};

TEST_F(Sleep, FileMemoryAndConnectionOfAProgramGoOnExactlyWhereTheyWere) {
  start();
  Client client(kAddress);
  const auto boot = client.ask("boot");
  for (std::uint64_t n = 1; n <= 5; ++n) EXPECT_EQ(client.next(), n);
  const auto saved = machine().suspend();
  EXPECT_GT(saved.raw_bytes, saved.stored_bytes);
  ASSERT_TRUE(task_->wait(seconds{60}));
  EXPECT_EQ(lease_holder(state()), "");
  wake_up();
  EXPECT_EQ(client.next(), 6U);
  EXPECT_EQ(client.ask("check"), "ok 6");
  EXPECT_EQ(client.ask("boot"), boot);
  EXPECT_THAT(memories(), testing::IsEmpty());
  // And again, of a machine that was woken.
  machine().suspend();
  wake_up();
  EXPECT_EQ(client.next(), 7U);
  EXPECT_EQ(client.ask("check"), "ok 7");
}

TEST_F(Sleep, AnAgentThatDiesWhileSuspendingLeavesItRunningOrAsleep) {
  start();
  Client client(kAddress);
  std::uint64_t count = 0;
  for (const auto* step : {"stop", "stream", "seal", "commit"}) {
    SCOPED_TRACE(step);
    ASSERT_TRUE(die_in(step, [&](const MachineOptions& o) { Machine::open(run_directory(spec_), o).suspend(); }));
    recover();
    ASSERT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
    EXPECT_EQ(client.next(), ++count);
    EXPECT_EQ(client.ask("check"), fmt::format("ok {}", count));
    EXPECT_THAT(memories(), testing::IsEmpty());
    EXPECT_FALSE(find_saved(state()));
  }
  // All is written: it sleeps, and the QEMU that is left is ended.
  ASSERT_TRUE(die_in("quit", [&](const MachineOptions& o) { Machine::open(run_directory(spec_), o).suspend(); }));
  recover();
  EXPECT_NE(task_->status().phase, driver::TaskStatus::Phase::running);
  EXPECT_TRUE(find_saved(state()));
  wake_up();
  EXPECT_EQ(client.next(), ++count);
  EXPECT_EQ(client.ask("check"), fmt::format("ok {}", count));
}

TEST_F(Sleep, AQemuThatDiesWhileSuspendingLeavesNothingHalfMade) {
  for (const auto* step : {"stop", "stream", "seal"}) {
    SCOPED_TRACE(step);
    start();
    Client client(kAddress);
    client.next();
    const auto said = failure([&] {
      machine([&](const std::string& now) {
        if (now == step) ::kill(qemu(), SIGKILL);
      }).suspend();
    });
    ASSERT_TRUE(task_->wait(seconds{60}));
    EXPECT_EQ(task_->status().exit.signal, SIGKILL);
    if (std::string(step) == "seal") {
      // Its memory had arrived whole, and is good without it.
      EXPECT_EQ(said, "it did not fail");
      EXPECT_TRUE(find_saved(state()));
    } else {
      EXPECT_THAT(said, HasSubstr("suspending machine 'web' to the disk"));
      EXPECT_FALSE(find_saved(state()));
      EXPECT_THAT(memories(), testing::IsEmpty());
    }
    end();
    spec_.config = on_disk();
  }
}

TEST_F(Sleep, AnAgentThatDiesWhileWakingItLosesNothing) {
  start();
  std::optional<Client> client(std::in_place, kAddress);
  std::uint64_t count = 0;
  for (const auto* step : {"turn", "launch", "connect", "join", "incoming", "stream", "run", "forget"}) {
    SCOPED_TRACE(step);
    EXPECT_EQ(client->next(), ++count);
    machine().suspend();
    ASSERT_TRUE(task_->wait(seconds{60}));
    end();
    spec_.config = on_disk();
    ASSERT_TRUE(start_dies_in(step));
    recover();
    if (task_->status().phase != driver::TaskStatus::Phase::running) {
      EXPECT_NE(std::string(step), "forget");
      EXPECT_TRUE(find_saved(state()));
      end();
      spec_.config = on_disk();
      start();
    }
    EXPECT_EQ(client->next(), ++count);
    EXPECT_EQ(client->ask("check"), fmt::format("ok {}", count));
    EXPECT_FALSE(find_saved(state()));
    EXPECT_THAT(memories(), testing::IsEmpty());
  }
}

TEST_F(Sleep, OnAFullDiskItRunsOnAndNothingIsHalfWritten) {
  ASSERT_EQ(::mount("tmpfs", machines_.c_str(), "tmpfs", 0, "size=8m"), 0);
  spec_.config = config();  // no disk of its own
  start();
  Client client(kAddress);
  EXPECT_EQ(client.next(), 1U);
  const auto said = failure([&] { machine().suspend(); });
  EXPECT_THAT(said, HasSubstr("ENOSPC"));
  EXPECT_THAT(said, HasSubstr("machine 'web' goes on running"));
  EXPECT_EQ(client.next(), 2U);
  EXPECT_EQ(client.ask("check"), "ok 2");
  EXPECT_THAT(memories(), testing::IsEmpty());
  EXPECT_THAT(failure([&] { machine().checkpoint(2); }), HasSubstr("ENOSPC"));
  EXPECT_EQ(client.next(), 3U);
  EXPECT_THAT(memories(), testing::IsEmpty());
  // With room it works.
  ASSERT_EQ(::mount("tmpfs", machines_.c_str(), "tmpfs", MS_REMOUNT, "size=300m"), 0);
  machine().suspend();
  ASSERT_TRUE(task_->wait(seconds{60}));
  end();
  start();
  EXPECT_EQ(client.next(), 4U);
  end();
  ::umount2(machines_.c_str(), MNT_DETACH);
}

TEST_F(Sleep, AFlippedBitIsRefusedAndAColdBootIsTheWayOn) {
  start();
  Client(kAddress).next();
  machine().suspend();
  ASSERT_TRUE(task_->wait(seconds{60}));
  end();
  ASSERT_EQ(memories().size(), 1U);
  const auto file = os::open_file(memories()[0], O_RDWR);
  char byte = 0;
  ASSERT_EQ(::pread(file.get(), &byte, 1, 100'000), 1);
  byte = static_cast<char>(byte ^ 4);
  ASSERT_EQ(::pwrite(file.get(), &byte, 1, 100'000), 1);
  spec_.config = on_disk();
  const auto said = failure([&] { start(); });
  EXPECT_THAT(said, HasSubstr("machine 'web' cannot go on with what it saved"));
  EXPECT_THAT(said, HasSubstr("the sha256 of"));
  EXPECT_THAT(said, HasSubstr("do:    boot it cold: resume = \"cold\""));
  spec_.config = on_disk({{"resume", "cold"}});
  start();
  Client client(kAddress);
  EXPECT_EQ(client.next(), 2U);  // its disk knows of the first
  EXPECT_EQ(client.ask("check"), "ok 2");
  EXPECT_THAT(memories(), testing::IsEmpty());
}

TEST_F(Sleep, ADiskThatWasWrittenToSinceIsNotGivenOldMemory) {
  start();
  Client(kAddress).next();
  machine().suspend();
  ASSERT_TRUE(task_->wait(seconds{60}));
  end();
  const auto disk = state("disk-data.qcow2");
  ASSERT_EQ(harness::shell(fmt::format("qemu-io -c 'write 16M 64k' {}", disk)).exit_code, 0);
  spec_.config = on_disk();
  const auto said = failure([&] { start(); });
  EXPECT_THAT(said, HasSubstr("was written to at"));
  EXPECT_THAT(said, HasSubstr("resume = \"cold\""));
}

TEST_F(Sleep, AnotherMachineIsNotGivenItsMemory) {
  start();
  Client(kAddress).next();
  machine().suspend();
  ASSERT_TRUE(task_->wait(seconds{60}));
  end();
  spec_.config = on_disk({{"vcpus", 2}, {"memory", 200}});
  const auto said = failure([&] { start(); });
  EXPECT_THAT(said, HasSubstr("VCPUs is 2 and was 1"));
  EXPECT_THAT(said, HasSubstr("MemoryMB is 200 and was 160"));
}

TEST_F(Sleep, OfTwoThatWakeItAtOnceOneDoesAndTheOtherIsToldWho) {
  start();
  Client client(kAddress);
  EXPECT_EQ(client.next(), 1U);
  machine().suspend();
  ASSERT_TRUE(task_->wait(seconds{60}));
  end();
  spec_.config = on_disk();
  auto other = task_spec("web", 9);
  other.config = on_disk();
  std::unique_ptr<driver::TaskHandle> second;
  std::string why;
  std::thread rival([&] { why = failure([&] { second = make_driver()->start(other); }); });
  const auto ours = failure([&] { start(); });
  rival.join();
  EXPECT_NE(task_ == nullptr, second == nullptr) << ours << why;
  EXPECT_THAT(task_ ? why : ours, testing::AnyOf(HasSubstr("held by pid"), HasSubstr("is held by")));
  EXPECT_EQ(client.next(), 2U);
  EXPECT_EQ(client.ask("check"), "ok 2");
  if (second) {
    task_ = std::move(second);
    spec_ = other;
  }
}

TEST_F(Sleep, ACheckpointGoesOnRunningAndIsGoneBackToAsOfThen) {
  start();
  std::optional<Client> client(std::in_place, kAddress);
  std::vector<std::string> ids;
  for (std::uint64_t n = 1; n <= 4; ++n) {
    EXPECT_EQ(client->next(), n);
    ids.push_back(machine().checkpoint(2).id);
  }
  EXPECT_EQ(client->next(), 5U);
  const auto kept = list_checkpoints(state());
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].id, ids[2]);
  EXPECT_EQ(memories().size(), 2U);
  const auto running = machine().spec();
  EXPECT_THAT(failure([&] { restore(state(), ids[2], running); }), HasSubstr("runs already"));
  end();
  EXPECT_THAT(failure([&] { restore(state(), ids[0], running); }), HasSubstr("there is no checkpoint"));
  // Disk and memory of the third count, whatever was written since.
  restore(state(), ids[2], running);
  spec_.config = on_disk();
  start();
  client.emplace(kAddress);
  EXPECT_EQ(client->next(), 4U);
  EXPECT_EQ(client->ask("check"), "ok 4");
  // It can be gone back to once more, as who starts it says.
  end();
  spec_.config = on_disk();
  spec_.restore = ids[2];
  start();
  client.emplace(kAddress);
  EXPECT_EQ(client->next(), 4U);
  EXPECT_EQ(client->ask("check"), "ok 4");
}

TEST_F(Sleep, AnAgentThatDiesInACheckpointLeavesItRunningAndNoHalfOfOne) {
  start();
  Client client(kAddress);
  std::uint64_t count = 0;
  for (const auto* step : {"stop", "snapshot", "stream", "seal", "commit", "run", "forget"}) {
    SCOPED_TRACE(step);
    const auto before = list_checkpoints(state()).size();
    ASSERT_TRUE(die_in(step, [&](const MachineOptions& o) { Machine::open(run_directory(spec_), o).checkpoint(9); }));
    recover();
    ASSERT_EQ(task_->status().phase, driver::TaskStatus::Phase::running);
    EXPECT_EQ(client.next(), ++count);
    const bool made = std::string(step) == "run" || std::string(step) == "forget";
    EXPECT_EQ(list_checkpoints(state()).size(), before + (made ? 1 : 0));
    EXPECT_EQ(memories().size(), list_checkpoints(state()).size());
  }
  EXPECT_EQ(client.ask("check"), fmt::format("ok {}", count));
  end();
  // Of the disk, what is described and no more.
  const auto said =
      harness::shell(fmt::format("qemu-img snapshot -l {} | grep -c checkpoint-", state("disk-data.qcow2")));
  EXPECT_EQ(said.out, fmt::format("{}\n", list_checkpoints(state()).size()));
}

}  // namespace
}  // namespace underway::vm
