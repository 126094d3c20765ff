#pragma once
/// @file
/// A task's surroundings for the drivers on the real kernel: directories, cgroup, keeper.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/parse.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "driver/driver.hpp"
#include "harness/places.hpp"
#include "os/file.hpp"

namespace underway::driver {
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    ::usleep(5000);
  }
  return false;
}

class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    // Below /var/lib, as an agent's data are: an exec task has a /tmp of its own anyhow.
    char name[] = "/var/lib/underway-test-XXXXXX";
    path_ = ::mkdtemp(name);
    ::chmod(path_.c_str(), 0755);
    os::make_directories(path_ + "/precious");
    os::write_file(path_ + "/precious/file", "secret");
    ledger_.emplace(path_ + "/ledger");
    options_.keeper_program = binary_dir() + "/bin/underway-keeper";
    options_.ledger = &*ledger_;
    options_.hidden = {path_};
    parent_ = fmt::format("underway-test-{}", ::getpid());
    spec_.alloc_id = "7f3a9c12-0000-4000-8000-000000000000";
    spec_.task = "web";
    spec_.node = "gpu-014";
    spec_.task_dir = path_ + "/alloc/web";
    spec_.alloc_dir = path_ + "/alloc/alloc";
    spec_.keeper_dir = path_ + "/keepers/web-1";
    spec_.cgroup = parent_ + "/7f3a9c12/web";
    spec_.run_cgroup = parent_ + "/7f3a9c12.runs/web/1";
    spec_.env = {{"PATH", "/usr/bin:/bin"}, {"NAME", "value"}, {"AWS_SECRET", "x"}};
  }
  void TearDown() override {
    if (path_.empty()) return;
    task_.reset();
    EXPECT_TRUE(ledger_->unsettled().empty());
    EXPECT_FALSE(os::exists(spec_.keeper_dir)) << "a keeper is left";
    if (auto left = os::Cgroup::find(options_.cgroups, parent_)) {
      EXPECT_TRUE(left->processes().empty());
      left->remove();
    }
    os::remove_tree(path_);
  }

  void script(const std::string& text) { spec_.config = {{"command", "bash"}, {"args", {"-c", text}}}; }
  /// Runs to the end and frees everything; its standard output is in `out()`.
  TaskStatus finish(Driver& driver) {
    task_ = driver.start(spec_);
    EXPECT_TRUE(task_->wait(seconds{60}));
    const auto status = task_->status();
    task_->destroy();
    return status;
  }
  std::string out() const { return os::find_file(spec_.alloc_dir + "/logs/web.stdout.0").value_or(""); }
  std::string err() const { return os::find_file(spec_.alloc_dir + "/logs/web.stderr.0").value_or(""); }
  void end() {
    task_->stop(SIGKILL, {});
    ASSERT_TRUE(task_->wait(seconds{20}));
    task_->destroy();
  }
  static std::string collect(const os::Fd& fd) { return os::read_all(fd, 1 << 20, "output"); }

  std::string path_, parent_;
  Options options_;
  std::optional<os::Ledger> ledger_;
  TaskSpec spec_;
  std::unique_ptr<TaskHandle> task_;
};

}  // namespace underway::driver
