#include "model/job/cron.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

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

TEST(TimeZone, KnowsThePastAndTheYearsToComeByItsRule) {
  const auto zurich = get_time_zone("Europe/Zurich");
  EXPECT_EQ(zurich->at(unix_nanos(at("2026-07-01T00:00:00Z")) / 1'000'000'000).offset, 7200);
  EXPECT_EQ(zurich->at(unix_nanos(at("2026-12-01T00:00:00Z")) / 1'000'000'000).offset, 3600);
  // Beyond 2037 there is the rule alone.
  const auto summer = zurich->at(unix_nanos(at("2080-07-01T00:00:00Z")) / 1'000'000'000);
  EXPECT_EQ(summer.offset, 7200);
  EXPECT_EQ(format_time(from_unix_nanos(summer.until * 1'000'000'000)), "2080-10-27T01:00:00Z");
  EXPECT_EQ(zurich->at(unix_nanos(at("2080-12-24T00:00:00Z")) / 1'000'000'000).offset, 3600);
}

TEST(TimeZone, RulesOfPosixAreRead) {
  const auto rule = parse_zone_rule("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0");
  ASSERT_TRUE(rule && rule->summer);
  EXPECT_EQ(rule->offset, 37800);
  EXPECT_EQ(rule->summer->offset, 39600);
  EXPECT_EQ(rule->summer->end.month, 4);
  ASSERT_TRUE(parse_zone_rule("UTC0"));
  ASSERT_TRUE(parse_zone_rule("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1"));
  EXPECT_EQ(parse_zone_rule("IST-1GMT0,M10.5.0,M3.5.0/1")->summer->offset, 0);
  ASSERT_TRUE(parse_zone_rule("XXX3EDT4,0/0,J365/23"));
  for (const char* text : {"", "UT", "UTC", "UTC0DST", "UTC0DST,M3.5.0", "UTC0DST,M13.5.0,M1.1.0", "UTC25",
                           "UTC0DST,M3.5.0,M10.5.0x", "<+1", "UTC0DST,J366,J1"})
    EXPECT_FALSE(parse_zone_rule(text)) << text;
}

TEST(TimeZone, NamesThatAreNoneAreRefused) {
  for (const char* name : {"Europe/Nowhere", "../../etc/passwd", "/etc/passwd", "Europe", "Europe/Zürich", "tzdata.zi"})
    EXPECT_THROW(get_time_zone(name), Error) << name;
  EXPECT_EQ(get_time_zone("UTC")->at(0).offset, 0);
}

TEST(TimeZone, FilesThatAreBrokenAreRefused) {
  std::ifstream in("/usr/share/zoneinfo/Europe/Zurich", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  ASSERT_GT(whole.size(), 100u);
  for (std::size_t size = 0; size < whole.size() - 40; size += 7)
    EXPECT_THROW(TimeZone::parse(whole.substr(0, size)), Error) << size;
  EXPECT_THROW(TimeZone::parse(std::string(1U << 20, 'T')), Error);
}

}  // namespace
}  // namespace underway::model
