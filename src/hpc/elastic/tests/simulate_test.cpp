#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "elastic/simulate/simulation.hpp"
#include "elastic/trace/generator.hpp"
#include "tests/support.hpp"

namespace underway::elastic {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TraceJob job_at(std::int64_t submit, std::int64_t run, std::int64_t nodes, std::int64_t limit = 0,
                std::string partition = "batch") {
  TraceJob job;
  job.id = std::to_string(submit) + "-" + std::to_string(nodes);
  job.partition = std::move(partition);
  job.submit = 1'700'000'000 + submit;
  job.run = run;
  job.limit = limit == 0 ? run : limit;
  job.nodes = nodes;
  job.cpus = nodes * 4;
  return job;
}

Trace trace_of(std::vector<TraceJob> jobs) {
  Trace trace;
  trace.jobs = std::move(jobs);
  return trace;
}

SimulationSettings settings_of(std::int64_t nodes, std::int64_t elastic_nodes) {
  SimulationSettings settings;
  settings.nodes = nodes;
  settings.cpus_per_node = 4;
  settings.cost_per_hour = "0.10";
  settings.policy = make_policy();
  settings.policy.classes = {};
  if (elastic_nodes > 0) settings.policy.classes = {make_class("small", 4, 32768, elastic_nodes)};
  settings.policy.forecast.mode = ForecastMode::off;
  return settings;
}

TEST(Fixed, BackfillsWithoutDelayingTheFirst) {
  // Two nodes: a long job on one, then one that needs both, then two short ones of which one ends in time.
  const Trace trace = trace_of({job_at(0, 1000, 1), job_at(1, 100, 2), job_at(2, 900, 1), job_at(3, 5000, 1)});
  const auto report = replay(trace, settings_of(2, 0), Peer::fixed);
  EXPECT_EQ(report.jobs, 4);
  // The short one starts at once; the wide one at 1000 s, waits 999 s; the long one at 1100 s, waits 1097 s.
  EXPECT_DOUBLE_EQ(report.wait_mean, (0 + 999 + 0 + 1097) / 4.0);
  EXPECT_DOUBLE_EQ(report.wait_p95, 1097);
  EXPECT_DOUBLE_EQ(report.makespan, 6100);
  EXPECT_NEAR(report.node_hours, 2 * 6100 / 3600.0, 1e-9);
  EXPECT_NEAR(report.utilisation, (1000 + 200 + 900 + 5000) / (2 * 6100.0), 1e-9);
  EXPECT_EQ(report.cost, static_cast<Money>(2 * 6100 / 3600.0 * 100'000));
}

TEST(PowerSaving, StartsBatchJobsAtTheNextSweep) {
  SimulationSettings settings = settings_of(0, 1);
  settings.policy.classes[0].start_time = 40s;
  const auto report = replay(trace_of({job_at(0, 600, 1)}), settings, Peer::power_saving);
  EXPECT_EQ(report.boots, 1);
  EXPECT_DOUBLE_EQ(report.wait_mean, 60) << "up after 32 to 52 s, swept at 60 s";
  const auto ours = replay(trace_of({job_at(0, 600, 1)}), settings, Peer::elastic);
  EXPECT_GE(ours.wait_mean, 32);
  EXPECT_LE(ours.wait_mean, 52);
}

TEST(PowerSaving, SwitchesIdleNodesOffAndSendsAJobBackWhenOneDoesNotComeUp) {
  SimulationSettings settings = settings_of(0, 2);
  settings.suspend_time = 100s;
  const Trace trace = trace_of({job_at(0, 60, 1), job_at(10'000, 60, 1)});
  const auto report = replay(trace, settings, Peer::power_saving);
  EXPECT_EQ(report.boots, 2);
  EXPECT_LT(report.node_hours, 600 / 3600.0);
  settings.boot_failures = 0.8;
  const auto failing =
      replay(trace_of({job_at(0, 60, 2), job_at(1, 60, 2), job_at(2, 60, 2)}), settings, Peer::power_saving);
  EXPECT_EQ(failing.jobs, 3);
  EXPECT_GT(failing.failed_boots, 0);
  EXPECT_GE(failing.wait_p95, 600) << "ResumeTimeout is waited for";
}

TEST(Elastic, MakesNodesForABurstAndTakesThemAway) {
  std::vector<TraceJob> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back(job_at(i, 3600, 1));
  jobs.push_back(job_at(20'000, 60, 1));
  const SimulationSettings settings = settings_of(2, 10);
  const auto fixed = replay(trace_of(jobs), settings, Peer::fixed),
             ours = replay(trace_of(jobs), settings, Peer::elastic);
  EXPECT_EQ(ours.jobs, 9);
  EXPECT_EQ(ours.boots, 6);
  EXPECT_LT(ours.wait_p95, 120);
  EXPECT_GE(fixed.wait_p95, 3600);
  const auto all = replay(trace_of(jobs), settings, Peer::fixed_all);
  EXPECT_LT(ours.cost, all.cost / 2) << "twelve nodes that are always on cost more";
}

TEST(Elastic, WaitsForAllNodesOfAGangAlsoWhenBootsFail) {
  SimulationSettings settings = settings_of(0, 8);
  settings.boot_failures = 0.3;
  for (std::uint64_t seed = 1; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    settings.seed = seed;
    const auto report =
        replay(trace_of({job_at(0, 600, 4), job_at(5, 600, 6), job_at(9, 60, 1)}), settings, Peer::elastic);
    EXPECT_EQ(report.jobs, 3);
  }
}

TEST(Elastic, PutsJobsToSleepForUrgentOnesAndWakesThem) {
  SimulationSettings settings = settings_of(0, 2);
  settings.urgent = {"urgent"};
  const Trace trace = trace_of({job_at(0, 7200, 1), job_at(1, 7200, 1), job_at(3000, 600, 1, 700, "urgent")});
  const auto report = replay(trace, settings, Peer::elastic);
  EXPECT_EQ(report.jobs, 3);
  EXPECT_EQ(report.suspensions, 1);
  EXPECT_LT(report.urgent_p95, 30) << "the suspension, and the next decision";
  EXPECT_NEAR(report.most_asleep, 606, 5) << "as long as the urgent one ran";
  EXPECT_LT(report.makespan, 7200 + 700 + 120) << "no work was lost";
  settings.policy.promises.max_suspensions = 0;
  const auto without = replay(trace, settings, Peer::elastic);
  EXPECT_EQ(without.suspensions, 0);
  EXPECT_GE(without.urgent_p95, 3600);
}

TEST(Simulation, IsTheSameForTheSameSeed) {
  TraceSettings generated;
  generated.days = 1;
  generated.jobs_per_day = 150;
  const Trace trace = generate_trace(generated);
  SimulationSettings settings = settings_of(8, 24);
  settings.cpus_per_node = 16;
  settings.policy.classes[0].vcpus = 16;
  settings.policy.forecast.mode = ForecastMode::shadow;
  settings.boot_failures = 0.05;
  const auto report = simulate(trace, settings);
  EXPECT_EQ(json::encode(report), json::encode(simulate(trace, settings)));
  ASSERT_EQ(report.peers.size(), 5u);
  for (const auto& peer : report.peers)
    EXPECT_EQ(peer.jobs + peer.impossible, static_cast<std::int64_t>(trace.jobs.size())) << peer.name << " lost a job";
  ASSERT_TRUE(report.forecast);
  EXPECT_FALSE(report.forecast->act) << "it is in shadow";
  const std::string text = chart(report);
  for (const char* part : {"fixed_all", "power_saving", "wait p95", "node-hours", "forecast: "})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(Simulation, RefusesSenselessSettings) {
  EXPECT_THAT(problems(settings_of(2, 3)), IsEmpty());
  SimulationSettings settings = settings_of(0, 0);
  settings.boot_failures = 2;
  settings.cost_per_hour = "free";
  EXPECT_EQ(problems(settings).size(), 3u);
}

}  // namespace
}  // namespace underway::elastic
