#include <sched.h>
#include <sys/mount.h>

#include "fixture.hpp"
#include "image/verified.hpp"
#include "os/mount.hpp"

namespace underway::image {
namespace {

TEST_F(Images, AreMountedFromTheFileThatWasVerifiedAndCannotBeWrittenTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
  ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  const std::string path = image();
  const auto verified = open_verified(path, trusted_, kNow);
  os::write_file(path, "something else took its name");
  os::make_directories(at("mnt"));
  auto mount = os::Mount::make(fmt::format("/proc/self/fd/{}", verified.fd()), at("mnt"), "erofs", MS_RDONLY);
  EXPECT_EQ(os::read_file(at("mnt/etc/motd")), "welcome\n");
  EXPECT_EQ(os::read_file(at("mnt/usr/bin/large")).size(), 1536U << 10);
  EXPECT_LT(::open(at("mnt/etc/motd").c_str(), O_WRONLY | O_CLOEXEC), 0);
  EXPECT_EQ(errno, EROFS);
  struct stat st{};
  ASSERT_EQ(::stat(at("mnt/etc/motd").c_str(), &st), 0);
  EXPECT_EQ(st.st_mtime, manifest().created / 1'000'000'000) << "every file has the date of the image";
  mount.unmount();
}

}  // namespace
}  // namespace underway::image
