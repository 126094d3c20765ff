// Whether a machine can go to another node while it runs.
#include "vm/live.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "os/file.hpp"
#include "vm/state/journal.hpp"

namespace underway::vm {
namespace {

using testing::HasSubstr;

const Probed kKvm{.program = "/usr/bin/qemu", .version = "7.2.22", .accelerator = Accelerator::kvm, .why_no_kvm = {}};
const Probed kTcg{.program = "/usr/bin/qemu", .version = "7.2.22", .why_no_kvm = "a guest did not boot"};

class Live : public testing::Test {
 protected:
  Live() {
    run.directory = testing::TempDir() + "underway-live-" + std::to_string(::getpid());
    os::make_directories(run.directory);
    run.machine.accelerator = Accelerator::kvm;
  }
  ~Live() override { os::remove_tree(run.directory); }
  std::string why_not(Migrate how = Migrate::automatic, bool clone = false) const {
    return describe_live(how, clone, run, kKvm).why_not;
  }
  vm::Run run;
};

TEST_F(Live, GoesWithKvmAndTranslatedWhenItsJobSaysSo) {
  EXPECT_EQ(why_not(), "");
  EXPECT_EQ(why_not(Migrate::stop), "its job says migrate = \"stop\"");
  run.machine.accelerator = Accelerator::tcg;
  EXPECT_THAT(why_not(), HasSubstr("translated"));
  EXPECT_EQ(why_not(Migrate::live), "");
  EXPECT_TRUE(describe_live(Migrate::live, false, run, kTcg).asked_for);
}

TEST_F(Live, DoesNotGoWithWhatItWouldLose) {
  EXPECT_THAT(why_not(Migrate::live, true), HasSubstr("a clone"));
  write_journal(run.directory, {.verb = Verb::paused});
  EXPECT_THAT(why_not(Migrate::live), HasSubstr("paused"));
  clear_journal(run.directory);
  run.incoming = true;
  EXPECT_THAT(why_not(Migrate::live), HasSubstr("does not run yet"));
  run.incoming = false;
  run.machine.host_devices.push_back({"host0", "0000:3b:00.0"});
  EXPECT_THAT(why_not(Migrate::live), HasSubstr("devices of its node"));
  run.machine.host_devices.clear();
  Saved checkpoint;
  checkpoint.id = "c1";
  checkpoint.memory = "c1.zst";
  os::make_directories(checkpoint_directory(run.directory));
  write_checkpoint(run.directory, checkpoint);
  EXPECT_THAT(why_not(Migrate::live), HasSubstr("checkpoints"));
}

TEST(LiveTarget, NeedsTheSameAndNoOlderQemu) {
  driver::LiveMachine machine{.accelerator = "kvm", .version = "7.2.22", .processor = "Zen 5 (0011)"};
  EXPECT_EQ(why_not_live(machine, kKvm, "Zen 5 (0011)"), "");
  EXPECT_THAT(why_not_live(machine, kKvm, "Zen 4 (0022)"), HasSubstr("'Zen 4 (0022)', and it has 'Zen 5 (0011)'"));
  EXPECT_THAT(why_not_live(machine, kTcg, "Zen 5 (0011)"), HasSubstr("no KVM here, which it has: a guest did not"));
  machine.version = "7.2.3";
  EXPECT_EQ(why_not_live(machine, kKvm, "Zen 5 (0011)"), "") << "as numbers, not as letters";
  machine.version = "8.0.0";
  EXPECT_EQ(why_not_live(machine, kKvm, "Zen 5 (0011)"), "the QEMU here is 7.2.22, and it has 8.0.0");
  machine = {.accelerator = "tcg", .version = "7.2.22", .processor = {}};
  EXPECT_EQ(why_not_live(machine, kKvm, "Zen 5 (0011)"), "") << "what is translated sees no processor of a node";
  machine.why_not = "it is a clone";
  EXPECT_EQ(why_not_live(machine, kKvm, "Zen 5 (0011)"), "it is a clone");
}

}  // namespace
}  // namespace underway::vm
