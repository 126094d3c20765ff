// What happens to a machine when those who hold it die: QEMU, and the keeper, in each step of each verb.
#include <boost/json/parse.hpp>

#include "harness/command.hpp"
#include "vm/state/lease.hpp"
#include "vm/tests/machines.hpp"

namespace underway::vm {
namespace {

class Faults : public MachineTest {
 protected:
  void SetUp() override {
    MachineTest::SetUp();
    if (IsSkipped()) return;
    image_ = make_image();
    spec_.config = on_disk();
  }
  boost::json::object on_disk() const {
    return config({{"disk", boost::json::parse(fmt::format(R"([{{"data": [{{"image": "{}"}}]}}])", image_))},
                   {"append", fmt::format("console=ttyS0 panic=-1 quiet address={}/24 data=/dev/vda", kAddress)}});
  }
  pid_t keeper() const {
    const auto status = os::find_file(fmt::format("/proc/{}/status", qemu())).value_or("");
    const auto at = status.find("PPid:");
    return at == std::string::npos ? 0 : std::atoi(status.c_str() + at + 5);
  }
  /// Its machine has ended, whatever of it was killed; a new run begins.
  void again() {
    ASSERT_TRUE(task_->wait(seconds{60}));
    EXPECT_EQ(lease_holder(state()), "");
    task_->destroy();
    task_.reset();
    spec_ = task_spec("web", ++runs_);
    spec_.config = on_disk();
    start();
  }
  /// Whatever was killed, the next start goes on: from what was saved whole, or from its disk.
  void expect_sound(std::uint64_t count) {
    Client client(kAddress);
    EXPECT_EQ(client.next(), count);
    EXPECT_EQ(client.ask("check"), fmt::format("ok {}", count));
    EXPECT_EQ(memories().size(), list_checkpoints(state()).size());
    EXPECT_FALSE(find_saved(state()));
  }
  void kill_in_each_step(const std::vector<const char*>& steps, const std::function<pid_t()>& whom,
                         const std::function<void(Machine)>& verb) {
    for (const auto* step : steps) {
      SCOPED_TRACE(step);
      if (!task_) start();
      {
        Client client(kAddress);
        EXPECT_EQ(client.next(), ++count_);
      }
      const pid_t victim = whom();
      ASSERT_GT(victim, 1);
      // It may also have been done before the death came.
      static_cast<void>(failure([&] {
        verb(machine([&](const std::string& now) {
          if (now == step) ::kill(victim, SIGKILL);
        }));
      }));
      again();
      expect_sound(++count_);
    }
  }
  std::string image_;
  std::uint64_t count_ = 0;
};

const std::vector<const char*> kSuspend = {"stop", "stream", "seal", "commit", "quit"};
const std::vector<const char*> kCheckpoint = {"stop", "snapshot", "stream", "seal", "commit", "run", "forget"};

TEST_F(Faults, AQemuThatDiesInAnyStepOfASuspensionOrACheckpoint) {
  kill_in_each_step(kSuspend, [&] { return qemu(); }, [](Machine machine) { machine.suspend(); });
  kill_in_each_step(kCheckpoint, [&] { return qemu(); }, [](Machine machine) { machine.checkpoint(2); });
}

TEST_F(Faults, AKeeperThatDiesInAnyStepOfASuspensionOrACheckpoint) {
  kill_in_each_step(kSuspend, [&] { return keeper(); }, [](Machine machine) { machine.suspend(); });
  kill_in_each_step(kCheckpoint, [&] { return keeper(); }, [](Machine machine) { machine.checkpoint(2); });
}

TEST_F(Faults, AQemuThatDiesWhileItWakesLosesNothingOfWhatWasSaved) {
  start();
  std::uint64_t count = 0;
  for (const auto* step : {"connect", "join", "incoming", "stream", "run"}) {
    SCOPED_TRACE(step);
    {
      Client client(kAddress);
      EXPECT_EQ(client.next(), ++count);
    }
    machine().suspend();
    ASSERT_TRUE(task_->wait(seconds{60}));
    end();
    spec_.config = on_disk();
    const auto dying = make_driver([&](const std::string& now) {
      if (now != step) return;
      // By its lease: nobody has its task yet.
      ASSERT_TRUE(harness::eventually(seconds{30}, [&] { return lease_holder(state()).starts_with("pid "); }));
      ::kill(std::atoi(lease_holder(state()).c_str() + 4), SIGKILL);
    });
    EXPECT_NE(failure([&] { task_ = dying->start(spec_); }), "it did not fail");
    ASSERT_FALSE(task_);
    EXPECT_TRUE(find_saved(state()));
    start();
    expect_sound(++count);
  }
}

}  // namespace
}  // namespace underway::vm
