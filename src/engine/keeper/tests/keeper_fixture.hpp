#pragma once
/// @file
/// The real program on the real kernel, in a directory of the test's own.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/text.hpp"
#include "harness/places.hpp"
#include "keeper/client.hpp"
#include "os/file.hpp"

namespace underway::keeper {

/// Waits for what another process brings about; the bound is far above what it takes.
template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    ::usleep(5000);
  }
  return false;
}

class Keeper : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    char name[] = "/tmp/underway-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  void TearDown() override {
    if (path_.empty()) return;
    if (group_) {
      const auto parent = group_->substr(0, group_->find('/'));
      if (auto left = os::Cgroup::find(system_, parent)) left->remove();
    }
    for (const auto& process : keepers_) {
      EXPECT_TRUE(eventually([&] { return !os::is_running(process); })) << "keeper " << process.pid << " is left";
      if (const auto pidfd = os::Pidfd::find(process)) static_cast<void>(pidfd->signal(SIGKILL));
    }
    os::remove_tree(path_);
  }

  LaunchSpec spec(const std::string& script) {
    LaunchSpec spec;
    spec.program = binary_dir() + "/bin/underway-keeper";
    spec.directory = path_ + "/keeper";
    spec.description = "test/web";
    spec.logs = {.directory = path_ + "/logs", .name = "web"};
    spec.cgroup = group_;
    if (group_) {
      auto group = os::Cgroup::create(system_, *group_, limits_);
      for (const auto& file : group.join_files()) spec.plan.write_file(file, "0");
      group.release();
    }
    spec.plan.new_session();
    if (!spec.own_process_numbers) spec.plan.parent_death_signal(SIGKILL);
    spec.plan.exec({"/bin/bash"}, {"bash", "-c", script}, {"PATH=/usr/bin:/bin"});
    return spec;
  }
  Client launch(const LaunchSpec& what) {
    Client client = Client::launch(what, system_);
    keepers_.push_back(client.keeper());
    return client;
  }
  Client attach() { return Client::attach(path_ + "/keeper", group_, system_); }
  void use_cgroup() {
    group_ =
        fmt::format("underway-test-{}/{}", ::getpid(), testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  /// All of one stream, rotated files in order.
  std::string log(const std::string& stream) const {
    std::map<int, std::string> parts;
    for (const auto& entry : os::list_directory(path_ + "/logs")) {
      if (entry.name.starts_with("web." + stream + ".")) {
        parts[std::stoi(entry.name.substr(entry.name.rfind('.') + 1))] = os::read_file(path_ + "/logs/" + entry.name);
      }
    }
    std::string all;
    for (const auto& [index, text] : parts) all += text;
    return all;
  }
  /// The process whose number a script has written into `file`.
  os::ProcessIdentity written(const std::string& file) const {
    const std::string path = path_ + "/" + file;
    EXPECT_TRUE(eventually([&] { return os::find_file(path).value_or("").ends_with("\n"); })) << file;
    return os::process_identity(std::stoi(os::read_file(path))).value_or(os::ProcessIdentity{});
  }

  os::CgroupSystem system_ = os::CgroupSystem::probe();
  std::string path_;
  std::optional<std::string> group_;
  os::CgroupLimits limits_;
  std::vector<os::ProcessIdentity> keepers_;
};

}  // namespace underway::keeper
