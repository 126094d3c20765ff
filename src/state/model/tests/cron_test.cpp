#include "model/job/cron.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::model {
namespace {

TimePoint at(const std::string& text) { return parse_time(text).value(); }

std::string next(const std::string& expression, const std::string& after, const std::string& zone = "UTC") {
  const auto time = next_time({expression}, zone, at(after));
  return time ? format_time(*time) : "never";
}

TEST(Cron, FindsTheNextMoment) {
  struct Case {
    const char *expression, *after, *expect;
  };
  // 2026-11-22 is a Sunday.
  const std::vector<Case> cases = {
      {"* * * * *", "2026-11-22T10:00:00Z", "2026-11-22T10:01:00Z"},
      {"* * * * *", "2026-11-22T10:00:59.5Z", "2026-11-22T10:01:00Z"},
      {"*/15 * * * *", "2026-11-22T10:44:59Z", "2026-11-22T10:45:00Z"},
      {"*/15 * * * *", "2026-11-22T10:45:00Z", "2026-11-22T11:00:00Z"},
      {"5/20 * * * *", "2026-11-22T10:26:00Z", "2026-11-22T10:45:00Z"},
      {"0 9-17/4 * * *", "2026-11-22T13:00:00Z", "2026-11-22T17:00:00Z"},
      {"30 4 1,15 * 5", "2026-11-22T00:00:00Z", "2026-11-27T04:30:00Z"},  // either day will do
      {"0 0 31 * *", "2026-11-22T00:00:00Z", "2026-12-31T00:00:00Z"},
      {"0 0 29 2 *", "2026-11-22T00:00:00Z", "2028-02-29T00:00:00Z"},
      {"0 0 1 JAN *", "2026-11-22T00:00:00Z", "2027-01-01T00:00:00Z"},
      {"0 0 ? feb,December mon-Fri", "2026-11-22T00:00:00Z", "2026-12-01T00:00:00Z"},
      {"0 0 * * 7", "2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z"},
      {"0 0 * * 5-7", "2026-11-22T00:00:00Z", "2026-11-27T00:00:00Z"},
      {"0 0 L * *", "2026-11-22T00:00:00Z", "2026-11-30T00:00:00Z"},
      {"0 0 l 2 *", "2026-11-22T00:00:00Z", "2027-02-28T00:00:00Z"},
      {"0 0 15W * *", "2026-07-22T00:00:00Z", "2026-08-14T00:00:00Z"},  // the 15th is a Saturday
      {"0 0 1W * *", "2026-07-22T00:00:00Z", "2026-08-03T00:00:00Z"},   // the 1st too, and July is another month
      {"0 0 31W * *", "2027-01-20T00:00:00Z", "2027-01-29T00:00:00Z"},  // the 31st is a Sunday
      {"0 0 LW * *", "2026-10-20T00:00:00Z", "2026-10-30T00:00:00Z"},   // the 31st is a Saturday
      {"0 0 * * 5L", "2026-11-22T00:00:00Z", "2026-11-27T00:00:00Z"},
      {"0 0 * * friL", "2026-11-27T00:00:00Z", "2026-12-25T00:00:00Z"},
      {"0 0 * * TUE#2", "2026-11-22T00:00:00Z", "2026-12-08T00:00:00Z"},
      {"0 0 * * 1#5", "2026-11-22T00:00:00Z", "2026-11-30T00:00:00Z"},
      {"0 12 * * * 2030", "2026-11-22T00:00:00Z", "2030-01-01T12:00:00Z"},
      {"*/15 * * * * 2026", "2026-11-22T10:00:00Z", "2026-11-22T10:15:00Z"},  // six fields have no seconds
      {"*/10 * * * * * *", "2026-11-22T10:00:00Z", "2026-11-22T10:00:10Z"},
      {"59 59 23 31 12 * 2098-2099", "2026-11-22T10:00:00Z", "2098-12-31T23:59:59Z"},
      {"0 0 30 2 *", "2026-11-22T00:00:00Z", "never"},
      {"* * * * * 1980", "2026-11-22T00:00:00Z", "never"},
      {"@hourly", "2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z"},
      {"@daily", "2026-11-22T10:00:00Z", "2026-11-23T00:00:00Z"},
      {"@weekly", "2026-11-22T10:00:00Z", "2026-11-29T00:00:00Z"},
      {"@monthly", "2026-11-22T10:00:00Z", "2026-12-01T00:00:00Z"},
      {"@YEARLY", "2026-11-22T10:00:00Z", "2027-01-01T00:00:00Z"},
      {"@annually", "2026-11-22T10:00:00Z", "2027-01-01T00:00:00Z"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.expression);
    EXPECT_EQ(next(c.expression, c.after), c.expect);
  }
}

TEST(Cron, RefusesWhatItCannotMean) {
  for (const char* text : {"",
                           "*",
                           "* * * *",
                           "* * * * * * * *",
                           "60 * * * *",
                           "* 24 * * *",
                           "* * 0 * *",
                           "* * 32 * *",
                           "* * * 13 *",
                           "* * * * 8",
                           "* * * * * 1969",
                           "* * * * * 2100",
                           "5-1 * * * *",
                           "*/0 * * * *",
                           "*/60 * * * *",
                           "a * * * *",
                           "1,,2 * * * *",
                           "-1 * * * *",
                           "1- * * * *",
                           "* * 0W * *",
                           "* * W * *",
                           "* * * * L",
                           "* * * * 1#6",
                           "* * * * #1",
                           "@every 5m",
                           "@reboot",
                           "1.5 * * * *",
                           "99999999999 * * * *"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(Cron::parse(text), Error);
  }
  EXPECT_THROW(Cron::parse(std::string(5000, '*')), Error);
}

TEST(Cron, SkipsWhatTheClocksSkipInSpring) {
  // New York, 2027-03-14: 2:00 is 3:00.
  const std::string zone = "America/New_York";
  EXPECT_EQ(next("30 2 * * *", "2027-03-13T07:30:00Z", zone), "2027-03-15T06:30:00Z");
  EXPECT_EQ(next("*/30 * * * *", "2027-03-14T06:30:00Z", zone), "2027-03-14T07:00:00Z");  // 1:30, then 3:00
  EXPECT_EQ(next("0 3 * * *", "2027-03-13T12:00:00Z", zone), "2027-03-14T07:00:00Z");
}

TEST(Cron, ComesTwiceInTheHourThatIsRepeatedInAutumn) {
  // New York, 2026-11-01: 2:00 is 1:00.
  const std::string zone = "America/New_York";
  EXPECT_EQ(next("30 1 * * *", "2026-10-31T12:00:00Z", zone), "2026-11-01T05:30:00Z");
  EXPECT_EQ(next("30 1 * * *", "2026-11-01T05:30:00Z", zone), "2026-11-01T06:30:00Z");
  EXPECT_EQ(next("30 1 * * *", "2026-11-01T06:30:00Z", zone), "2026-11-02T06:30:00Z");
  EXPECT_EQ(next("30 1 1 * *", "2026-11-01T05:45:00Z", zone), "2026-11-01T06:30:00Z");
  EXPECT_EQ(next("30 1 1 11 * 2026", "2026-11-01T05:45:00Z", zone), "2026-11-01T06:30:00Z");
}

TEST(Cron, TheLastMomentOfASpanIsFoundHoweverLongItIs) {
  const auto last = [](std::vector<std::string> expressions, const std::string& after, const std::string& until) {
    const auto time = last_time(expressions, "UTC", at(after), at(until));
    return time ? format_time(*time) : "none";
  };
  EXPECT_EQ(last({"* * * * * * *"}, "2000-01-01T00:00:00Z", "2026-11-22T10:00:07Z"), "2026-11-22T10:00:07Z");
  EXPECT_EQ(last({"0 5 * * *"}, "2026-11-01T05:00:00Z", "2026-11-22T04:59:59Z"), "2026-11-21T05:00:00Z");
  EXPECT_EQ(last({"0 5 * * *"}, "2026-11-22T05:00:00Z", "2026-11-23T04:59:59Z"), "none");
  EXPECT_EQ(last({"0 5 * * *", "30 4 * * *"}, "2026-11-21T00:00:00Z", "2026-11-21T04:40:00Z"), "2026-11-21T04:30:00Z");
  EXPECT_EQ(last({"0 5 * * *", "30 4 * * *"}, "2026-11-21T00:00:00Z", "2026-11-21T06:40:00Z"), "2026-11-21T05:00:00Z");
}

TEST(Cron, TheFirstOfSeveralExpressionsCounts) {
  EXPECT_EQ(format_time(*next_time({"*/7 * * * *", "*/5 * * * *"}, "UTC", at("2026-11-22T10:00:00Z"))),
            "2026-11-22T10:05:00Z");
}

}  // namespace
}  // namespace underway::model
