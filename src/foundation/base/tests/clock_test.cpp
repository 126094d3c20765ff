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

TEST(FormatTimeExactly, HasAsManyDecimalsAsItTakes) {
  EXPECT_EQ(format_time_exactly(TimePoint{1'700'000'000s}), "2023-11-14T22:13:20Z");
  EXPECT_EQ(format_time_exactly(TimePoint{1'700'000'000'500ms}), "2023-11-14T22:13:20.5Z");
  EXPECT_EQ(format_time_exactly(TimePoint{-1ns}), "1969-12-31T23:59:59.999999999Z");
}

TEST(ParseTime, ReadsRfc3339) {
  struct Case {
    const char* text;
    std::optional<TimePoint> expect;
  };
  const std::vector<Case> cases = {{"2023-11-14T22:13:20Z", TimePoint{1'700'000'000s}},
                                   {"2023-11-14T22:13:20.000000001Z", TimePoint{1'700'000'000s + 1ns}},
                                   {"2023-11-14T23:13:20+01:00", TimePoint{1'700'000'000s}},
                                   {"2023-11-14T19:43:20.25-02:30", TimePoint{1'700'000'000s + 250ms}},
                                   {"2024-02-29T00:00:00Z", TimePoint{1'709'164'800s}},
                                   {"2023-02-29T00:00:00Z", std::nullopt},
                                   {"2023-11-14", std::nullopt},
                                   {"2023-11-14T22:13:20", std::nullopt},
                                   {"2023-11-14T24:13:20Z", std::nullopt},
                                   {"2023-11-14T22:13:20.Z", std::nullopt},
                                   {"2023-11-14T22:13:20Zx", std::nullopt},
                                   {"9999-01-01T00:00:00Z", std::nullopt},
                                   {"0001-01-01T00:00:00Z", std::nullopt},
                                   {"", std::nullopt}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(parse_time(c.text), c.expect);
  }
}

TEST(FormatTime, IsRfc3339InUtc) { EXPECT_EQ(format_time(TimePoint{1'700'000'000s}), "2023-11-14T22:13:20Z"); }

}  // namespace
}  // namespace underway
