#include "base/clock.hpp"

namespace underway {
namespace {

using namespace std::chrono_literals;

TEST(ParseDuration, ReadsGoSyntax) {
  struct Case {
    const char* text;
    std::optional<Duration> expect;
  };
  const std::vector<Case> cases = {{"0", 0ns},
                                   {"5s", 5s},
                                   {"1h15m30.5s", 1h + 15min + 30s + 500ms},
                                   {"300ms", 300ms},
                                   {"-1.5h", -90min},
                                   {"1us", 1us},
                                   {"1µs", 1us},
                                   {".5s", 500ms},
                                   {"", std::nullopt},
                                   {"5", std::nullopt},
                                   {"s", std::nullopt},
                                   {"5x", std::nullopt},
                                   {"9223372036s", 9223372036s},
                                   {"9223372037s", std::nullopt},
                                   {"1e9s", std::nullopt}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(parse_duration(c.text), c.expect);
  }
}

TEST(FormatDuration, PrintsWhatGoPrints) {
  EXPECT_EQ(format_duration(0ns), "0s");
  EXPECT_EQ(format_duration(90s), "1m30s");
  EXPECT_EQ(format_duration(1500ms), "1.5s");
  EXPECT_EQ(format_duration(1h), "1h0m0s");
  EXPECT_EQ(format_duration(-300ms), "-300ms");
}

TEST(FormatDuration, IsReadBackUnchanged) {
  for (const Duration d : {Duration{1ns}, Duration{1234567us}, Duration{26h + 3ms}, Duration{-15min}}) {
    EXPECT_EQ(parse_duration(format_duration(d)), d);
  }
}

TEST(FormatTime, IsRfc3339InUtc) { EXPECT_EQ(format_time(TimePoint{1'700'000'000s}), "2023-11-14T22:13:20Z"); }

}  // namespace
}  // namespace underway
