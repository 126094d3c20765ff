#pragma once
/// @file
/// Directories for tests, some with a file system of their own, that go with the test.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "overlay/overlay.hpp"

namespace underway::overlay {

class Places {
 public:
  explicit Places(const std::string& base = "/tmp") : path_(base + "/underway-overlay-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw errno_error(errno, "no directory for the test");
  }
  Places(const Places&) = delete;
  ~Places() {
    for (const auto& mount : os::list_mounts()) {
      if (mount.target.starts_with(path_ + "/")) below_.push_back(mount.target);
    }
    while (!below_.empty()) {
      ::umount2(below_.back().c_str(), MNT_DETACH);
      below_.pop_back();
    }
    os::remove_tree(path_);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// A file system in memory.
  std::string disk(const std::string& name, const std::string& options = {}) {
    os::make_directories(path_ + "/" + name);
    static_cast<void>(os::Mount::tmpfs(path_ + "/" + name, options).release());
    return path_ + "/" + name;
  }

 private:
  std::string path_;
  std::vector<std::string> below_;
};

class OverlayRoot : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

}  // namespace underway::overlay
