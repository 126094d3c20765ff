#include "async/log_lines.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace underway::async {
namespace {

std::optional<log::Line> read(Loop& loop, LogLines& lines, Duration wait = std::chrono::seconds(10)) {
  return loop.run_until_done(lines.next(deadline_in(wait)));
}

TEST(LogLines, TellWhatIsLoggedFromTheirLevelOn) {
  Loop loop;
  LogLines lines(loop.executor(), log::Level::debug);
  log::debug("quiet {}", 1);
  log::warn("loud");
  EXPECT_EQ(read(loop, lines)->message, "quiet 1");
  const auto loud = read(loop, lines);
  EXPECT_EQ(loud->level, log::Level::warn);
  EXPECT_NE(log::text_of(*loud).find(" [WARN]  loud"), std::string::npos);
  EXPECT_NE(log::json_of(*loud).find(R"("@level":"warn","@message":"loud"})"), std::string::npos);
  EXPECT_FALSE(read(loop, lines, Duration{0}));
}

TEST(LogLines, LeaveTheLogAsItWasWhenTheyEnd) {
  Loop loop;
  EXPECT_FALSE(log::enabled(log::Level::debug));
  {
    const LogLines lines(loop.executor(), log::Level::debug);
    EXPECT_TRUE(log::enabled(log::Level::debug));
  }
  EXPECT_FALSE(log::enabled(log::Level::debug));
}

TEST(LogLines, KeepTheNewestAndTellHowManyAreLost) {
  Loop loop;
  LogLines lines(loop.executor(), log::Level::debug);
  for (std::size_t i = 0; i < LogLines::kMost + 3; ++i) log::debug("{}", i);
  EXPECT_EQ(read(loop, lines)->message, "3 lines were lost: they are not read fast enough");
  EXPECT_EQ(read(loop, lines)->message, "3");
}

TEST(LogLines, ComeFromOtherThreads) {
  Loop loop;
  LogLines lines(loop.executor(), log::Level::debug);
  std::thread other([] { log::debug("from afar"); });
  EXPECT_EQ(read(loop, lines)->message, "from afar");
  other.join();
}

}  // namespace
}  // namespace underway::async
