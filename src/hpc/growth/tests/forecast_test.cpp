// What a forecast would have been worth, and hosts that are there before anybody asks.
#include "growth/forecast/trial.hpp"

#include <gmock/gmock.h>

#include "base/json/json.hpp"
#include "growth/look.hpp"
#include "server/testing/desk.hpp"

namespace underway::growth {
namespace {

using model::ForecastMode;
using std::chrono::hours;
using std::chrono::minutes;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr TimePoint kMidnight{hours(24 * 20'000)};
constexpr const char* kHeader = "JobID|Submit|Start|End|ElapsedRaw|Timelimit|Partition|NNodes|NCPUS|ReqMem|State\n";

std::string moment(TimePoint at) { return format_time(at).substr(0, 19); }

/// One of an hour, on one node.
std::string line(int id, TimePoint submit, const std::string& partition = "batch") {
  return fmt::format("{}|{}|{}|{}|3600|02:00:00|{}|1|4|1000M|COMPLETED\n", id, moment(submit), moment(submit),
                     moment(submit + hours(1)), partition);
}

/// Twenty jobs at nine o'clock of each day.
elastic::Trace mornings(int days, const std::string& partition = "batch") {
  std::string text = kHeader;
  for (int day = 0; day < days; ++day) {
    for (int i = 0; i < 20; ++i) text += line(100 * day + i, kMidnight + hours(24 * day + 9), partition);
  }
  elastic::Trace out;
  add_past_jobs(out, text);
  return out;
}

class Forecasting : public testing::Test {
 protected:
  Forecasting() {
    facts_.name = "tide";
    facts_.memory.cluster = "tide";
    facts_.policy.forecast.mode = ForecastMode::act;
    PoolFacts pool;
    pool.type.name = "compute";
    pool.type.vcpus = 4;
    pool.type.memory_mb = 1000;
    pool.type.max_nodes = 30;
    pool.type.start_time = minutes(5);
    pool.type.partitions = {"batch"};
    pool.hosts = {.cluster = "tide", .pool = "compute"};
    for (int i = 1; i <= 30; ++i) pool.all_names.push_back("c" + std::to_string(i));
    facts_.pools.push_back(pool);
  }
  ForecastTrial tried(elastic::Trace trace, int days) {
    return try_forecast(facts_, {}, std::move(trace), kMidnight + hours(24 * days));
  }
  Outlook look(TimePoint now) { return think(facts_, {}, {}, now, minutes(1)); }
  std::size_t wanted(const Outlook& out) { return out.pools.empty() ? 0 : out.pools.front().hosts.size(); }

  ClusterFacts facts_;
};

TEST_F(Forecasting, ActsWhereTheDaysAreAlike) {
  const auto trial = tried(mornings(12), 12);
  EXPECT_TRUE(trial.act) << trial.why;
  EXPECT_EQ(trial.jobs, 240);
  EXPECT_EQ(json::decode_text<ForecastTrial>(json::encode(trial)).of, trial_digest(facts_)) << "it is written down";
  EXPECT_THAT(trial.why, HasSubstr("it helps"));
  facts_.trial = trial;
  EXPECT_EQ(wanted(look(kMidnight + hours(24 * 12 + 4))), 0U) << "it is night";
  const auto out = look(kMidnight + hours(24 * 12 + 8) + minutes(56));
  EXPECT_EQ(wanted(out), 10U) << "as many boots at once as the policy allows";
  EXPECT_THAT(out.status.lines, Contains(HasSubstr("forecast acts: of 240 jobs in 11d0h")));
  EXPECT_THAT(out.status.lines, Contains(HasSubstr("pool 'compute' keeps 20 idle for what is expected")));
}

TEST_F(Forecasting, InShadowSaysWhatItWouldDoAndDoesNothing) {
  facts_.policy.forecast.mode = ForecastMode::shadow;
  const auto trial = tried(mornings(12), 12);
  EXPECT_FALSE(trial.act);
  EXPECT_THAT(trial.why, HasSubstr("it would help, and is not switched on"));
  facts_.trial = trial;
  const auto out = look(kMidnight + hours(24 * 12 + 8) + minutes(56));
  EXPECT_EQ(wanted(out), 0U);
  EXPECT_THAT(out.status.lines, Contains(HasSubstr("forecast stays in shadow")));
}

TEST_F(Forecasting, IsNotBelievedOfAnotherPolicyOrLongAfterItsTrial) {
  facts_.trial = tried(mornings(12), 12);
  const auto morning = hours(8) + minutes(56);
  EXPECT_GT(wanted(look(kMidnight + hours(24 * 12) + morning)), 0U);
  EXPECT_EQ(wanted(look(kMidnight + hours(24 * 15) + morning)), 0U) << "its trial is three days old";
  facts_.pools[0].type.start_time = minutes(6);
  EXPECT_EQ(wanted(look(kMidnight + hours(24 * 12) + morning)), 0U) << "it was tried with another start time";
}

TEST_F(Forecasting, NeedsThreeSeasonsOfJobsThatItsPoolsServe) {
  EXPECT_THAT(tried(mornings(3), 3).why, HasSubstr("has 60 jobs of 2d0h, and three seasons of 1d0h are the least"));
  const auto others = tried(mornings(12, "gpu"), 12);
  EXPECT_FALSE(others.act);
  EXPECT_THAT(others.why, HasSubstr("has 0 jobs of 0ms"));
  EXPECT_TRUE(tried(mornings(12, "gpu,batch"), 12).act);
}

TEST_F(Forecasting, DoesNotHaveOthersSleepForWorkThatMayNotCome) {
  facts_.pools[0].type.urgent = true;
  facts_.trial = tried(mornings(12), 12);
  EXPECT_EQ(wanted(look(kMidnight + hours(24 * 12 + 8) + minutes(56))), 0U);
}

TEST_F(Forecasting, GoesOnFromWhatItsTrialTaughtIt) {
  facts_.trial = tried(mornings(12), 12);
  const auto now = kMidnight + hours(24 * 12 + 1);
  auto out = look(now);
  EXPECT_EQ(out.memory.learnt_at, facts_.trial->at);
  EXPECT_TRUE(worth_writing(facts_.memory, out.memory));
  auto later = out.memory;
  later.forecasts["compute"].highest = 7;
  later.written_at = out.memory.written_at + unix_nanos(TimePoint{minutes(2)});
  EXPECT_TRUE(worth_writing(out.memory, later)) << "what was seen since, not oftener than once a minute";
  facts_.memory = later;
  EXPECT_EQ(look(now).memory.forecasts["compute"].highest, 7) << "the trial is taken over once";
  facts_.policy.forecast.mode = ForecastMode::off;
  EXPECT_THAT(look(now).memory.forecasts, IsEmpty());
}

TEST(PastJobs, AreAskedForInUtc) {
  const auto words = past_jobs_command(kMidnight, kMidnight + hours(24));
  EXPECT_THAT(words, Contains("TZ=UTC"));
  EXPECT_THAT(words, Contains("--starttime=2024-10-04T00:00:00"));
  EXPECT_THAT(words, Contains("--endtime=2024-10-05T00:00:00"));
  elastic::ForecastPolicy policy;
  EXPECT_EQ(trial_span(policy), hours(14 * 24));
  policy.season = minutes(10);
  EXPECT_EQ(trial_span(policy), hours(24));
  policy.season = hours(24 * 7);
  EXPECT_EQ(trial_span(policy), hours(24 * 28));
}

TEST(PastJobs, OfTwoDaysThatOverlapAreOneEach) {
  elastic::Trace trace;
  add_past_jobs(trace, kHeader + line(2, kMidnight + hours(23)) + line(3, kMidnight + hours(25)));
  add_past_jobs(trace, kHeader + line(1, kMidnight) + "what|is this\n" + line(2, kMidnight + hours(23)));
  std::vector<std::string> ids;
  for (const auto& job : trace.jobs) ids.push_back(job.id);
  EXPECT_THAT(ids, ElementsAre("1", "2", "3"));
  add_past_jobs(trace, "");
  add_past_jobs(trace, "sacct: error: no idea\n");
  EXPECT_EQ(trace.jobs.size(), 3U);
}

TEST(Trials, AreForgottenWithWhatTheySpeakOf) {
  server::testing::Desk desk;
  model::Cluster cluster{.name = "tide"};
  cluster.networks = {{.name = "lan", .cidr = "10.80.0.0/24"}};
  model::Pool pool{.name = "compute", .size = 1, .hostname = "c%d", .cpus = 4, .memory_mb = 1000};
  pool.slurm = model::SlurmJoin{.most = 6};
  pool.elastic = model::PoolElastic{};
  cluster.pools = {pool};
  cluster.elastic = model::ElasticPolicy{};
  desk.commit({tables::PutCluster{cluster}});
  desk.run(NoteTrial{{.cluster = "tide", .of = "x", .jobs = 3, .why = "it helps"}});
  ASSERT_TRUE(tables::find_record<ForecastTrial>(desk.tables, "tide"));
  EXPECT_FALSE(anything_to_forget(desk.tables));
  cluster.elastic->forecast.mode = ForecastMode::off;
  desk.commit({tables::PutCluster{cluster}});
  ASSERT_TRUE(anything_to_forget(desk.tables));
  desk.run(ForgetGrowth{});
  EXPECT_FALSE(tables::find_record<ForecastTrial>(desk.tables, "tide"));
  desk.run(NoteTrial{{.cluster = "tide", .of = "x", .jobs = 3}});
  EXPECT_FALSE(tables::find_record<ForecastTrial>(desk.tables, "tide")) << "it was switched off meanwhile";
}

}  // namespace
}  // namespace underway::growth
