#pragma once
/// @file
/// What tests of drivers that run images share: a place with ledger and store, a task, and the check that a run leaves
/// nothing. A plain class, so that fixtures with and without parameters have it beside GoogleTest's.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "driver/driver.hpp"
#include "harness/places.hpp"
#include "oci/store.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::pod {

class PodFixture {
 protected:
  /// The place is 0700, as an agent's directory may be. `options`: a driver's, whose keeper, ledger and store are set.
  template <class Options>
  void make_place(const std::string& task, Options& options) {
    path_ = "/var/lib/underway-pod-XXXXXX";
    ASSERT_NE(::mkdtemp(path_.data()), nullptr);
    ledger_.emplace(path_ + "/ledger");
    store_ = std::make_shared<oci::Store>(path_ + "/store", binary_dir() + "/bin/underway-pull");
    options.driver.keeper_program = binary_dir() + "/bin/underway-keeper";
    options.driver.ledger = &*ledger_;
    options.store = store_;
    cgroups_ = options.driver.cgroups;
    parent_ = fmt::format("underway-test-{}", ::getpid());
    spec_ = task_spec(task);
    os::make_directories(path_ + "/keepers");
  }
  driver::TaskSpec task_spec(const std::string& task) const {
    driver::TaskSpec spec;
    spec.alloc_id = "7f3a9c12-0000-4000-8000-000000000000";
    spec.task = task;
    spec.node = "gpu-014";
    spec.task_dir = path_ + "/alloc/" + task;
    spec.alloc_dir = path_ + "/alloc/alloc";
    spec.keeper_dir = fmt::format("{}/keepers/{}-1", path_, task);
    spec.cgroup = fmt::format("{}/7f3a9c12/{}", parent_, task);
    spec.run_cgroup = fmt::format("{}/7f3a9c12.runs/{}/1", parent_, task);
    spec.env = {{"NAME", "value"}};
    spec.may_be_root = true;
    return spec;
  }
  void remove_place() {
    if (path_.empty()) return;
    task_.reset();
    EXPECT_TRUE(ledger_->unsettled().empty());
    EXPECT_FALSE(os::exists(spec_.keeper_dir)) << "a keeper is left";
    EXPECT_FALSE(os::exists(spec_.keeper_dir + ".pod")) << "what the driver keeps beside it is left";
    EXPECT_TRUE(store_->leases().empty());
    for (const auto& mount : os::list_mounts()) {
      EXPECT_THAT(mount.target, testing::Not(testing::HasSubstr(path_)));
      EXPECT_THAT(mount.target, testing::Not(testing::HasSubstr("underway-task")));
    }
    if (auto left = os::Cgroup::find(cgroups_, parent_)) {
      EXPECT_TRUE(left->processes().empty());
      left->remove();
    }
    EXPECT_FALSE(os::exists("/sys/fs/cgroup/systemd/" + parent_)) << "a runtime's own group is left";
    os::remove_tree(path_);
  }

  driver::TaskStatus finish() {
    task_ = driver_->start(spec_);
    EXPECT_TRUE(task_->wait(std::chrono::seconds{60}));
    const auto status = task_->status();
    task_->destroy();
    task_.reset();
    return status;
  }
  std::string failure() {
    try {
      task_ = driver_->start(spec_);
    } catch (const Error& e) {
      return e.text();
    }
    end();
    return "it started";
  }
  void end() {
    task_->stop(SIGKILL, {});
    ASSERT_TRUE(task_->wait(std::chrono::seconds{20}));
    task_->destroy();
  }
  /// Output and errors of a command beside the task.
  std::string run(const std::vector<std::string>& argv) {
    auto session = task_->exec({.argv = argv});
    auto text = os::read_all(session.out, 1 << 20, "output");
    text += os::read_all(session.err, 1 << 20, "output");
    session.child.wait();
    return text;
  }
  std::string file(const std::string& stream) const {
    std::string all;
    for (int i = 0; i < 10; ++i)
      all += os::find_file(fmt::format("{}/logs/{}.{}.{}", spec_.alloc_dir, spec_.task, stream, i)).value_or("");
    return all;
  }
  std::string out() const { return file("stdout"); }
  std::string err() const { return file("stderr"); }
  bool says(const std::string& text) const {
    for (int i = 0; i < 4000 && out().find(text) == std::string::npos; ++i) ::usleep(5000);
    return out().find(text) != std::string::npos;
  }

  std::string path_, parent_;
  os::CgroupSystem cgroups_;
  std::optional<os::Ledger> ledger_;
  std::shared_ptr<oci::Store> store_;
  driver::TaskSpec spec_;
  std::unique_ptr<driver::Driver> driver_;
  std::unique_ptr<driver::TaskHandle> task_;
};

}  // namespace underway::pod
