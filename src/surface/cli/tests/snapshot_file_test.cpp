#include "cli/snapshot_file.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/archive.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

/// Archives in the documented shape: meta.json, the state, and the sums of both.
class Snapshots : public testing::Test {
 protected:
  Snapshots() : directory_(fmt::format("/tmp/underway-snapshot-{}", ::getpid())) {
    std::filesystem::create_directories(directory_);
  }
  ~Snapshots() override { std::filesystem::remove_all(directory_); }

  static std::string sum(const std::string& bytes, const std::string& name) {
    return hex(crypto::sha256(bytes)) + "  " + name + "\n";
  }
  std::string write(const std::string& sums, const std::string& state = "the state") const {
    const std::string path = directory_ + "/a.snap";
    std::filesystem::remove(path);
    ArchiveWriter archive(path);
    archive.add("meta.json", kMeta);
    archive.add("state.bin", state);
    if (!sums.empty()) archive.add("SHA256SUMS", sums);
    archive.close();
    return path;
  }
  std::string good() const { return write(sum(kMeta, "meta.json") + sum("the state", "state.bin")); }
  static std::string refusal(const std::string& path) {
    try {
      inspect_snapshot(path);
    } catch (const Error& error) {
      return error.text();
    }
    return {};
  }

  static constexpr const char* kMeta = R"({"ID": "10-215871", "Index": 215871, "Term": 10, "Version": 1})";
  std::string directory_;
};

TEST_F(Snapshots, AreReadToTheirEnd) {
  const auto found = inspect_snapshot(good());
  EXPECT_EQ(found.meta.at("Index").as_int64(), 215871);
  ASSERT_EQ(found.files.size(), 3u);
  EXPECT_EQ(found.files[1], (std::pair<std::string, std::int64_t>("state.bin", 9)));
  EXPECT_GT(found.created, 0);
}

TEST_F(Snapshots, ThatAreNotWhatTheirSumsSayAreRefused) {
  const std::string sums = sum(kMeta, "meta.json") + sum("the state", "state.bin");
  EXPECT_NE(refusal(write(sums, "the stare")).find("'state.bin' is not what its sum says"), std::string::npos);
  EXPECT_NE(refusal(write(sums + sum("x", "more.bin"))).find("'more.bin' is missing"), std::string::npos);
  EXPECT_NE(refusal(write("")).find("no SHA256SUMS"), std::string::npos);
}

TEST_F(Snapshots, ThatWereCutShortAreRefused) {
  const std::string path = good();
  const std::string whole = os::read_file(path);
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, whole.size() / 2, whole.size() - 20}) {
    SCOPED_TRACE(length);
    os::write_file(path, whole.substr(0, length));
    EXPECT_FALSE(refusal(path).empty());
  }
  EXPECT_FALSE(refusal(directory_ + "/none").empty());
}

}  // namespace
}  // namespace underway::cli
