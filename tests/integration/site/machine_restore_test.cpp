// A virtual machine that goes back to a checkpoint, as who types `underway alloc restore` sees it: real QEMU, whose
// guest counts in its memory and on its disk, and says so when the two differ.
#include <gmock/gmock.h>

#include <filesystem>

#include "harness/cluster.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kWorker = R"SH(#!/bin/busybox sh
n=0
while :; do
  echo 3 >/proc/sys/vm/drop_caches
  was=$(dd if=/dev/vda bs=512 count=1 2>/dev/null | tr -d '\000')
  [ $n = 0 ] || [ "$was" = "$n" ] || echo "torn: $was on the disk, $n in memory" >/dev/console
  n=$((n+1))
  printf %s $n | dd of=/dev/vda bs=512 count=1 conv=sync 2>/dev/null
  sync
  echo "tick $n" >/dev/console
  sleep 0.2
done
)SH";

class MachineRestore : public testing::Test {
 protected:
  void SetUp() override {
    const auto guest = source_dir() + "/build/guest";
    if (!std::filesystem::exists(guest + "/version"))
      GTEST_SKIP() << "needs build/guest: packaging/guest build/guest makes it";
    images_ = "/var/lib/underway-test-guest-" + std::to_string(::getpid());  // hosts see this, and nothing of /tmp
    std::filesystem::create_directories(images_ + "/root");
    write_text(images_ + "/root/worker", kWorker);
    const auto packed = shell("cd " + images_ + "/root && chmod 755 worker && echo worker | " +
                              "busybox cpio -o -H newc | gzip -n | cat " + guest + "/initrd - > ../initrd && cp " +
                              guest + "/vmlinuz ..");
    ASSERT_EQ(packed.exit_code, 0) << packed.err;
    cluster_.emplace();
    const auto directory = cluster_->examples() + "/restoring";
    shell("mkdir -p " + directory);
    write_text(directory + "/cluster.hcl",
               "namespace \"default\" {\n  raw_exec_as_root = true\n}\ncluster \"restoring\" {\n  network \"lan\" {\n"
               "    cidr = \"10.95.0.0/24\"\n  }\n  pool \"metal\" {\n    hostname = \"m1\"\n  }\n}\n");
    write_text(
        directory + "/counter.hcl",
        "job \"counter\" {\n  node_pool = \"metal\"\n  group \"g\" {\n    task \"vm\" {\n      driver = \"qemu\"\n"
        "      config {\n        name = \"restoring.counter\"\n        kernel = \"" +
            images_ + "/vmlinuz\"\n        initrd = \"" + images_ +
            "/initrd\"\n        append = \"console=ttyS0 panic=-1 quiet\"\n        disk \"data\" {\n"
            "          size = \"64M\"\n        }\n      }\n      resources {\n        cpu = 500\n"
            "        memory = 512\n      }\n    }\n    task \"beside\" {\n      driver = \"raw_exec\"\n"
            "      config {\n        command = \"/bin/sleep\"\n        args = [\"3600\"]\n      }\n"
            "      resources {\n        cpu = 10\n        memory = 10\n      }\n    }\n  }\n}\n");
    const auto done = cluster_->underway({"up", directory}, seconds(240));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err << told();
    const auto list = cluster_->underway({"operator", "api", "/v1/job/counter/allocations"}, seconds(30)).out;
    const auto at = list.find("\"ID\":\"");
    ASSERT_NE(at, std::string::npos) << list;
    machine_ = list.substr(at + 6, 36);
    ASSERT_TRUE(eventually(seconds(60), [&] { return ticks() >= 5; })) << told();
  }
  void TearDown() override {
    cluster_.reset();
    if (!images_.empty()) std::filesystem::remove_all(images_);
  }
  std::string said() const { return cluster_->underway({"alloc", "logs", "-task", "vm", machine_}, seconds(30)).out; }
  /// As it counted last.
  int ticks() const {
    const auto log = said();
    const auto at = log.rfind("tick ");
    return at == std::string::npos ? 0 : std::atoi(log.c_str() + at + 5);
  }
  static std::string qemu() { return shell("pgrep -f 'guest=restoring[.]counter[ ,]'").out; }
  Finished restore(std::vector<std::string> words) const {
    words.insert(words.begin(), {"alloc", "restore"});
    return cluster_->underway(words, seconds(60));
  }
  /// Of a new one.
  std::string checkpoint() const {
    const auto made = cluster_->underway({"alloc", "checkpoint", "-task", "vm", "-json", machine_}, seconds(120));
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const auto at = made.out.find("\"ID\": \"");
    return at == std::string::npos ? made.out : made.out.substr(at + 7, made.out.find('"', at + 7) - at - 7);
  }
  std::string told() const {
    return cluster_->underway({"alloc", "status", machine_}, seconds(30)).out + said() +
           shell("tail -n 40 " + cluster_->state() + "/agent.log").out;
  }

  std::string images_, machine_;
  std::optional<Cluster> cluster_;
};

TEST_F(MachineRestore, GoesBackWithMemoryAndDiskAsOftenAsItIsAskedTo) {
  const auto back_to = checkpoint();
  const int then = ticks();
  ASSERT_TRUE(eventually(seconds(60), [&] { return ticks() >= then + 20; })) << told();
  for (int time = 0; time < 2; ++time) {
    const auto running = qemu();
    const auto back = restore({"-yes", machine_, back_to});
    ASSERT_EQ(back.exit_code, 0) << back.err << told();
    EXPECT_THAT(back.out, HasSubstr("goes back to checkpoint " + back_to));
    EXPECT_TRUE(eventually(seconds(60), [&] { return qemu() != running && ticks() < then + 10; })) << told();
    ASSERT_TRUE(eventually(seconds(60), [&] { return ticks() >= then + 20; })) << "it counts on from there" << told();
  }
  EXPECT_THAT(said(), testing::Not(HasSubstr("torn"))) << "its disk is as of then, too";
  EXPECT_EQ(std::ranges::count(qemu(), '\n'), 1) << qemu();
  EXPECT_THAT(cluster_->underway({"alloc", "status", machine_}).out,
              HasSubstr("It goes back to checkpoint " + back_to));
  EXPECT_THAT(cluster_->underway({"alloc", "checkpoint", "-list", machine_}).out, HasSubstr(back_to)) << "it stays";
}

TEST_F(MachineRestore, RunsOnWhenThereIsNothingToGoBackTo) {
  const auto none = restore({"-yes", machine_, "c-1"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("has no checkpoint 'c-1'"));
  EXPECT_THAT(none.err, HasSubstr("it has none at all"));
  const auto made = checkpoint();
  const auto running = qemu();
  for (const auto& [words, why] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"-yes", machine_, made + "x"}, "has no checkpoint '" + made + "x'"},
           {{"-yes", machine_, "../" + made}, "has no checkpoint"},
           {{"-yes", "-task", "nobody", machine_, made}, "nobody"},
           {{"-yes", "-task", "beside", machine_, made}, "only virtual machines do"},
           {{"-yes", "ffffffff", made}, "ffffffff"},
           {{machine_, made}, "nothing was changed"}}) {
    const auto wrong = restore(words);
    EXPECT_EQ(wrong.exit_code, 1) << why << wrong.out << wrong.err;
    EXPECT_THAT(wrong.err, HasSubstr(why));
  }
  EXPECT_EQ(restore({"-yes", machine_}).exit_code, 2) << "to which?";

  // A bit of it is wrong: all of it is read while the machine runs on.
  const auto flipped = cluster_->enter("m1",
                                       "f=$(find /var/lib/underway-node -path '*checkpoints*' -name '*.zst') && "
                                       "printf x | dd of=$f bs=1 seek=2000 conv=notrunc 2>&1");
  ASSERT_EQ(flipped.exit_code, 0) << flipped.out << flipped.err;
  const auto damaged = restore({"-yes", machine_, made});
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.err, HasSubstr("sha256"));
  const int now = ticks();
  EXPECT_TRUE(eventually(seconds(30), [&] { return ticks() > now + 5; })) << told();
  EXPECT_EQ(qemu(), running) << told();
}

}  // namespace
}  // namespace underway::harness
