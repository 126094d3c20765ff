#pragma once
/// @file
/// A directory that stands for a node's root.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "files/targets/disk.hpp"

namespace underway::files {

class TargetTreeTest : public ::testing::Test {
 protected:
  TargetTreeTest() {
    if (::geteuid() != 0) return;
    char name[] = "/tmp/underway-sync-XXXXXX";
    base_ = ::mkdtemp(name);
    root_ = base_ + "/root";
    std::filesystem::create_directories(root_ + "/etc");
    write("/etc/passwd", "root:x:0:0:::\nslurm:x:64030:64030:::\n");
    write("/etc/group", "root:x:0:\nslurm:x:64030:\n");
  }
  ~TargetTreeTest() override {
    if (!base_.empty()) std::filesystem::remove_all(base_);
  }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: owners are changed";
  }

  void write(const std::string& path, const std::string& bytes) { std::ofstream(root_ + path) << bytes; }
  std::string read(const std::string& path) const {
    std::ifstream in(root_ + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  struct stat status(const std::string& path) const {
    struct stat st{};
    EXPECT_EQ(::lstat((root_ + path).c_str(), &st), 0) << path;
    return st;
  }
  std::string mode(const std::string& path) const {
    const auto st = status(path);
    return fmt::format("{:04o} {}:{}", st.st_mode & 07777, st.st_uid, st.st_gid);
  }
  bool exists(const std::string& path) const {
    struct stat st{};
    return ::lstat((root_ + path).c_str(), &st) == 0;
  }
  /// Everything below a directory, by name.
  std::string names(const std::string& path) const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(root_ + path)) out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return join(out, " ");
  }

  static ManifestEntry entry(const std::string& path, const std::string& bytes) {
    ManifestEntry out;
    out.path = out.file = path;
    out.digest = hex(crypto::sha256(bytes));
    out.size = static_cast<std::int64_t>(bytes.size());
    return out;
  }

  std::string base_, root_;
};

}  // namespace underway::files
