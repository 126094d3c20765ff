#include "net/namespace.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"

namespace underway::net {
namespace {

ino_t inode_of_own() {
  struct stat status{};
  EXPECT_EQ(::stat("/proc/thread-self/ns/net", &status), 0);
  return status.st_ino;
}

std::string pin_path(const char* name) { return fmt::format("/tmp/underway-net-test-{}-{}", ::getpid(), name); }

TEST(Namespace, RunsInsideAndLeavesTheCallersAlone) {
  const auto before = inode_of_own();
  const auto made = Namespace::create("inside");
  ino_t inside = 0;
  made.run([&] { inside = inode_of_own(); });
  EXPECT_NE(inside, before);
  EXPECT_EQ(inode_of_own(), before);
}

TEST(Namespace, AnExceptionInsideComesOut) {
  const auto made = Namespace::create("inside");
  EXPECT_THROW(made.run([] { throw Error(Code::conflict, "as expected"); }), Error);
}

TEST(Namespace, APinOutlivesTheValueAndIsRemovedOnce) {
  const auto path = pin_path("pin");
  ino_t inside = 0;
  {
    const auto made = Namespace::create("pinned");
    made.pin(path);
    made.run([&] { inside = inode_of_own(); });
    EXPECT_THROW(made.pin(path), Error);
  }
  EXPECT_TRUE(is_pinned(path));
  ino_t again = 0;
  Namespace::open(path).run([&] { again = inode_of_own(); });
  EXPECT_EQ(again, inside);
  EXPECT_TRUE(unpin(path));
  EXPECT_FALSE(unpin(path));
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(Namespace, APlainFileIsRefusedByName) {
  const auto path = pin_path("plain");
  FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fclose(file);
  try {
    Namespace::open(path);
    ADD_FAILURE() << "opened a plain file as a namespace";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::invalid);
    EXPECT_NE(e.message().find(path), std::string::npos);
  }
  EXPECT_TRUE(unpin(path));
}

}  // namespace
}  // namespace underway::net
