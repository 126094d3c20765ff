/// A real full disk: a tiny tmpfs in a mount namespace of the test's own.

#include "store/sqlite_store.hpp"

#include "temporary_directory.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>

namespace underway::store {
namespace {

namespace fs = std::filesystem;

class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a tmpfs";
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0) << errno_name(errno);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0) << errno_name(errno);
    fs::create_directory(disk());
    ASSERT_EQ(::mount("tmpfs", disk().c_str(), "tmpfs", 0, "size=4m"), 0) << errno_name(errno);
  }
  void TearDown() override { ::umount2(disk().c_str(), MNT_DETACH); }

  std::string disk() const { return directory_.path("disk"); }
  /// Takes all space that is left.
  void fill() {
    std::ofstream file(disk() + "/ballast", std::ios::binary);
    while (file << std::string(4096, 'b') << std::flush) {
    }
  }
  void make_room() { fs::remove(disk() + "/ballast"); }

 private:
  TemporaryDirectory directory_;
};

Transaction put_until_full(const std::string& key, const std::string& value) { return {{}, {Put{key, value}}, {}}; }

TEST_F(FullDisk, AcknowledgesNothingThatIsNotThereAndRecovers) {
  const std::string path = disk() + "/s.db";
  std::vector<std::string> acknowledged;
  {
    SqliteStore store(path, {.checkpoint_pages = 100});
    fill();
    std::optional<Error> refused;
    for (int i = 0; i < 1000 && !refused; ++i) {
      const std::string key = fmt::format("early{}", i);
      try {
        store.commit_and_wait(put_until_full(key, std::string(20'000, 'v')));
        acknowledged.push_back(key);
      } catch (const Error& error) {
        refused = error;
      }
    }
    ASSERT_TRUE(refused) << "4 MiB took 20 MB";
    EXPECT_EQ(refused->code(), Code::exhausted) << refused->text();
    const auto revision = store.revision();
    EXPECT_EQ(revision, static_cast<Revision>(acknowledged.size()));
    EXPECT_THROW(store.commit_and_wait(put_until_full("still", std::string(200'000, 'v'))), Error);
    make_room();
    EXPECT_EQ(store.commit_and_wait(put_until_full("late", std::string(20'000, 'v'))).revision, revision + 1);
    acknowledged.push_back("late");
  }
  SqliteStore store(path);
  EXPECT_EQ(store.range(KeyRange::prefix("")).key_values.size(), acknowledged.size());
  for (const auto& key : acknowledged) EXPECT_EQ(store.range(KeyRange::one(key)).key_values.size(), 1u) << key;
}

TEST_F(FullDisk, FillsUpByItselfAndGoesOnAfterDeletions) {
  SqliteStore store(disk() + "/s.db", {.checkpoint_pages = 100});
  Revision revision = 0;
  std::optional<Error> refused;
  for (int i = 0; i < 1000 && !refused; ++i) {
    try {
      revision = store.commit_and_wait(put_until_full(fmt::format("k{}", i), std::string(20'000, 'v'))).revision;
    } catch (const Error& error) {
      refused = error;
    }
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), Code::exhausted) << refused->text();
  EXPECT_EQ(store.range(KeyRange::prefix("k")).key_values.size(), static_cast<std::size_t>(revision));
}

TEST_F(FullDisk, SaysSoWhenItCannotBegin) {
  fill();
  try {
    const SqliteStore store(disk() + "/s.db");
    FAIL() << "it opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted) << error.text();
  }
}

TEST_F(FullDisk, SaysWhyABackupDoesNotFit) {
  SqliteStore store(disk() + "/s.db");
  for (int i = 0; i < 30; ++i) store.commit_and_wait(put_until_full(fmt::format("k{}", i), std::string(50'000, 'v')));
  fill();
  try {
    store.backup(disk() + "/copy.db");
    FAIL() << "it was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted) << error.text();
  }
  EXPECT_FALSE(fs::exists(disk() + "/copy.db"));
  EXPECT_FALSE(fs::exists(disk() + "/copy.db.partial"));
}

}  // namespace
}  // namespace underway::store
