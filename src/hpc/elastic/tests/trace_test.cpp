#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "elastic/trace/generator.hpp"
#include "elastic/trace/trace.hpp"
#include "tests/support.hpp"

namespace underway::elastic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Trace swf(const std::string& text, TraceProblems& problems) {
  std::istringstream in(text);
  return read_swf(in, problems);
}

Trace sacct(const std::string& text, TraceProblems& problems) {
  std::istringstream in(text);
  return read_sacct(in, problems);
}

TEST(Swf, IsReadWithItsHeader) {
  TraceProblems problems;
  const Trace trace =
      swf("; UnixStartTime: 1000000000\n;    MaxNodes: 128\n; MaxProcs: 2048 (16 per node)\n; Note: : ;\n\n"
          "  2   60  5  3600  32 -1 -1  32  7200 -1  1  7  2 -1  3 -1 -1 -1\r\n"
          "1 0 0 100 -1 3.5 -1 4 -1 -1 1 -1 -1 -1 -1 0 -1 -1\n"
          "3 70 -1 -1 -1 -1 -1 4 600 -1 5 1 1 -1 1 -1 -1 -1\n",
          problems);
  EXPECT_THAT(problems.lines, IsEmpty());
  EXPECT_EQ(trace.max_nodes, 128);
  EXPECT_EQ(trace.max_cpus, 2048);
  EXPECT_EQ(trace.never_ran, 1u);
  ASSERT_EQ(trace.jobs.size(), 2u);
  EXPECT_EQ(trace.jobs[0].id, "1");
  EXPECT_EQ(trace.jobs[0].cpus, 4);
  const auto& job = trace.jobs[1];
  EXPECT_EQ(job.submit, 1'000'000'060);
  EXPECT_EQ(job.run, 3600);
  EXPECT_EQ(job.limit, 7200);
  EXPECT_EQ(job.user + job.account + job.partition, "u7g2q3");
}

TEST(Swf, NamesEveryBadLineByItsNumber) {
  TraceProblems problems;
  const Trace trace =
      swf("1 0 0 100 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 0 -1 -1\n"
          "2 0 0 100 4\n"
          "3 0 0 x 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 0 -1 -1\n"
          "4 0 0 100 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 0 -1 -1 9\n"
          "5 -7 0 100 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 0 -1 -1\n" +
              std::string(70'000, '1') + "\n7 0 0 1e18 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 0 -1 -1",
          problems);
  EXPECT_EQ(trace.jobs.size(), 1u);
  EXPECT_THAT(problems.lines, ElementsAre("line 2: 5 of 18 columns", "line 3: 'x' in column 4 is no number",
                                          "line 4: more than 18 columns", HasSubstr("line 5: submitted at -7"),
                                          "line 6: longer than 65536 bytes", HasSubstr("line 7: '1e18' in column 4")));
}

TEST(Swf, CountsWhatItDoesNotKeep) {
  TraceProblems problems;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "broken\n";
  swf(text, problems);
  EXPECT_EQ(problems.count, 1000u);
  EXPECT_EQ(problems.lines.size(), TraceProblems::kKept);
}

TEST(Sacct, IsReadWhateverTheOrderOfItsColumns) {
  TraceProblems problems;
  const Trace trace = sacct(
      "Partition|Submit|JobID|State|Elapsed|Timelimit|NNodes|NCPUS|ReqMem|User|Account\n"
      "batch|2024-05-01T12:00:00|17|COMPLETED|1-02:03:04|2-00:00:00|2|64|4Gn|ada|physics\n"
      "batch|2024-05-01T12:00:00|17.batch|COMPLETED|1-02:03:04||1|32|4Gn||physics\n"
      "debug|2024-05-01T11:00:00|12_4|FAILED|00:10|UNLIMITED|1|8|1500Mc|bob|\n"
      "debug|2024-05-01T13:00:00|18_[5-9%2]|PENDING|00:00:00|10:00|1|8|1500Mc|bob|\n"
      "debug|2024-05-01T13:00:00|19|TIMEOUT|00:10:00|00:10:00|2|8|8G|bob|\n",
      problems);
  EXPECT_THAT(problems.lines, IsEmpty());
  EXPECT_EQ(trace.steps, 1u);
  EXPECT_EQ(trace.never_ran, 1u);
  ASSERT_EQ(trace.jobs.size(), 3u);
  EXPECT_EQ(trace.jobs[0].id, "12_4");
  EXPECT_EQ(trace.jobs[0].run, 10);
  EXPECT_EQ(trace.jobs[0].limit, 0);
  EXPECT_EQ(trace.jobs[0].memory_mb, 12000);
  const auto& job = trace.jobs[1];
  EXPECT_EQ(job.run, 93'784);
  EXPECT_EQ(job.limit, 172'800);
  EXPECT_EQ(job.submit, 1'714'564'800);
  EXPECT_EQ(job.nodes, 2);
  EXPECT_EQ(job.memory_mb, 4096);
  EXPECT_EQ(trace.jobs[2].memory_mb, 4096) << "8 GiB in all, on two nodes";
}

TEST(Sacct, SaysAllThatIsWrong) {
  TraceProblems problems;
  sacct("User|State\nada|COMPLETED\n", problems);
  EXPECT_THAT(problems.lines,
              ElementsAre("line 1: the header has no column JobID", "line 1: the header has no column Submit",
                          "line 1: the header has no column Elapsed (or Start and End)",
                          "line 1: the header has no column NNodes or NCPUS"));
  TraceProblems more;
  const Trace trace = sacct(
      "JobID|Submit|ElapsedRaw|NCPUS|ReqMem\n1|yesterday|x|4|\n2|2024-05-01T12:00:00|5|4|lots\n3|2024\n4|2024-05-01T12:"
      "00:00|5|0|\n5|2024-05-01T12:00:00|5|2|1G\n",
      more);
  EXPECT_EQ(trace.jobs.size(), 1u);
  EXPECT_THAT(more.lines,
              ElementsAre("line 2: job 1: 'yesterday' is no time of submission",
                          "line 2: job 1: 'x' is no elapsed time", "line 3: job 2: 'lots' is no memory",
                          "line 4: 2 columns, the header has 5", "line 5: job 4 has neither nodes nor processors"));
}

TEST(Sacct, SpansAndSizesAreSlurms) {
  EXPECT_EQ(parse_slurm_span("1-00:00:01"), 86401);
  EXPECT_EQ(parse_slurm_span("2-03"), 183600);
  EXPECT_EQ(parse_slurm_span("02:03:04"), 7384);
  EXPECT_EQ(parse_slurm_span("03:04.567"), 184);
  for (const char* text :
       {"", "UNLIMITED", "Partition_Limit", "5", "-1:00", "1:2:3:4", "a-00:00:00", "999999999-00:00:00"})
    EXPECT_EQ(parse_slurm_span(text), std::nullopt) << text;
  EXPECT_EQ(parse_slurm_memory("4Gn", 3, 12), 4096);
  EXPECT_EQ(parse_slurm_memory("1000Mc", 2, 8), 4000);
  EXPECT_EQ(parse_slurm_memory("1.5G", 1, 8), 1536);
  EXPECT_EQ(parse_slurm_memory("512", 1, 1), 512);
  EXPECT_EQ(parse_slurm_memory("1048576K", 2, 2), 512);
  EXPECT_EQ(parse_slurm_memory("0n", 2, 2), 0);
  for (const char* text : {"", "G", "4X", "4Gnn", "-4G", "1e300T", "nan"})
    EXPECT_EQ(parse_slurm_memory(text, 1, 1), std::nullopt) << text;
}

TEST(Format, IsSeenFromTheFirstLine) {
  EXPECT_EQ(guess_format("\n; Version: 2\n"), TraceFormat::swf);
  EXPECT_EQ(guess_format("JobID|Submit\n1|2\n"), TraceFormat::sacct);
  EXPECT_EQ(guess_format(""), TraceFormat::swf);
}

TEST(Generator, MakesTheSameTraceOfTheSameSeed) {
  TraceSettings settings;
  const Trace one = generate_trace(settings), same = generate_trace(settings);
  EXPECT_EQ(write_swf(one), write_swf(same));
  settings.seed = 2;
  EXPECT_NE(write_swf(one), write_swf(generate_trace(settings)));
}

TEST(Generator, MakesDaysAndNightsPowersOfTwoAndLongTails) {
  TraceSettings settings;
  settings.days = 28;
  const Trace trace = generate_trace(settings);
  std::int64_t day = 0, night = 0, powers = 0, serial = 0, longer = 0;
  for (const auto& job : trace.jobs) {
    const std::int64_t hour = (job.submit - settings.start) / 3600 % 24;
    day += hour >= 10 && hour < 18 ? 1 : 0;
    night += hour < 6 || hour >= 22 ? 1 : 0;
    serial += job.cpus == 1 ? 1 : 0;
    powers += (job.cpus & (job.cpus - 1)) == 0 ? 1 : 0;
    longer += job.run > 4 * static_cast<std::int64_t>(settings.median_run) ? 1 : 0;
    EXPECT_GE(job.limit, job.run);
  }
  const auto count = static_cast<std::int64_t>(trace.jobs.size());
  EXPECT_NEAR(static_cast<double>(count), 28 * (500 + 2 * 60), 28 * 620 * 0.25);
  EXPECT_GT(day, night * 5 / 4);
  EXPECT_GT(powers * 10, count * 7);
  EXPECT_GT(serial * 10, count);
  EXPECT_GT(longer * 20, count) << "a lognormal has a tail";
}

TEST(Generator, WritesWhatTheReaderReads) {
  const Trace trace = generate_trace({});
  TraceProblems problems;
  const Trace again = swf(write_swf(trace), problems);
  EXPECT_THAT(problems.lines, IsEmpty());
  ASSERT_EQ(again.jobs.size(), trace.jobs.size());
  std::int64_t cpu_seconds = 0, same = 0;
  for (const auto& job : trace.jobs) cpu_seconds += job.cpus * job.run;
  for (const auto& job : again.jobs) same += job.cpus * job.run;
  EXPECT_EQ(same, cpu_seconds);
}

}  // namespace
}  // namespace underway::elastic
