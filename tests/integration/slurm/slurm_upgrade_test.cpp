// A cluster on Slurm 20.11 goes to 22.05 under running jobs, with the real daemons of both: slurmdbd with its database,
// then slurmctld, each by `capsule upgrade`, then slurmd by a rollout. Refused in the wrong order, taken back at each
// step until something new was recorded, and back by itself where the new one does not work.
#include <gmock/gmock.h>
#include <unistd.h>

#include "harness/slurm/slurm_releases.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class SlurmUpgrade : public testing::Test {
 public:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (const auto missing = SlurmReleases::missing(); !missing.empty()) GTEST_SKIP() << missing;
    site_.emplace();
    farm_.emplace(site_->cluster(), site_->farm_options());
  }

  void prepare();
  void refuses_the_controller_first();
  void refuses_what_is_too_far();
  void upgrades_the_accounting();
  void takes_the_accounting_back();
  void keeps_what_was_recorded_since();
  void refuses_slurmd_before_its_controller();
  void takes_a_controller_back_that_does_not_start();
  void upgrades_the_controller();
  void takes_the_controller_back();
  void refuses_to_take_back_what_others_need();
  void takes_a_slurmd_back_that_does_not_start();
  void rolls_slurmd_out();
  void finds_that_no_job_noticed();

  Finished ok(const std::vector<std::string>& arguments) const {
    auto finished = site_->cluster().underway(arguments, seconds(300));
    std::cerr << "$ underway";
    for (const auto& word : arguments) std::cerr << " " << word;
    std::cerr << "\n" << finished.out << finished.err;
    EXPECT_EQ(finished.exit_code, 0) << site_->log();
    return finished;
  }
  /// Exits with 1, changes nothing of what runs, and gives the reason.
  void refused(const std::vector<std::string>& arguments, const std::string& why) const {
    const auto before = site_->running();
    const auto finished = site_->cluster().underway(arguments, seconds(300));
    EXPECT_EQ(finished.exit_code, 1) << finished.out << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(why));
    EXPECT_TRUE(eventually(seconds(30), [&] { return site_->running() == before; })) << site_->running() << before;
    std::cerr << finished.err;
  }
  /// What sacct says of the jobs that had ended before anything was upgraded.
  std::string history() const {
    return site_
        ->on_login(
            "sacct -X -n -P -o JobIDRaw,JobName,State,ExitCode,Start,End,AllocTRES,NodeList "
            "--starttime now-1day -j " +
            ended_)
        .out;
  }
  void expect_accounting_as_before() const {
    EXPECT_TRUE(eventually(seconds(30), [&] { return history() == history_; })) << history() << "\n" << history_;
  }

  std::optional<SlurmReleases> site_;
  std::optional<Farm> farm_;
  std::string ended_, history_;
};

void SlurmUpgrade::prepare() {
  ASSERT_EQ(farm_->plant(2, seconds(1)), 2);
  for (const auto& job : farm_->planted()) ended_ += (ended_.empty() ? "" : ",") + job.id;
  ASSERT_TRUE(eventually(seconds(60),
                         [&] {
                           const auto told = history();
                           // What slurmdbd heard of first is the end: the start may follow.
                           const auto start = told.find("|farm|");
                           return start != std::string::npos && told.find("|farm|", start + 1) != std::string::npos &&
                                  told.find("Unknown") == std::string::npos;
                         }))
      << history() << site_->log();
  history_ = history();
  ASSERT_EQ(farm_->plant(4), 4);
  site_->start_steps();
  ASSERT_TRUE(farm_->settled()) << site_->log();
  site_->write_sums();
}

void SlurmUpgrade::refuses_the_controller_first() {
  refused({"capsule", "upgrade", "slurm-controller", "-image", "slurm-controller:22.05"},
          "the slurmdbd 20.11.4 of capsule 'slurm-accounting' is older than its slurmctld 22.05.8");
}

void SlurmUpgrade::refuses_what_is_too_far() {
  refused({"capsule", "upgrade", "slurm-accounting", "-image", "slurm-accounting:23.11"},
          "reads what the 2 major releases before its own have written, and slurmdbd 20.11.4 is 4 behind");
}

void SlurmUpgrade::upgrades_the_accounting() {
  const auto done =
      ok({"capsule", "upgrade", "slurm-accounting", "-image", "slurm-accounting:22.05", "-script", site_->sums()});
  for (const auto* tried : {"stop ", "start ", "check ", "sums.sh "}) EXPECT_THAT(done.out, HasSubstr(tried));
  EXPECT_TRUE(eventually(seconds(30), [&] { return site_->running_accounting() == "22.05"; })) << site_->log();
  expect_accounting_as_before();
}

void SlurmUpgrade::takes_the_accounting_back() {
  ok({"capsule", "upgrade", "-revert", "-yes", "slurm-accounting"});
  EXPECT_TRUE(eventually(seconds(30), [&] { return site_->running_accounting() == "20.11"; })) << site_->log();
  expect_accounting_as_before();
}

void SlurmUpgrade::keeps_what_was_recorded_since() {
  const auto since = site_->submit_and_wait();
  ASSERT_TRUE(eventually(seconds(60), [&] { return site_->accounted(since) == "COMPLETED"; })) << site_->log();
  refused({"capsule", "upgrade", "-revert", "-yes", "slurm-accounting"},
          "Slurm jobs and steps were submitted, started or ended since");
  EXPECT_EQ(site_->accounted(since), "COMPLETED");
}

void SlurmUpgrade::refuses_slurmd_before_its_controller() {
  // Nodes tell every minute what they have.
  ASSERT_TRUE(eventually(seconds(90), [&] { return site_->nodes_tell("/opt/slurm/22.05/sbin/slurmd 22.05.8"); }))
      << site_->log();
  site_->declare({.accounting = "20.11"});
  refused({"apply", "-yes", site_->cluster().directory()},
          "what its slurmdbd 22.05.8 has written its slurmdbd 20.11.4 does not read");
  site_->declare({.accounting = "22.05", .slurmd = "22.05"});
  refused({"apply", "-yes", site_->cluster().directory()},
          "the slurmctld 20.11.4 of capsule 'slurm-controller' is older than the slurmd 22.05.8 in "
          "/opt/slurm/22.05/sbin/slurmd");
  const auto planned = site_->cluster().underway({"plan", site_->cluster().directory()});
  EXPECT_THAT(planned.err, HasSubstr("warning: job 'slurmd': the slurmctld 20.11.4"));
}

void SlurmUpgrade::takes_a_controller_back_that_does_not_start() {
  site_->save_controller();
  site_->share("hold.before_stop");
  Background upgrading(site_->cluster().command(
      {"capsule", "upgrade", "slurm-controller", "-image", "slurm-controller:fails"}, seconds(300)));
  ASSERT_TRUE(eventually(seconds(90), [&] { return site_->phase("slurm-controller") == "before_stop"; }))
      << upgrading.told() << site_->log();
  site_->share("fail");
  site_->unshare("hold.before_stop");
  EXPECT_EQ(upgrading.wait(seconds(180)), 1) << upgrading.told() << site_->log();
  site_->unshare("fail");
  EXPECT_TRUE(eventually(seconds(30), [&] { return site_->running_controller() == "20.11"; })) << site_->log();
  EXPECT_EQ(site_->on_login("scontrol ping").exit_code, 0) << site_->log();
  const auto told = site_->cluster().underway({"capsule", "status", "slurm-controller"}).out;
  EXPECT_THAT(told, HasSubstr("went back"));
}

void SlurmUpgrade::upgrades_the_controller() {
  ok({"capsule", "upgrade", "slurm-controller", "-image", "slurm-controller:22.05"});
  EXPECT_TRUE(eventually(seconds(30), [&] { return site_->running_controller() == "22.05"; })) << site_->log();
}

void SlurmUpgrade::takes_the_controller_back() {
  ok({"capsule", "upgrade", "-revert", "-yes", "slurm-controller"});
  EXPECT_TRUE(eventually(seconds(30), [&] { return site_->running_controller() == "20.11"; })) << site_->log();
  EXPECT_EQ(site_->on_login("scontrol ping").exit_code, 0) << site_->log();
}

void SlurmUpgrade::refuses_to_take_back_what_others_need() {
  refused({"capsule", "upgrade", "-revert", "-yes", "slurm-accounting"},
          "its slurmdbd 20.11.4 is older than the slurmctld 22.05.8 of capsule 'slurm-controller'");
  site_->use_clients("22.05");
  const auto since = site_->submit_and_wait();
  refused({"capsule", "upgrade", "-revert", "-yes", "slurm-controller"},
          "the controller of before does not know of it");
  ASSERT_TRUE(eventually(seconds(60), [&] { return site_->accounted(since) == "COMPLETED"; })) << site_->log();
}

void SlurmUpgrade::takes_a_slurmd_back_that_does_not_start() {
  site_->declare({"22.05", "22.05", "bad"});
  const auto applied = site_->cluster().underway({"apply", "-yes", site_->cluster().directory()}, seconds(300));
  EXPECT_EQ(applied.exit_code, 1) << applied.out << applied.err;
  EXPECT_TRUE(eventually(seconds(90), [&] { return site_->nodes_run("20.11.4"); })) << site_->log();
}

void SlurmUpgrade::rolls_slurmd_out() {
  site_->share("steps");
  site_->declare({"22.05", "22.05", "22.05"});
  ok({"apply", "-yes", site_->cluster().directory()});
  EXPECT_TRUE(eventually(seconds(90), [&] { return site_->nodes_run("22.05.8"); })) << site_->log();
  refused({"capsule", "upgrade", "-revert", "-yes", "slurm-controller"},
          "its slurmctld 20.11.4 is older than the slurmd 22.05.8 of c1, c2");
}

void SlurmUpgrade::finds_that_no_job_noticed() {
  site_->submit_and_wait();
  EXPECT_EQ(farm_->plant(2, seconds(1)), 2);
  site_->share("release");
  const auto harvest = farm_->harvest();
  EXPECT_THAT(harvest.problems, testing::IsEmpty());
  EXPECT_EQ(harvest.jobs, 8U);
  std::cerr << harvest.ticks << " ticks, the longest gap " << harvest.longest_gap << " s\n";
  EXPECT_EQ(site_->problems_of_steps(), "") << site_->log();
  expect_accounting_as_before();
}

TEST_F(SlurmUpgrade, GoesFrom2011To2205UnderRunningJobsAndBackAtEachStep) {
  using Step = void (SlurmUpgrade::*)();
  const std::vector<std::pair<const char*, Step>> steps = {
      {"prepare", &SlurmUpgrade::prepare},
      {"the controller first is refused", &SlurmUpgrade::refuses_the_controller_first},
      {"too far is refused", &SlurmUpgrade::refuses_what_is_too_far},
      {"the accounting is upgraded", &SlurmUpgrade::upgrades_the_accounting},
      {"and taken back", &SlurmUpgrade::takes_the_accounting_back},
      {"and upgraded again", &SlurmUpgrade::upgrades_the_accounting},
      {"what was recorded since is not lost", &SlurmUpgrade::keeps_what_was_recorded_since},
      {"slurmd before its controller is refused", &SlurmUpgrade::refuses_slurmd_before_its_controller},
      {"a controller that does not start", &SlurmUpgrade::takes_a_controller_back_that_does_not_start},
      {"the controller is upgraded", &SlurmUpgrade::upgrades_the_controller},
      {"and taken back", &SlurmUpgrade::takes_the_controller_back},
      {"and upgraded again", &SlurmUpgrade::upgrades_the_controller},
      {"what others need is not taken back", &SlurmUpgrade::refuses_to_take_back_what_others_need},
      {"a slurmd that does not start", &SlurmUpgrade::takes_a_slurmd_back_that_does_not_start},
      {"slurmd is rolled out", &SlurmUpgrade::rolls_slurmd_out},
      {"no job noticed", &SlurmUpgrade::finds_that_no_job_noticed}};
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& [name, step] : steps) {
    SCOPED_TRACE(name);
    const auto since = std::chrono::duration_cast<seconds>(std::chrono::steady_clock::now() - begun).count();
    std::cerr << "--- " << since << " s: " << name << "\n";
    (this->*step)();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace underway::harness
