#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "elastic/policy/forecast.hpp"
#include "elastic/policy_file.hpp"
#include "tests/support.hpp"

namespace underway::elastic {
namespace {

using namespace testing;
using ::testing::HasSubstr;

ForecastPolicy daily() {
  ForecastPolicy policy;
  policy.season = 24h;
  policy.step = 1h;
  return policy;
}

constexpr TimePoint kMidnight{std::chrono::hours{24 * 19675}};

double wanted_at(TimePoint at) {
  const auto hour = std::chrono::duration_cast<std::chrono::hours>(at.time_since_epoch()).count() % 24;
  return hour >= 9 && hour < 17 ? 20 : 2;
}

TEST(Forecast, KnowsTheDayOnceItHasSeenOne) {
  Forecast forecast;
  const ForecastPolicy policy = daily();
  EXPECT_EQ(expect(forecast, policy, kMidnight), std::nullopt);
  for (TimePoint at = kMidnight; at < kMidnight + 72h; at += 15min) observe(forecast, policy, wanted_at(at), at);
  EXPECT_NEAR(*expect(forecast, policy, kMidnight + 72h + 10h), 20, 0.1);
  EXPECT_NEAR(*expect(forecast, policy, kMidnight + 72h + 3h), 2, 0.1);
}

TEST(Forecast, FollowsWhatHasBecomeMore) {
  Forecast forecast;
  const ForecastPolicy policy = daily();
  for (TimePoint at = kMidnight; at < kMidnight + 48h; at += 1h) observe(forecast, policy, 10, at);
  for (TimePoint at = kMidnight + 48h; at < kMidnight + 58h; at += 1h) observe(forecast, policy, 16, at);
  EXPECT_GT(*expect(forecast, policy, kMidnight + 60h), 14) << "today is busier than the days before";
}

TEST(Forecast, SurvivesAClockThatIsSetAndAPauseOfDays) {
  Forecast forecast;
  const ForecastPolicy policy = daily();
  for (TimePoint at = kMidnight; at < kMidnight + 48h; at += 1h) observe(forecast, policy, 10, at);
  observe(forecast, policy, 10, kMidnight + 40h);
  observe(forecast, policy, 10, kMidnight + 4000h);
  EXPECT_NEAR(*expect(forecast, policy, kMidnight + 4001h), 10, 0.1);
  EXPECT_EQ(json::encode(json::decode_text<Forecast>(json::encode(forecast))), json::encode(forecast));
}

TEST(Forecast, ActsOnlyWhenItSavesWaitingOnTheSitesOwnTrace) {
  ForecastPolicy policy = daily();
  policy.mode = ForecastMode::act;
  Comparison better{10min, 5min, 2min, 2min, 3.0};
  EXPECT_TRUE(judge(better, policy).act);
  EXPECT_DOUBLE_EQ(judge(better, policy).saved_per_node_hour, 100);
  policy.mode = ForecastMode::shadow;
  EXPECT_FALSE(judge(better, policy).act);
  EXPECT_THAT(judge(better, policy).why, HasSubstr("not switched on"));
  policy.mode = ForecastMode::act;
  EXPECT_FALSE(judge({10min, 10min, 2min, 2min, 3.0}, policy).act) << "it saves nothing";
  EXPECT_FALSE(judge({10min, 5min, 100s, 103s, 3.0}, policy).act) << "the mean is three percent worse";
  EXPECT_TRUE(judge({10min, 5min, 100s, 101s, 3.0}, policy).act);
}

TEST(PolicyFile, IsReadWithAllOfItsErrors) {
  hcl::Diagnostics diagnostics;
  const Policy policy = parse_policy(R"(
    boot_rate = 2
    keep_alive = "10m"
    threshold {
      jobs = 3
      minutes = 5
    }
    class "small" {
      vcpus = 8
      memory = 15000
      max_nodes = 40
      cost_per_hour = 0.35
      start_time = "90s"
    }
    quota "small" { vcpus = 64 }
    budget { day = "40.50" }
  )",
                                     "policy.hcl", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  ASSERT_EQ(policy.classes.size(), 1u);
  EXPECT_EQ(policy.classes[0].hourly(), 350'000);
  EXPECT_EQ(keep_alive_of(policy, policy.classes[0]), Duration{10min});
  EXPECT_EQ(policy.thresholds.front().minutes, 5);

  hcl::Diagnostics wrong;
  parse_policy(
      "elastic {\n boot_rate = 0\n keep_alive = \"soon\"\n class \"a\" { max_nodes = -1 }\n class \"a\" { "
      "cost_per_hour = \"x\" }\n}",
      "p.hcl", wrong);
  const std::string said = wrong.render();
  for (const char* part : {"boot_rate is 0", "keep_alive is 'soon'", "class 'a': min_nodes is 0 and max_nodes -1",
                           "class 'a' is declared twice", "cost_per_hour is 'x'"})
    EXPECT_THAT(said, HasSubstr(part));
  hcl::Diagnostics json_wrong;
  EXPECT_EQ(parse_policy(R"({"class": {"a": {"max_nodes": 3}}})", "p.json", json_wrong).classes.size(), 1u)
      << json_wrong.render();
}

}  // namespace
}  // namespace underway::elastic
