// The driver on the real kernel: image, overlay, namespaces, and what is left behind.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include "os/file.hpp"
#include "os/mount.hpp"
#include "overlay/changes.hpp"
#include "tests/capsules.hpp"

namespace underway::run {
namespace {

TEST_F(Capsules, HaveNamesProcessesAndDirectoriesOfTheirOwn) {
  auto& task = start(spec("web", config("echo up; sleep 1000", "", R"({"hostname": "web.example"})")));
  EXPECT_EQ(shell(task, "hostname; cat /etc/hostname /proc/1/comm"), "web.example\nweb.example\ncapsule-init");
  EXPECT_EQ(shell(task, "cat /etc/motd; stat -c '%U:%G %a' /run/munge; ls /run/underway"),
            "welcome\nmunge:munge 755\ncontrol\ninit\nspec");
  EXPECT_EQ(shell(task, "ls /sys/class/net; ls /dev/shm; echo x > /dev/null && echo good"), "lo\ngood");
  EXPECT_THAT(shell(task, "ps -o comm"), Not(HasSubstr("underway-keeper")));
  EXPECT_EQ(shell(task, "echo kept > /local/file; cat /local/file; ls -d /secrets /alloc"), "kept\n/alloc\n/secrets");
  EXPECT_THAT(shell(task, "touch /proc/sys/kernel/hostname"), HasSubstr("Read-only file system"));
  EXPECT_THAT(shell(task, "mount -t tmpfs x /tmp"), HasSubstr("ermission"));
  EXPECT_TRUE(eventually([&] { return out(tasks_[0].first) == "main: up\n"; })) << out(tasks_[0].first);
  end(task);
}

TEST_F(Capsules, WriteToTheirOverlayAndNeverToTheImage) {
  const auto run = spec("web", config("sleep 1000"));
  auto& task = start(run);
  // The image itself, mounted as the driver mounts it.
  const auto place = directory_ + "/image";
  os::make_directories(place);
  const auto image = os::open_file(plain_image(), O_RDONLY);
  {
    const auto mounted = os::Mount::make(fmt::format("/proc/self/fd/{}", image.get()), place, "erofs", MS_RDONLY, "");
    errno = 0;
    EXPECT_LT(::open((place + "/etc/motd").c_str(), O_WRONLY), 0);
    EXPECT_EQ(errno, EROFS);
    // Nor does asking for it help: the kernel leaves it read-only.
    ::mount(nullptr, place.c_str(), nullptr, MS_REMOUNT, nullptr);
    errno = 0;
    EXPECT_LT(::open((place + "/etc/motd").c_str(), O_WRONLY), 0);
    EXPECT_EQ(errno, EROFS);
    EXPECT_EQ(shell(task, "echo changed > /etc/motd; echo new > /etc/new; rm /etc/group; cat /etc/motd"), "changed");
    EXPECT_EQ(os::read_file(place + "/etc/motd"), "welcome\n");
    const auto last = find_run(directory_ + "/capsules", "default", "web");
    ASSERT_TRUE(last);
    std::vector<std::string> changed;
    for (const auto& change : overlay::changes(last->upper, overlay::below_directory(place)))
      changed.push_back(fmt::format("{} {}", describe::spell(change.kind), change.path));
    EXPECT_THAT(changed, testing::ElementsAre("deleted /etc/group", "modified /etc/motd", "added /etc/new"));
  }
  end(task);
  // What was written is there for the next run, and what follows from the job file is not in the overlay.
  auto& again = start(spec("web", config("sleep 1000", "", R"({"hostname": "other"})"), 2));
  EXPECT_EQ(shell(again, "cat /etc/motd /etc/new /etc/hostname; ls /etc/group"),
            "changed\nnew\nother\nls: /etc/group: No such file or directory[exit code 1]");
  end(again);
}

TEST_F(Capsules, ReplaceAFileByRenameWhereABindMountOfItFails) {
  // What synchronises files writes a new one and renames it. Over a bind mount of a single file that fails, or, done
  // from outside, takes the mount away and leaves the capsule with the old file (the fault of the paper's tools).
  os::write_file(directory_ + "/bound", "old\n");
  const auto more = fmt::format(R"({{"bind": [{{"/etc/bound": [{{"source": "{}/bound"}}]}}]}})", directory_);
  auto& task = start(spec("web", config("sleep 1000", "", more)));
  EXPECT_EQ(shell(task, "cat /etc/bound; echo new > /etc/bound.new; mv /etc/bound.new /etc/bound"),
            "old\nmv: can't rename '/etc/bound.new': Device or resource busy[exit code 1]");
  EXPECT_EQ(
      shell(task, "for f in hosts motd; do echo new > /etc/$f.new && mv /etc/$f.new /etc/$f && cat /etc/$f; done"),
      "new\nnew");
  end(task);
}

TEST_F(Capsules, SeeWhatIsBoundForReadingOnlyOrToWrite) {
  os::make_directories(directory_ + "/home/alice");
  os::write_file(directory_ + "/home/alice/job.sh", "x\n");
  const auto more = fmt::format(
      R"({{"bind": [{{"/home": [{{"source": "{0}/home"}}]}}, {{"/var/run/../lib/ro": [{{"source": "{0}/home", "read_only": true}}]}}]}})",
      directory_);
  EXPECT_THAT(failure_of([&] { start(spec("bad", config("sleep 1", "", more))); }), HasSubstr("is no absolute path"));
  const auto good = fmt::format(
      R"({{"bind": [{{"/home": [{{"source": "{0}/home"}}]}}, {{"/var/run/shown/ro": [{{"source": "{0}/home", "read_only": true}}]}}]}})",
      directory_);
  EXPECT_THAT(failure_of([&] {
                start(spec("none", config("sleep 1", "", R"({"bind": [{"/data": [{"source": "/no/such"}]}]})")));
              }),
              HasSubstr("this host has no '/no/such'"));
  auto& task = start(spec("web", config("sleep 1000", "", good)));
  EXPECT_EQ(shell(task, "cat /home/alice/job.sh; echo y > /home/alice/out; cat /home/alice/out"), "x\ny");
  EXPECT_EQ(os::read_file(directory_ + "/home/alice/out"), "y\n");
  EXPECT_THAT(shell(task, "echo z > /run/shown/ro/alice/out"), HasSubstr("Read-only file system"));
  end(task);
}

TEST_F(Capsules, SayWhatTheKernelRefusedThemAndLeaveNothing) {
  // A directory on what the image has as a file.
  const auto more = fmt::format(R"({{"bind": [{{"/etc/passwd": [{{"source": "{}"}}]}}]}})", directory_);
  const auto run = spec("web", config("sleep 1000", "", more));
  const auto said = failure_of([&] { start(run); });
  EXPECT_THAT(said, HasSubstr("/root/etc/passwd'"));
  EXPECT_THAT(said, Not(HasSubstr("another file system is mounted there")));
  EXPECT_EQ(traces(), std::vector<std::string>{});
  EXPECT_FALSE(os::exists(run.keeper_dir));
}

TEST_F(Capsules, AreFoundAgainByTheNextAgent) {
  const auto run = spec("web", config("echo up; sleep 1000", "10.9.0.5/24"));
  const auto before = start(run).status().process;
  tasks_.clear();
  restart_agent();
  tasks_.emplace_back(run, driver_->recover(run));
  auto& task = *tasks_.back().second;
  EXPECT_EQ(task.status().phase, TaskStatus::Phase::running);
  EXPECT_EQ(task.status().process, before);
  EXPECT_EQ(control(run).status().phase, "running");
  EXPECT_EQ(shell(task, "echo $NOMAD_JOB_ID"), "web");
  end(task);
  EXPECT_NE(find_run(directory_ + "/capsules", "default", "web")->ended, 0);
}

TEST_F(Capsules, DieWithTheirKeeperAndWithTheirInit) {
  const auto run = spec("web", config("sleep 1000", "10.9.0.5/24"));
  auto& task = start(run);
  const auto first = task.status().process;
  const auto parent = os::read_file(fmt::format("/proc/{}/stat", first.pid));
  const auto after = parent.substr(parent.rfind(')') + 4);
  ::kill(std::stoi(after), SIGKILL);
  EXPECT_TRUE(task.wait(seconds{20}));
  EXPECT_EQ(task.status().phase, TaskStatus::Phase::lost);
  EXPECT_TRUE(eventually([&] { return !os::is_running(first); }));
  task.destroy();
  tasks_.clear();
  EXPECT_EQ(traces(), std::vector<std::string>{});

  const auto again = spec("web", config("sleep 1000", "10.9.0.5/24"), 2);
  auto& other = start(again);
  ::kill(other.status().process.pid, SIGKILL);
  EXPECT_TRUE(other.wait(seconds{20}));
  EXPECT_EQ(other.status().exit.signal, SIGKILL);
  other.destroy();
  tasks_.clear();
}

TEST_F(Capsules, RunOnceOnANode) {
  auto& first = start(spec("web", config("sleep 1000")));
  auto second = spec("other", config("sleep 1000", "", R"({"name": "web"})"));
  EXPECT_THAT(failure_of([&] { start(second); }), HasSubstr("capsule 'web' runs on this node already"));
  end(first);
  end(start(second));
}

TEST_F(Capsules, AreRefusedUnlessTheirImageIsWhatWasSigned) {
  const auto path = plain_image();
  // One flipped bit, in a file of its own.
  auto bytes = os::read_file(path, 1U << 28);
  bytes[100'000] = static_cast<char>(bytes[100'000] ^ 0x10);
  os::write_file(directory_ + "/flipped.capsule", bytes);
  const auto with = [&](const std::string& image) {
    return config("sleep 1000", "10.9.0.5/24", fmt::format(R"({{"image": "{}"}})", image));
  };
  EXPECT_THAT(failure_of([&] { start(spec("web", with(directory_ + "/flipped.capsule"))); }),
              HasSubstr("starting capsule 'web'"));
  EXPECT_THAT(failure_of([&] { start(spec("web", with("nothing:1.0"))); }), HasSubstr("nothing"));
  EXPECT_THAT(failure_of([&] { start(spec("web", with("sha256:../../etc/passwd"))); }),
              HasSubstr("sha256:../../etc/passwd"));
  EXPECT_EQ(traces(), std::vector<std::string>{});
  // The same file, once it is known, when its key is no longer trusted.
  end(start(spec("web", with(path))));
  os::remove_tree(directory_ + "/keys/ops.pub");
  EXPECT_THAT(failure_of([&] { start(spec("web", with(path), 2)); }), HasSubstr("key"));
}

TEST_F(Capsules, FindTheirImageInTheStoreByNameOrDigest) {
  const auto digest = image::ImageFile::open(plain_image()).digest();
  os::make_directories(directory_ + "/images/sha256");
  ASSERT_EQ(::link(plain_image().c_str(), (directory_ + "/images/sha256/" + digest.substr(7)).c_str()), 0);
  for (const auto& name : {std::string("plain:1.0"), std::string("plain"), digest}) {
    const auto run = spec("web", config("sleep 1000", "", fmt::format(R"({{"image": "{}"}})", name)));
    auto& task = start(run);
    EXPECT_EQ(find_run(directory_ + "/capsules", "default", "web")->digest, digest);
    end(task);
  }
}

TEST_F(Capsules, FailLoudlyWhenTheirOverlayIsFull) {
  const auto more = R"({"overlay": [{"kind": "ext4", "size": "32M"}], "attempts": 2})";
  const auto run = spec("web", config("dd if=/dev/zero of=/var/lib/fill bs=64k || exit 3; sleep 1000", "", more));
  auto& task = start(run);
  EXPECT_TRUE(task.wait(seconds{30}));
  EXPECT_EQ(task.status().exit.code, 1) << err(run);
  EXPECT_THAT(err(run), HasSubstr("main: dd: error writing '/var/lib/fill': No space left on device"));
  EXPECT_THAT(err(run), HasSubstr("init: main: ended with exit code 3, 2 times in a row: given up"));
  task.destroy();
  tasks_.clear();
}

TEST_F(Capsules, AreHeldToTheirLimits) {
  if (!os::CgroupSystem::probe().has("memory")) GTEST_SKIP() << "no memory controller";
  auto run = spec("web", config("sleep 1000", "", R"({"attempts": 1})"));
  run.memory_mb = 32;
  auto& task = start(run);
  EXPECT_LT(task.usage().memory_bytes, 32U << 20);
  EXPECT_THAT(shell(task, "dd if=/dev/zero of=/dev/shm/x bs=1M count=200"), HasSubstr("[signal 9"));
  end(task);
}

TEST_F(Capsules, SayOfTheirConfigAllThatIsWrong) {
  const auto text = failure_of([&] { start(spec("web", R"({"image": "x", "netwrk": 1, "attempts": -1})")); });
  EXPECT_THAT(text, HasSubstr("did you mean 'network'?"));
  EXPECT_THAT(text, HasSubstr("config.attempts: is negative"));
  EXPECT_TRUE(driver_->fingerprint().healthy) << driver_->fingerprint().description;
}

}  // namespace
}  // namespace underway::run
