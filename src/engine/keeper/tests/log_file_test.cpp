#include "keeper/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keeper/client.hpp"
#include "os/file.hpp"

namespace underway::keeper {
namespace {

class LogFileTest : public testing::Test {
 protected:
  LogFileTest() {
    char name[] = "/tmp/underway-test-XXXXXX";
    path_ = ::mkdtemp(name);
    directory_ = os::open_directory(path_);
  }
  ~LogFileTest() override {
    log_.close();
    os::remove_tree(path_);
  }
  void begin(std::uint32_t index, std::uint32_t files, std::uint64_t bytes) {
    log_.begin(directory_.get(), "web.stdout", index, files, bytes);
  }
  std::size_t write(std::string_view text) { return log_.write(text.data(), text.size()); }
  std::string file(int index) const {
    return os::find_file(fmt::format("{}/web.stdout.{}", path_, index)).value_or("-");
  }

  std::string path_;
  os::Fd directory_;
  LogFile log_;
};

TEST_F(LogFileTest, StartsTheNextFileAtTheEndOfALineAndForgetsTheOldest) {
  begin(0, 2, 10);
  EXPECT_EQ(write("one\ntwo\nthree\n"), 0U);
  EXPECT_EQ(file(0), "one\ntwo\n");
  EXPECT_EQ(file(1), "three\n");
  EXPECT_EQ(write("four\nfive\n"), 0U);
  EXPECT_EQ(file(0), "-");
  EXPECT_EQ(file(2), "four\nfive\n");
}

TEST_F(LogFileTest, CutsALineThatNoFileCouldHold) {
  begin(0, 10, 4);
  EXPECT_EQ(write("abcdefghij"), 0U);
  EXPECT_EQ(file(0) + file(1) + file(2), "abcdefghij");
  EXPECT_EQ(file(0), "abcd");
}

TEST_F(LogFileTest, LosesNoByteHoweverTheOutputIsChopped) {
  std::string all;
  begin(0, 1000, 100);
  for (int i = 0; i < 400; ++i) {
    const std::string part = std::string(static_cast<std::size_t>(i % 37), 'a') + (i % 3 == 0 ? "\n" : "");
    all += part;
    ASSERT_EQ(write(part), 0U);
  }
  std::string read;
  for (int i = 0; file(i) != "-"; ++i) {
    EXPECT_LE(file(i).size(), 100U);
    read += file(i);
  }
  EXPECT_EQ(read, all);
}

TEST_F(LogFileTest, IsThereBeforeAnythingIsWritten) {
  begin(0, 10, 100);
  EXPECT_EQ(file(0), "");
  write("first run\n");
  begin(0, 10, 100);
  EXPECT_EQ(file(0), "first run\n") << "nothing of an earlier run is lost";
}

TEST_F(LogFileTest, GoesOnInTheLastFileOfAnEarlierRun) {
  begin(0, 10, 100);
  write("first run\n");
  log_.close();
  os::write_file(path_ + "/web.stdout.junk", "");
  os::write_file(path_ + "/web.stderr.9", "");
  EXPECT_EQ(last_log_index(path_, "web.stdout"), 0U);
  begin(last_log_index(path_, "web.stdout"), 10, 100);
  write("second run\n");
  EXPECT_EQ(file(0), "first run\nsecond run\n");
  EXPECT_EQ(last_log_index(path_ + "/none", "web.stdout"), 0U);
}

TEST_F(LogFileTest, NeverWritesThroughWhatTheTaskPutInItsPlace) {
  os::write_file(path_ + "/precious", "untouched");
  ASSERT_EQ(::symlink("precious", (path_ + "/web.stdout.0").c_str()), 0);
  ASSERT_EQ(::mkfifo((path_ + "/web.stdout.1").c_str(), 0600), 0);
  ASSERT_EQ(::link((path_ + "/precious").c_str(), (path_ + "/web.stdout.2").c_str()), 0);
  begin(0, 10, 4);
  EXPECT_EQ(write("abcdefghijkl"), 0U);
  EXPECT_EQ(os::read_file(path_ + "/precious"), "untouched");
  EXPECT_EQ(file(0) + file(1) + file(2), "abcdefghijkl");
}

TEST_F(LogFileTest, CountsWhatCannotBeWrittenAndGoesOnWhenItCan) {
  ASSERT_EQ(::mkdir((path_ + "/web.stdout.0").c_str(), 0700), 0);
  begin(0, 10, 100);
  EXPECT_EQ(write("lost\n"), 5U);
  ASSERT_EQ(::rmdir((path_ + "/web.stdout.0").c_str()), 0);
  EXPECT_EQ(write("kept\n"), 0U);
  EXPECT_EQ(file(0), "kept\n");
}

}  // namespace
}  // namespace underway::keeper
