#include "zone/time_zone.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace underway::zone {
namespace {

std::int64_t seconds_of(const std::string& time) { return unix_nanos(parse_time(time).value()) / 1'000'000'000; }

TEST(TimeZone, KnowsThePastAndTheYearsToComeByItsRule) {
  const auto zurich = get_time_zone("Europe/Zurich");
  EXPECT_EQ(zurich.at(seconds_of("2026-07-01T00:00:00Z")).offset, 7200);
  EXPECT_EQ(zurich.at(seconds_of("2026-12-01T00:00:00Z")).offset, 3600);
  // Beyond 2037 there is the rule alone.
  const auto summer = zurich.at(seconds_of("2080-07-01T00:00:00Z"));
  EXPECT_EQ(summer.offset, 7200);
  EXPECT_EQ(format_time(from_unix_nanos(summer.until * 1'000'000'000)), "2080-10-27T01:00:00Z");
  EXPECT_EQ(zurich.at(seconds_of("2080-12-24T00:00:00Z")).offset, 3600);
}

TEST(TimeZone, RulesOfPosixAreFollowed) {
  struct Case {
    const char *name, *rule, *time;
    std::int64_t offset;
    const char* abbreviation;
  };
  const std::vector<Case> cases = {
      {"Australia/Lord_Howe", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2080-01-01T00:00:00Z", 39600, "+11"},
      {"Australia/Lord_Howe", "half an hour of summer time", "2080-07-01T00:00:00Z", 37800, "+1030"},
      {"America/Nuuk", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0: an hour before midnight", "2080-03-31T00:59:59Z", -7200,
       "-02"},
      {"America/Nuuk", "the same", "2080-03-31T01:00:00Z", -3600, "-01"},
      {"Europe/Dublin", "IST-1GMT0,M10.5.0,M3.5.0/1: winter is what is set", "2080-01-01T00:00:00Z", 0, "GMT"},
      {"Europe/Dublin", "the same", "2080-07-01T00:00:00Z", 3600, "IST"},
      {"Asia/Kolkata", "IST-5:30", "2080-07-01T00:00:00Z", 19800, "IST"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.name) + ", " + c.rule);
    const auto shown = get_time_zone(c.name).at(seconds_of(c.time));
    EXPECT_EQ(shown.offset, c.offset);
    EXPECT_EQ(shown.abbreviation, c.abbreviation);
  }
}

TEST(TimeZone, ClocksThatAreSetForwardAndBackDoSoAtTheMomentThatIsTold) {
  const auto new_york = get_time_zone("America/New_York");
  const auto winter = new_york.at(seconds_of("2027-01-01T00:00:00Z"));
  EXPECT_EQ(winter.until, seconds_of("2027-03-14T07:00:00Z"));
  EXPECT_EQ(new_york.at(winter.until - 1).offset, -18000);
  const auto summer = new_york.at(winter.until);
  EXPECT_EQ(summer.offset, -14400);
  EXPECT_EQ(summer.until, seconds_of("2027-11-07T06:00:00Z"));
  EXPECT_EQ(new_york.at(summer.until).offset, -18000);
}

TEST(TimeZone, ManyYearsAwayIsNoMatter) {
  const auto zurich = get_time_zone("Europe/Zurich");
  for (const std::int64_t time : {std::numeric_limits<std::int64_t>::min(), -62'135'596'800L, 1'000'000'000'000L,
                                  std::numeric_limits<std::int64_t>::max()})
    EXPECT_LE(std::abs(zurich.at(time).offset), 7200) << time;
  EXPECT_EQ(zurich.at(-62'135'596'800).abbreviation, "LMT");
}

TEST(TimeZone, NamesThatAreNoneAreRefused) {
  for (const char* name :
       {"Europe/Nowhere", "../../etc/passwd", "/etc/passwd", "Europe", "Europe/Zürich", "tzdata.zi"}) {
    EXPECT_THROW(get_time_zone(name), Error) << name;
    EXPECT_FALSE(find_time_zone(name)) << name;
  }
  EXPECT_EQ(get_time_zone("UTC").at(0).offset, 0);
  EXPECT_EQ(get_time_zone("").at(0).abbreviation, "UTC");
  EXPECT_EQ(get_time_zone("UTC").at(0).until, TimeZone::kNever);
}

class BrokenZone : public testing::Test {
 protected:
  BrokenZone() { std::filesystem::create_directories(directory_); }
  ~BrokenZone() override { std::filesystem::remove_all(directory_); }
  bool is_read(const std::string& name, const std::string& bytes) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return TimeZone::find(path).has_value();
  }
  std::string directory_ = testing::TempDir() + "underway-zones-" + std::to_string(::getpid());
};

TEST_F(BrokenZone, IsRefused) {
  std::ifstream in("/usr/share/zoneinfo/Europe/Zurich", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  ASSERT_GT(whole.size(), 100U);
  EXPECT_TRUE(is_read("whole", whole));
  for (std::size_t size = 0; size < whole.size() - 40; size += 7)
    EXPECT_FALSE(is_read(std::to_string(size), whole.substr(0, size))) << size;
  EXPECT_FALSE(is_read("large", std::string(1U << 20, 'T')));
}

}  // namespace
}  // namespace underway::zone
