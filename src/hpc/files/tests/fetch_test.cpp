// Large files on their way to a node, over links that break and with bytes that are not what they should be.
#include <fcntl.h>

#include "base/error.hpp"
#include "tests/extension.hpp"

namespace underway::files {
namespace {

using ::testing::HasSubstr;

std::string fetched_digest(const std::string& bytes) { return hex(crypto::sha256(bytes)); }

class FetchTest : public ExtensionTest {
 protected:
  FetchTest() {
    for (int line = 0; bytes_.size() < (6U << 20); ++line) bytes_ += fmt::format("a line of a large file, {}\n", line);
  }
  std::string incoming() const { return base_ + "/data/files/node/incoming"; }
  std::string part() const { return incoming() + "/" + fetched_digest(bytes_) + ".part"; }
  std::size_t received() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(part(), none);
    return none ? 0 : size;
  }
  std::string left_over() const {
    std::string out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(base_)) {
      const auto name = entry.path().filename().string();
      if (name.ends_with(".part") || name.ends_with(".underway") || name.starts_with("bytes-")) out += name + " ";
    }
    return out;
  }
  void put_large() {
    auto large = file("/opt/large", bytes_);
    large.mode = "0640";
    large.xattrs = {{"user.origin", "master"}};
    put({large});
  }

  std::string bytes_;
};

TEST_F(FetchTest, ALargeFileArrivesWhole) {
  put_large();
  wait_for("/opt/large", bytes_);
  wait_until_synced();
  EXPECT_EQ(left_over(), "");
}

TEST_F(FetchTest, ABrokenLinkLeavesNoHalfFileAndTheRestFollows) {
  put_into("hpc", {file("/etc/first", "x")});
  wait_for("/etc/first", "x");
  put_large();
  server::testing::run_until(loop, [&] { return received() >= (2U << 20); });
  ASSERT_LT(received(), bytes_.size()) << "it is too late to break the link";
  node_->cut();
  server::testing::run_until(loop, [&] { return !server.linked(node_->id()); });
  EXPECT_EQ(read("/opt/large"), "not there");
  // The agent dies too; what came stays.
  stop();
  const auto had = received();
  EXPECT_GE(had, 2U << 20);
  loop.run_until_done(node_->join());
  start();
  server::testing::run_until(loop, [&] { return received() != had; });
  EXPECT_TRUE(received() > had || received() == 0) << "what came is not fetched again: " << received();
  wait_for("/opt/large", bytes_);
  wait_until_synced();
  EXPECT_EQ(left_over(), "");
}

TEST_F(FetchTest, BytesThatAreNotWhatTheManifestNamesAreThrownAwayAndFetchedAnew) {
  stop();
  os::make_directories(incoming(), 0700);
  os::write_file(part(), std::string(1000, 'x'), 0600);
  put_large();
  start();
  server::testing::run_until(loop, [&] { return received() == 0; });
  EXPECT_EQ(read("/opt/large"), "not there");
  extension_->wake();
  wait_for("/opt/large", bytes_);
  wait_until_synced();
  EXPECT_EQ(left_over(), "");
}

TEST_F(FetchTest, BytesThatTheDiskChangedAreNotPutInPlace) {
  os::write_file(base_ + "/wrong", "other bytes", 0600);
  ManifestEntry entry;
  entry.path = "/etc/a";
  entry.digest = fetched_digest("the bytes");
  entry.size = 9;
  const NodeTarget target(base_ + "/root");
  TargetTree tree(target);
  const auto wrong = os::open_file(base_ + "/wrong", O_RDONLY);
  EXPECT_THAT(refusal([&] { tree.make({entry, Action::create, "", false}, wrong); }),
              HasSubstr("are not those that the manifest names any more"));
  EXPECT_EQ(read("/etc/a"), "not there");
  EXPECT_EQ(left_over(), "");
}

TEST_F(FetchTest, WhatIsNotWantedAnyMoreGoes) {
  Incoming incoming_files(incoming());
  incoming_files.append(fetched_digest("a"), 0, "half");
  incoming_files.append(fetched_digest("b"), 0, "b");
  EXPECT_THAT(refusal([&] { incoming_files.append(fetched_digest("a"), 1, "gap"); }), HasSubstr("do not follow"));
  incoming_files.finish(fetched_digest("b"), 1);
  EXPECT_TRUE(incoming_files.is_whole(fetched_digest("b")));
  EXPECT_THAT(refusal([&] { incoming_files.finish(fetched_digest("a"), 4); }),
              HasSubstr("not those that its manifest names"));
  EXPECT_EQ(incoming_files.received(fetched_digest("a")), 0);
  incoming_files.keep_only({});
  EXPECT_TRUE(std::filesystem::is_empty(incoming()));
}

}  // namespace
}  // namespace underway::files
