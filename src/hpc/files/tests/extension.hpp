#pragma once
/// @file
/// Both ends over a link in memory, the node's on a real directory.

#include "files/targets/extension.hpp"
#include "os/file.hpp"
#include "tests/target_tree_test.hpp"
#include "tests/world.hpp"

namespace underway::files {

class ExtensionTest : public FilesWorld {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: owners are changed";
    char name[] = "/tmp/underway-sync-XXXXXX";
    base_ = ::mkdtemp(name);
    std::filesystem::create_directories(base_ + "/root/etc");
    node_ = &join(1);
    node_->answers["files.changed"] = [this](const boost::json::value&) {
      if (extension_) extension_->wake();
      return boost::json::object{};
    };
    start();
  }
  void TearDown() override {
    if (extension_) stop();
    if (!base_.empty()) std::filesystem::remove_all(base_);
  }
  void start() {
    FileOptions options;
    options.root = base_ + "/root";
    options.every = std::chrono::hours(1);
    extension_.emplace(options);
    node::ExtensionContext context{node_->node(),
                                   base_ + "/data",
                                   loop.executor(),
                                   pool,
                                   [this]() { return link_up_ ? node_->connection : nullptr; },
                                   clock,
                                   loops_};
    loop.run_until_done(extension_->start(std::move(context)));
    extension_->linked();
  }
  void stop() {
    loop.run_until_done(extension_->stop());
    extension_.reset();
  }
  std::string read(const std::string& path) const {
    return os::find_file(base_ + "/root" + path).value_or("not there");
  }
  Trust keys() const { return parse_trust(os::read_file(base_ + "/data/files/server.key")); }
  void wait_for(const std::string& path, const std::string& bytes) {
    server::testing::run_until(loop, [&] { return read(path) == bytes; });
  }
  TargetStatus status() {
    const auto states = target_states(tables(), service, "", [](const std::string&) { return true; });
    return states.empty() ? TargetStatus{} : states.front();
  }
  void wait_until_synced() {
    server::testing::run_until(loop, [&] { return !status().node.empty() && status().state == TargetState::synced; });
  }

  async::LoopRegistry loops_{clock};
  std::string base_;
  FakeNode* node_ = nullptr;
  bool link_up_ = true;
  std::optional<FileExtension> extension_;
};

}  // namespace underway::files
