#include "slurm/elastic/job_queue.hpp"

#include <gmock/gmock.h>

#include "base/text.hpp"
#include "slurm/queue.hpp"

namespace underway::slurm {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// A line as squeue prints it; what a test is about is replaced.
struct QueueLine {
  std::string id = "17", state = "PENDING", user = "ana", account = "(null)", qos = "normal", partitions = "main";
  std::string priority = "4294901757", nodes_wanted = "1", cpus = "1", memory = "0", oversubscribe = "OK";
  std::string submitted = "1795700000", starts = "N/A", ends = "N/A", limit = "UNLIMITED", nodes, reason = "Resources";
  std::string gres = "N/A", named, reservation = "(null)";
  std::string features = "(null)";
  std::string text() const {
    const std::vector<std::string> columns = {
        id,        state,  user, account, qos,   partitions, priority, nodes_wanted, cpus,   memory,  oversubscribe,
        submitted, starts, ends, limit,   nodes, gres,       named,    reservation,  reason, features};
    return join(columns, "|") + "\n";
  }
};

QueuedJob queued(const QueueLine& line) {
  const auto jobs = parse_queue(line.text());
  EXPECT_EQ(jobs.size(), 1U) << line.text();
  return jobs.empty() ? QueuedJob{} : jobs.front();
}

TimePoint moment_of(std::int64_t second) { return TimePoint{seconds(second)}; }

TEST(SlurmJobQueue, AsksForWhatWaitsAndForWhatHasNodes) {
  const auto command = queue_command();
  ASSERT_EQ(command.size(), 10U);
  EXPECT_THAT(std::vector(command.begin(), command.begin() + 6),
              ElementsAre("env", "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0", "squeue", "-h", "-a"));
  const auto states = split_list(command[7]);
  EXPECT_THAT(states, testing::IsSupersetOf(split_list(kStatesWithNodes)));
  EXPECT_THAT(states, testing::Contains("PENDING"));
  EXPECT_EQ(split(command[9], '|').size(), 21U) << "as many columns as are read";
  EXPECT_TRUE(command[9].ends_with("|%f")) << "in which '|' stands for a choice";
}

TEST(SlurmJobQueue, TellsOfJobsThatWaitRunAndSleep) {
  const auto jobs = parse_queue(
      "17|PENDING|ana|physics|normal|main,other|4294901757|3|6|1500M|OK|1795700000|1795703600|1795704200|10:00||"
      "gres:gpu:1|n7|maint|Resources|fast&big\n"
      "18|RUNNING|ben|(null)|(null)|main|4294901756|2|8|4G|NO|1795690000|1795690005|1795776405|1-00:00:00|n[3,5]|"
      "N/A||(null)|None|(null)\n"
      "19+1|SUSPENDED|ben|chem|low|main|1|1|4|0|OK|1795690000|1795690005|NONE|UNLIMITED|gpu07|N/"
      "A||(null)|None|(null)\n");
  QueuedJob waits;
  waits.id = "17";
  waits.state = "PENDING";
  waits.reason = "Resources";
  waits.user = "ana";
  waits.account = "physics";
  waits.qos = "normal";
  waits.partitions = {"main", "other"};
  waits.priority = 4294901757;
  waits.nodes_min = 3;
  waits.cpus = 6;
  waits.memory_mb = 1500;
  waits.features = {"fast", "big"};
  waits.gres = "gres:gpu:1";
  waits.named_nodes = "n7";
  waits.reservation = "maint";
  waits.submitted = moment_of(1795700000);
  waits.starts = moment_of(1795703600);
  waits.ends = moment_of(1795704200);
  waits.time_limit = minutes(10);
  QueuedJob runs;
  runs.id = "18";
  runs.state = "RUNNING";
  runs.reason = "None";
  runs.user = "ben";
  runs.partitions = {"main"};
  runs.priority = 4294901756;
  runs.nodes_min = 2;
  runs.cpus = 8;
  runs.memory_mb = 4096;
  runs.exclusive = true;
  runs.nodes = {"n3", "n5"};
  runs.submitted = moment_of(1795690000);
  runs.starts = moment_of(1795690005);
  runs.ends = moment_of(1795776405);
  runs.time_limit = hours(24);
  QueuedJob sleeps;
  sleeps.id = "19+1";
  sleeps.state = "SUSPENDED";
  sleeps.reason = "None";
  sleeps.user = "ben";
  sleeps.account = "chem";
  sleeps.qos = "low";
  sleeps.partitions = {"main"};
  sleeps.priority = 1;
  sleeps.cpus = 4;
  sleeps.nodes = {"gpu07"};
  sleeps.submitted = moment_of(1795690000);
  sleeps.starts = moment_of(1795690005);
  EXPECT_THAT(jobs, ElementsAre(waits, runs, sleeps));
  EXPECT_TRUE(waits.waits());
  EXPECT_FALSE(runs.waits());
  EXPECT_FALSE(sleeps.waits());
}

TEST(SlurmJobQueue, CountsTheTasksOfAnArrayThatWait) {
  struct Case {
    const char* id;
    std::int64_t remaining, limit;
  };
  for (const auto& c : std::vector<Case>{{"17", 1, 0},
                                         {"17_3", 1, 0},
                                         {"17_[3]", 1, 0},
                                         {"17_[3-9]", 7, 0},
                                         {"17_[3-9,12%4]", 8, 4},
                                         {"17_[0-9:3]", 4, 0},
                                         {"17_[0-8:3,20%1]", 4, 1},
                                         {"17_[1-5,7,...]", 6, 0},
                                         {"17_[0-4000000]", 4'000'001, 0},
                                         {"17_[0-4000000,0-4000000]", 4'000'001, 0},
                                         {"17_[9-3]", 1, 0},
                                         {"17_[0-9:0]", 1, 0},
                                         {"17_[-5--1]", 1, 0},
                                         {"17_[0-99999999999]", 1, 0},
                                         {"17_[%3]", 1, 3},
                                         {"17_[1-2%-3]", 2, 0},
                                         {"17_[1-2%x]", 2, 0},
                                         {"17_[]", 1, 0},
                                         {"17_[1-3", 1, 0}}) {
    SCOPED_TRACE(c.id);
    const auto job = queued({.id = c.id});
    EXPECT_EQ(job.id, c.id);
    EXPECT_EQ(job.array_remaining, c.remaining);
    EXPECT_EQ(job.array_limit, c.limit);
  }
}

TEST(SlurmJobQueue, ReadsHowManyNodesAreWanted) {
  struct Case {
    const char* text;
    std::int64_t least, most;
  };
  for (const auto& c : std::vector<Case>{{"2", 2, 0},
                                         {"2-4", 2, 4},
                                         {"4-4", 4, 4},
                                         {"4-2", 4, 0},
                                         {"0", 1, 0},
                                         {"-3", 1, 0},
                                         {"2-", 2, 0},
                                         {"many", 1, 0},
                                         {"99999999999999999999", 1, 0}}) {
    SCOPED_TRACE(c.text);
    const auto job = queued({.nodes_wanted = c.text});
    EXPECT_EQ(job.nodes_min, c.least);
    EXPECT_EQ(job.nodes_max, c.most);
  }
}

TEST(SlurmJobQueue, ReadsMemoryInEachUnit) {
  struct Case {
    const char* text;
    std::int64_t megabytes;
  };
  for (const auto& c : std::vector<Case>{{"0", 0},
                                         {"500M", 500},
                                         {"500", 500},
                                         {"4G", 4096},
                                         {"1.50G", 1536},
                                         {"1.01M", 2},
                                         {"1K", 1},
                                         {"2T", 2'097'152},
                                         {"1P", 1'073'741'824},
                                         {"4X", 0},
                                         {"4GG", 0},
                                         {"-4G", 0},
                                         {"inf", 0},
                                         {"nan", 0},
                                         {"", 0},
                                         {"N/A", 0},
                                         {"99999999999999P", 0},
                                         {"1e999M", 0}}) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(queued({.memory = c.text}).memory_mb, c.megabytes);
  }
}

TEST(SlurmJobQueue, RequiresEachFeatureOfAnExpression) {
  struct Case {
    const char* text;
    std::vector<std::string> features;
  };
  for (const auto& c : std::vector<Case>{{"(null)", {}},
                                         {"", {}},
                                         {"gpu", {"gpu"}},
                                         {"gpu&big", {"gpu", "big"}},
                                         {"gpu,big", {"gpu", "big"}},
                                         {"intel|amd", {"intel|amd"}},
                                         {"fast&(intel|amd)&ib", {"fast", "intel|amd", "ib"}},
                                         {"[rack1|rack2]", {"rack1|rack2"}},
                                         {"[rack1*2&rack2*14]", {"rack1", "rack2"}},
                                         {"[(knl&flat)*4&haswell*1]", {"knl", "flat", "haswell"}},
                                         {"a100*2", {"a100"}},
                                         {"&|&a||b|&", {"a|b"}}}) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(queued({.features = c.text}).features, c.features);
  }
}

TEST(SlurmJobQueue, TellsWhoWantsNodesForHimself) {
  EXPECT_TRUE(queued({.oversubscribe = "NO"}).exclusive);
  for (const char* shares : {"OK", "YES", "USER", "MCS", ""})
    EXPECT_FALSE(queued({.oversubscribe = shares}).exclusive) << shares;
}

TEST(SlurmJobQueue, ReadsTimesAsFarAsTheyAreKnown) {
  const auto job = queued({.submitted = "1795700000", .starts = "N/A", .ends = "N/A", .limit = "NOT_SET"});
  EXPECT_EQ(job.submitted, moment_of(1795700000));
  EXPECT_EQ(job.starts, TimePoint{});
  EXPECT_EQ(job.ends, TimePoint{});
  EXPECT_EQ(job.time_limit, Duration{});
  for (const char* none : {"Unknown", "NONE", "2026-11-26T13:21:55", "-5", "99999999999", "17957000000000000000000"})
    EXPECT_EQ(queued({.starts = none}).starts, TimePoint{}) << none;
  EXPECT_EQ(queued({.limit = "1-02:03:04"}).time_limit, hours(26) + minutes(3) + seconds(4));
  EXPECT_EQ(queued({.limit = "INVALID"}).time_limit, Duration{});
}

TEST(SlurmJobQueue, LeavesWhatMakesNoSenseAsItIs) {
  const auto job = queued({.user = "(null)",
                           .qos = "(null)",
                           .partitions = "(null)",
                           .priority = "-1",
                           .cpus = "0",
                           .nodes = "n[3-",
                           .reason = "ReqNodeNotAvail, UnavailableNodes:n[1-2]"});
  QueuedJob plain;
  plain.id = "17";
  plain.state = "PENDING";
  plain.reason = "ReqNodeNotAvail, UnavailableNodes:n[1-2]";
  plain.submitted = moment_of(1795700000);
  EXPECT_EQ(job, plain);
}

TEST(SlurmJobQueue, LeavesLinesOutThatAreNoJobs) {
  EXPECT_THAT(parse_queue(""), IsEmpty());
  EXPECT_THAT(parse_queue("\n\n||||||||||||||||||||\nslurm_load_jobs error: Unable to contact slurm controller\n"),
              IsEmpty());
  EXPECT_THAT(parse_queue("17|PENDING|ana|x|normal|main\n"), IsEmpty()) << "it was cut";
  EXPECT_THAT(parse_queue(QueueLine{.id = ""}.text() + QueueLine{.id = "JOBID"}.text() + QueueLine{.state = ""}.text()),
              IsEmpty());
  // Each for itself: those around it are read.
  const auto jobs =
      parse_queue(QueueLine{.id = "1"}.text() + "squeue: warning | something\n" +
                  QueueLine{.id = "2", .reason = std::string(70'000, 'x')}.text() + QueueLine{.id = "3"}.text());
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].id, "1");
  EXPECT_EQ(jobs[1].id, "3");
}

TEST(SlurmJobQueue, HasAnEndWhateverIsPrinted) {
  EXPECT_EQ(queued({.nodes = "n[1-100000]"}).nodes.size(), kMostNodesOfJob);
  EXPECT_THAT(queued({.nodes = "n[1-100001]"}).nodes, IsEmpty());
  EXPECT_THAT(queued({.nodes = "n[1-100000],m1"}).nodes, IsEmpty());
  std::string many;
  for (int i = 0; i < 25; ++i) many += QueueLine{.state = "RUNNING", .nodes = "n[1-100000]"}.text();
  const auto jobs = parse_queue(many);
  ASSERT_EQ(jobs.size(), 25U);
  EXPECT_EQ(jobs[19].nodes.size(), 100'000U);
  EXPECT_THAT(jobs[20].nodes, IsEmpty()) << "two million were named before";
}

}  // namespace
}  // namespace underway::slurm
