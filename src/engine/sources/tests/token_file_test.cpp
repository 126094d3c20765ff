// The site's tokens: files that nobody else may read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>

#include "base/error.hpp"
#include "os/file.hpp"
#include "sources/environment.hpp"
#include "sources/settings.hpp"

namespace underway::sources {
namespace {

class Directory {
 public:
  Directory() { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
  ~Directory() { os::remove_tree(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/underway-token-XXXXXX";
};

std::string refusal(const std::string& path) {
  try {
    read_token_file(path);
    return "taken";
  } catch (const Error& error) {
    return error.text();
  }
}

TEST(TokenFile, IsReadWhenItsOwnerAloneMay) {
  const Directory directory;
  const std::string path = directory.path() + "/token";
  os::write_file(path, "  s.abc\n", 0600);
  EXPECT_EQ(read_token_file(path), "s.abc");
  for (const mode_t mode : {0640, 0604, 0660}) {
    ::chmod(path.c_str(), mode);
    EXPECT_THAT(refusal(path), ::testing::HasSubstr("chmod 0600"));
    EXPECT_THAT(refusal(path), ::testing::Not(::testing::HasSubstr("s.abc")));
  }
}

TEST(TokenFile, HoldsOneToken) {
  const Directory directory;
  const std::string path = directory.path() + "/token";
  for (const char* text : {"", "two words", "line\nline"}) {
    os::write_file(path, text, 0600);
    EXPECT_THAT(refusal(path), ::testing::HasSubstr("holds no token"));
  }
  EXPECT_THAT(refusal(directory.path()), ::testing::HasSubstr("is not used"));
  EXPECT_THAT(refusal(directory.path() + "/none"), ::testing::HasSubstr("cannot read the token file"));
}

TEST(Allow, NamesArePutInAsTheyAre) {
  const Asker star{.ns = "default", .job_id = "a*"}, plain{.ns = "default", .job_id = "a"};
  EXPECT_TRUE(is_allowed("secret/a/key", {"secret/${job}/*"}, plain));
  EXPECT_FALSE(is_allowed("secret/ab", {"secret/${job}"}, star)) << "a job's name is no pattern";
  EXPECT_TRUE(is_allowed("secret/a*", {"secret/${job}"}, star));
}

}  // namespace
}  // namespace underway::sources
