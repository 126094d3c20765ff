#include "impact/prospect.hpp"

#include "site.hpp"

namespace underway::impact::testing {
namespace {

class ProspectTest : public ::testing::Test {
 protected:
  ProspectTest() {
    for (int n = 1; n <= 6; ++n) site.node(n, fmt::format("c{}", n), "compute");
  }
  void with_slurm_conf(const std::string& text) {
    Job slurmctld = Site::job_in("slurmctld", "compute");
    auto& file = slurmctld.groups[0].tasks[0].templates.emplace_back();
    file.data = text;
    file.destination = "local/slurm.conf";
    site.run(slurmctld);
  }
  static Job slurmd(const std::string& version) {
    Job job = Site::slurmd_in("compute");
    job.groups[0].tasks[0].env["VERSION"] = version;
    return job;
  }
  static model::UpdateStrategy careful() {
    model::UpdateStrategy update;
    update.max_parallel = 1;
    update.canary = 10;
    update.healthy_deadline = 40s;
    update.progress_deadline = 0s;
    update.auto_revert = true;
    update.auto_promote = true;
    return update;
  }
  Prospect of(const Job& job, const Places& first = {{"g", {"c1"}}}) {
    const auto found = prospects_of(site.desk.tables, job, first);
    return found.empty() ? Prospect{} : found.front();
  }
  Site site;
};

TEST_F(ProspectTest, SaysForHowLongANodeIsWithoutSlurmdAndWhetherSlurmGivesItUpMeanwhile) {
  with_slurm_conf("SlurmctldHost=mgmt\nSlurmdTimeout=60\n");
  Job job = slurmd("1");
  job.update = careful();
  site.run(job);
  job = slurmd("2");
  job.update = careful();
  const auto now = of(job);
  EXPECT_EQ(now.what, "slurmd");
  EXPECT_EQ(now.rollout, "1 of 6 first, then 1 at a time; it goes back by itself when one fails");
  EXPECT_EQ(now.if_it_fails, "c1 is without slurmd for at most 50s, SlurmdTimeout is 60 s; then it goes back");
  job.update->healthy_deadline = 5min;
  EXPECT_EQ(
      of(job).if_it_fails,
      "c1 is without slurmd for at most 5m10s, SlurmdTimeout is 60 s, after which Slurm queues its jobs again; then "
      "it goes back");
}

TEST_F(ProspectTest, OfAClustersJobEndsWithTheFirstThatIsBad) {
  Job job = slurmd("1");
  job.update = careful();
  job.update->progress_deadline = 10min;
  site.run(job);
  // As if its cluster's directory had declared it, and before any version of it was stable.
  job = *site.desk.tables.find_job(job.ns, job.id);
  job.cluster = "demo";
  job.stable = false;
  site.desk.commit({tables::PutJob{job, std::nullopt}});
  job.groups[0].tasks[0].env["VERSION"] = "2";
  const auto now = of(job);
  EXPECT_EQ(now.rollout, "1 of 6 first, then 1 at a time; it goes back by itself when one fails");
  EXPECT_EQ(now.if_it_fails, "c1 is without slurmd for at most 50s; then it goes back");
}

TEST_F(ProspectTest, SaysThatAllAreWithoutItWhenItIsChangedEverywhereAtOnce) {
  with_slurm_conf("SlurmctldHost=mgmt\n");
  site.run(slurmd("1"));
  const auto now = of(slurmd("2"));
  EXPECT_EQ(now.rollout, "all 6 at once");
  EXPECT_EQ(now.if_it_fails, "all 6 nodes are without slurmd until somebody mends it, SlurmdTimeout is 300 s")
      << "Slurm's default";
}

TEST_F(ProspectTest, OfAServiceIsThatOfItsPolicy) {
  Job job = Site::job_in("web", "compute", JobType::service, 3);
  site.run(job);
  job.groups[0].tasks[0].env["VERSION"] = "2";
  EXPECT_EQ(of(job).rollout, "1 of 3 at a time; it stops when one fails");
  EXPECT_EQ(of(job).if_it_fails, "1 of 3 of web is away until somebody mends it");
  job.update = careful();
  job.update->canary = 1;
  EXPECT_EQ(of(job).rollout, "1 of 3 first, then 1 at a time; it goes back by itself when one fails");
  EXPECT_EQ(of(job).if_it_fails, "what runs now goes on beside it; then it goes back");
}

TEST_F(ProspectTest, IsThereOnlyForWhatIsReplaced) {
  Job job = Site::job_in("web", "compute", JobType::service, 3);
  EXPECT_TRUE(prospects_of(site.desk.tables, job, {}).empty()) << "it is new";
  site.run(job);
  job.groups[0].count = 4;
  EXPECT_TRUE(prospects_of(site.desk.tables, job, {}).empty()) << "nothing of it is replaced";
}

}  // namespace
}  // namespace underway::impact::testing
