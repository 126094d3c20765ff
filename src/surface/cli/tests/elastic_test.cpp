#include <gtest/gtest.h>

#include "cli/elastic/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

constexpr TimePoint kAsked{std::chrono::hours(2)};

std::string bold(const char* text) { return paint(Colour::bold, text); }
std::string mark() { return paint(Colour::yellow, "!"); }

growth::Status sample() {
  growth::Status out;
  out.cluster = "hpc";
  out.at = unix_nanos(kAsked - std::chrono::seconds(3));
  out.pending = 12;
  out.running = 1;
  growth::PoolStatus pool;
  pool.pool = "small";
  pool.always = 2;
  pool.most = 16;
  pool.booting = 1;
  pool.idle = 3;
  pool.busy = 4;
  pool.leaving = 5;
  pool.asleep = 6;
  out.pools = {pool};
  return out;
}

TEST(GrowthText, ShowsHostsByPhaseAndThenWhy) {
  auto status = sample();
  status.lines = {"class 'small': 7 of 16 nodes up, 1 booting", "2 jobs wait for Dependency"};
  EXPECT_EQ(growth_text(status, kAsked, 0), "Cluster " + bold("hpc") +
                                                ": 12 Slurm jobs wait, 1 runs\n"
                                                "\n"
                                                "POOL   ALWAYS  MOST  BOOTING  IDLE  BUSY  LEAVING  ASLEEP\n"
                                                "small  2       16    1        3     4     5        6\n"
                                                "\n"
                                                "  class 'small': 7 of 16 nodes up, 1 booting\n"
                                                "  2 jobs wait for Dependency\n");
}

TEST(GrowthText, TellsMoneyWhereThereIsAny) {
  auto status = sample();
  status.spent_today = "12.00";
  status.spent_this_month = "250.10";
  status.pools.push_back(status.pools.front());
  status.pools.back().pool = "large";
  status.pools.back().cost_per_hour = "1.40";
  EXPECT_EQ(growth_text(status, kAsked, 0), "Cluster " + bold("hpc") +
                                                ": 12 Slurm jobs wait, 1 runs; spent 12.00 today, 250.10 this month\n"
                                                "\n"
                                                "POOL   ALWAYS  MOST  BOOTING  IDLE  BUSY  LEAVING  ASLEEP  COST/H\n"
                                                "small  2       16    1        3     4     5        6       0\n"
                                                "large  2       16    1        3     4     5        6       1.40\n");
}

TEST(GrowthText, BeginsWithWhatKeepsItFromGrowing) {
  auto status = sample();
  status.pending = 1;
  status.at = unix_nanos(kAsked - std::chrono::minutes(4));
  status.trouble = "squeue does not answer";
  status.pools.front().trouble = "the budget of the day is spent";
  const auto text = growth_text(status, kAsked, 0);
  EXPECT_TRUE(text.starts_with("Cluster " + bold("hpc") + ": 1 Slurm job waits, 1 runs\n" + mark() +
                               " it neither grows nor shrinks: Slurm has not told its queue for 4m0s: squeue does not "
                               "answer\n" +
                               mark() + " pool 'small' should grow and does not: the budget of the day is spent\n\n"))
      << text;
}

TEST(GrowthText, CountsNoJobsBeforeTheFirstLook) {
  growth::Status status;
  status.cluster = "hpc";
  EXPECT_EQ(growth_text(status, kAsked, 0), "Cluster " + bold("hpc") + ": Slurm's queue was not read yet\n");
  status.trouble = "there is no slurmctld";
  EXPECT_EQ(growth_text(status, kAsked, 0),
            "Cluster " + bold("hpc") + ": Slurm's queue was not read yet\n" + mark() +
                " it neither grows nor shrinks: Slurm has not told its queue: there is no slurmctld\n");
}

TEST(GrowthText, OfAJobSaysWhatSlurmSaysAndWhy) {
  growth::JobExplanation job{"hpc", "17_3", "PENDING", "Resources", {"a host of pool 'small' is made for it"}};
  EXPECT_EQ(growth_text(job), "Job " + bold("17_3") +
                                  " of cluster hpc is PENDING (Resources)\n"
                                  "  a host of pool 'small' is made for it\n");
  job.reason.clear();
  job.lines.clear();
  EXPECT_EQ(growth_text(job), "Job " + bold("17_3") + " of cluster hpc is PENDING\n");
  job.state.clear();
  EXPECT_EQ(growth_text(job), "Job " + bold("17_3") + " of cluster hpc is not in Slurm's queue\n");
}

std::string refusal_among(const std::vector<growth::Status>& growing) {
  try {
    return only_growing_cluster(growing);
  } catch (const Error& error) {
    return error.text();
  }
}

TEST(OnlyGrowingCluster, IsMeantWhereNobodyNamesOne) {
  growth::Status hpc = sample(), lab = sample();
  lab.cluster = "lab";
  EXPECT_EQ(refusal_among({lab}), "lab");
  EXPECT_EQ(refusal_among({hpc, lab}),
            "error: it is not clear which cluster's Slurm has the job\n  why:   pools of hpc, lab grow\n"
            "  do:    add -cluster NAME");
  EXPECT_EQ(refusal_among({}),
            "error: no pool of any cluster grows\n"
            "  do:    write a block `elastic` into a pool whose hosts join Slurm, and apply its cluster");
}

}  // namespace
}  // namespace underway::cli
