#pragma once
/// @file
/// A pool in a directory for a test, and children that do something in it and may be killed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"
#include "pool/pool.hpp"

namespace underway::pool {

inline constexpr Duration kHour = std::chrono::hours(1);

/// The error's text when `body` throws one.
template <class Body>
std::string failure_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.text();
  }
  return "no failure";
}

inline Digest digest_of(std::string_view bytes) { return digest_of_sha256(crypto::sha256(bytes)); }

/// What a child does, which ends with it.
template <class Body>
pid_t in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
    ::_exit(1);
  }
  ::_exit(0);
}
inline int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

class Pools : public testing::Test {
 protected:
  /// Below `base`: in memory, where that is there, as 256 directories are made and removed for each test.
  explicit Pools(const std::string& base = "/dev/shm") {
    directory_ = (::access(base.c_str(), W_OK) == 0 ? base : "/tmp") + "/underway-test-XXXXXX";
    if (!::mkdtemp(directory_.data())) throw errno_error(errno, "cannot make a directory");
  }
  ~Pools() override { os::remove_tree(directory_); }

  std::string at(const std::string& name) const { return directory_ + "/" + name; }
  Pool pool(Limits limits = {.reserve = 0}) const { return Pool(at("pool"), limits); }
  static std::string text_of(const os::Fd& file) { return os::read_all(file, 1U << 30, "a file"); }
  std::size_t parts() const { return os::list_directory(at("pool/incoming")).size(); }
  static std::uint64_t inode_of(const std::string& path) {
    struct stat st{};
    EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
    return st.st_ino;
  }
  /// Every name is of what it says.
  void expect_sound(const Pool& p) const {
    const auto findings = p.fsck();
    EXPECT_TRUE(findings.complete);
    for (const auto& damage : findings.damages) ADD_FAILURE() << damage.name << ": " << damage.reason;
  }

  std::string directory_;
};

/// On a disk.
class PoolsOnDisk : public Pools {
 protected:
  PoolsOnDisk() : Pools("/tmp") {}
};

}  // namespace underway::pool
