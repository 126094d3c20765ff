// A service with `sync` whose process executes another program while threads of it are held.
#include <fcntl.h>
#include <poll.h>
#include <sys/fanotify.h>
#include <sys/syscall.h>

#include <filesystem>

#include "harness/places.hpp"
#include "tests/synced.hpp"

namespace underway::run {
namespace {

class SyncedThreads : public Synced {
 protected:
  /// `first` or `other` (saving_threads.cpp), and what it executes.
  TaskSpec threads(const std::string& which, const std::string& program) {
    const auto image = pack_image("threads", [](const std::string& root) {
      std::filesystem::copy_file(binary_dir() + "/bin/saving_threads", root + "/bin/saving_threads");
      os::make_directories(root + "/interpreter");
      std::filesystem::copy_file("/bin/busybox", root + "/interpreter/sh");
      os::write_file(root + "/bin/script", "#!/interpreter/sh\ntrue\n", 0755);
    });
    return spec("db", saving(fmt::format("saving_threads {} {}", which, program),
                             "mkdir -p /srv; touch /srv/held /srv/more /srv/1", "",
                             fmt::format(R"({{"image": "{}"}})", image)));
  }
  std::uint64_t newest(const TaskSpec& run) { return control(run).saves(seconds{5}).newest; }
  bool saves_more_than(const TaskSpec& run, std::uint64_t number) {
    return eventually([&] { return newest(run) > number; });
  }
};

TEST_F(SyncedThreads, TheProgramThatComesInThePlaceOfOneWhoIsHeldIsHeldToo) {
  const auto run = threads("first", "/bin/mv /srv/1 /srv/state");
  auto& task = start(run);
  be_in_sync(run);
  const auto before = newest(run);
  tell(run, 1);
  ASSERT_TRUE(saves_more_than(run, before)) << "by its first thread: " << err(run);
  os::write_file(run.task_dir + "/local/exec", "");
  EXPECT_TRUE(saves_more_than(run, before + 1)) << "by what another one executes: " << err(run);
  EXPECT_FALSE(said(run, 1));
  copy(run);
  EXPECT_TRUE(has_saved(run, 1)) << err(run);
  EXPECT_LT(control(run).status().behind, Duration{0});
  end(task);
}

TEST_F(SyncedThreads, OneThatSavesWhileItsProcessExecutesAProgramStopsNobody) {
  const auto run = threads("other", "/bin/script");
  auto& task = start(run);
  be_in_sync(run);
  const auto init = find_run(options().capsules, "default", "db")->pid;
  const os::Fd asked(::fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC));
  const auto interpreter = fmt::format("/proc/{}/root/interpreter/sh", init);
  if (!asked || ::fanotify_mark(asked.get(), FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, AT_FDCWD, interpreter.c_str()) != 0)
    GTEST_SKIP() << "needs a kernel that asks before a program is executed (fanotify(7))";
  const auto before = newest(run);
  tell(run, 1);
  ASSERT_TRUE(saves_more_than(run, before)) << "one is held: " << err(run);
  // In the middle of execve(2), where it has begun and the threads are still there, …
  os::write_file(run.task_dir + "/local/exec", "");
  ASSERT_TRUE(os::wait_for(asked.get(), POLLIN, 20'000)) << err(run);
  fanotify_event_metadata event{};
  ASSERT_GE(::read(asked.get(), &event, sizeof event), static_cast<ssize_t>(sizeof event));
  const os::Fd opened(event.fd);
  // … another one saves, and the init waits until it may attach to it.
  os::write_file(run.task_dir + "/local/more", "");
  const auto call = fmt::format("{} ", SYS_ptrace);
  EXPECT_TRUE(
      eventually([&] { return os::find_file(fmt::format("/proc/{}/syscall", init)).value_or("").starts_with(call); }));
  const fanotify_response answer{event.fd, FAN_ALLOW};
  ASSERT_EQ(::write(asked.get(), &answer, sizeof answer), static_cast<ssize_t>(sizeof answer));
  EXPECT_TRUE(has_saved(run, 1)) << "it was executed";
  EXPECT_EQ(control(run).status().phase, "running");
  end(task);
}

}  // namespace
}  // namespace underway::run
