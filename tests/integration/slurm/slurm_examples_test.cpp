// What the examples have Slurm say, against the real daemons of each release that is supported: their own words are
// taken from their files. It runs with the tests of slurm_versions_test.cpp, after them, on the same sites.
#include <gmock/gmock.h>

#include "integration/slurm/slurm_versions.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST_P(SlurmVersions, AnswerWhatTheExamplesAsk) {
  ASSERT_TRUE(eventually(seconds(60), [&] { return host_jobs().empty(); })) << line("squeue");
  EXPECT_EQ(line("scontrol show hostnames 'n[1-3],n12' | xargs"), "n1 n2 n3 n12\n");  // images/files/slurm/reach-nodes
  EXPECT_EQ(site_->shell(script_of("decoupled/images/slurm-services.hcl", "step \"check")).exit_code, 0);
  // A slurmd that is ready ends the wait, and one that is not there does not.
  for (const std::string file : {"slurm/slurmd.hcl", "decoupled/slurmd.hcl"}) {
    SCOPED_TRACE(file);
    const auto script = script_of(file, "task \"ready");
    const auto ready = [&](const std::string& node) {
      return site_->run({"env", "SLURMD_NODENAME=" + node, "/bin/sh", "-c",
                         "case $1 in *'$0'*) exec timeout 5 sh -c \"$1\" $2;; esac; exec timeout 5 sh -c \"$1\" sh $2",
                         "sh", script, node});
    };
    EXPECT_EQ(ready("n2").exit_code, 0) << ready("n2").err;
    EXPECT_EQ(ready("n8").exit_code, 124) << "it was never started";
  }
  // examples/decoupled/nodes/observe
  const std::string observe = read_text(source_dir() + "/examples/decoupled/nodes/observe");
  std::smatch counts;
  ASSERT_TRUE(std::regex_search(observe, counts, std::regex(R"rx(slurmd=\$\((pgrep .*)\)\n)rx")));
  EXPECT_EQ(line(counts[1].str()), "10\n") << counts[1] << "\n" << line("ps ax -o comm | sort | uniq -c");
  // The capsule's check in the steps of an adoption, and its list of what ran before and runs after.
  EXPECT_EQ(site_->shell("scontrol ping | grep -q UP").exit_code, 0);
  const auto job = site_->submit("-w n2 --wrap 'sleep 600'");
  ASSERT_TRUE(eventually(seconds(20), [&] { return state_of(job) == "RUNNING"; }));
  EXPECT_THAT(line("SLURM_TIME_FORMAT=%s squeue -a -h -t R -o '%i %S'"), testing::MatchesRegex(job + " [0-9]{10}\n"));
  EXPECT_TRUE(eventually(seconds(20), [&] {
    const auto said = "\n" + line("sacct -a -X -S now-1hours -n -P -o JobID,State,Start,End");
    return said.find("\n" + job + "|RUNNING|") != std::string::npos;
  })) << line("sacct -X");
  line("scancel " + job);
}

// examples/decoupled/images/files/slurm/enter-end
TEST_P(SlurmVersions, HaveStartsEnteredWithWhatWasGiven) {
  ASSERT_TRUE(eventually(seconds(60), [&] { return host_jobs().empty(); })) << line("squeue");
  const std::string script = read_text(source_dir() + "/examples/decoupled/images/files/slurm/enter-end");
  const auto account = [&](const std::string& statement) {
    return ask({"mariadb", "--no-defaults", "--socket=/run/mysqld/mysqld.sock", "-u", "root", "-N", "-B",
                "slurm_acct_db", "-e", statement});
  };
  const auto given = [&](const std::string& job) {
    // Energy that nobody has counted yet is of no matter.
    return account(
        "select replace(tres_alloc, '3=18446744073709551614,', ''), nodelist from site_job_table "
        "where time_start > 0 and id_job = " +
        job);
  };
  const auto told_all = [&](const std::string& job) {  // slurmctld tells of a start in parts, five seconds apart
    return !account(
                "select 1 from site_job_table where tres_alloc != '' and mod_time < unix_timestamp() - 7 and "
                "id_job = " +
                job)
                .empty();
  };
  const auto settled = [&] { return ask({"perl", "-e", script, "--", "-settle"}); };
  const auto job = site_->submit("-N 2 -n 3 --mem=1500 -w n2,n3 --wrap 'sleep 600'");
  const auto unpaid = site_->submit("-w n5 --wrap 'sleep 600'");
  ASSERT_TRUE(eventually(seconds(60), [&] { return told_all(job) && told_all(unpaid); })) << line("squeue; sacct -X");
  const auto had = given(job);
  EXPECT_THAT(had, testing::ContainsRegex("(^|,)2=3000(,|\t)")) << "megabytes on two nodes";

  account("update site_job_table set time_start = 0, tres_alloc = '', nodelist = '', mod_time = 0 where id_job = " +
          job + "; delete from site_job_table where id_job = " + unpaid);
  EXPECT_EQ(given(job), "");
  std::string said;
  EXPECT_TRUE(eventually(seconds(90), [&] { return (said = settled()).ends_with("0 left\n"); })) << said;
  EXPECT_THAT(said, HasSubstr("no row " + unpaid + "\n"));
  EXPECT_EQ(said.find("no row " + job), std::string::npos) << said;
  EXPECT_EQ(given(job), had);
  EXPECT_EQ(given(unpaid), "") << "none is made up";
  line("scancel " + job + " " + unpaid);
}

}  // namespace
}  // namespace underway::harness
