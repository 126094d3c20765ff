// Everything of ours that reads what Slurm prints, or tells Slurm something, against the real daemons of each release
// that is supported: the same words go in, and our own readers take what comes out. The last test has the list of the
// places that do so; one that is new belongs there, and here.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <ctime>
#include <filesystem>
#include <map>
#include <regex>
#include <utility>

#include "harness/places.hpp"
#include "harness/slurm/slurm_site.hpp"
#include "slurm/drain.hpp"
#include "slurm/queue.hpp"
#include "slurm/reconcile/ends.hpp"
#include "slurm/reconcile/hold.hpp"
#include "slurm/reconcile/reconcile.hpp"
#include "slurm/version.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

using Names = std::set<std::string>;

class SlurmVersions : public testing::TestWithParam<SlurmRelease> {
 protected:
  static void TearDownTestSuite() { sites().clear(); }

  void SetUp() override {
    if (!std::filesystem::exists(GetParam().root + "/usr/sbin/slurmctld"))
      GTEST_SKIP() << "needs Slurm " << GetParam().version << " below " << GetParam().root
                   << ": packaging/slurm-roots makes it";
    auto& mine = sites()[GetParam().version];
    if (!mine) mine = std::make_unique<SlurmSite>(GetParam());
    site_ = mine.get();
  }

  std::string ask(const std::vector<std::string>& command) const {
    const auto said = site_->run(command);
    EXPECT_EQ(said.exit_code, 0) << command.back() << ": " << said.err;
    return said.out;
  }
  std::string line(const std::string& text) const {
    const auto said = site_->shell(text);
    EXPECT_EQ(said.exit_code, 0) << text << ": " << said.err;
    return said.out;
  }
  void order(const std::vector<std::vector<std::string>>& commands) const {
    for (const auto& command : commands) ask(command);
  }

  std::vector<slurm::SlurmJob> slurm_jobs() const { return slurm::parse_slurm_jobs(ask(slurm::slurm_jobs_command())); }
  std::string state_of(const std::string& job) const {
    for (const auto& slurm_job : slurm_jobs()) {
      if (slurm_job.name == job) return slurm_job.state;
    }
    return "";
  }
  std::map<std::string, slurm::NodeState> nodes() const {
    std::map<std::string, slurm::NodeState> out;
    for (auto& node : slurm::parse_nodes(ask(slurm::nodes_command()))) out[node.name] = node;
    return out;
  }
  std::map<std::string, bool> partitions() const {
    std::map<std::string, bool> out;
    for (const auto& partition : slurm::parse_partitions(ask(slurm::partitions_command())))
      out[partition.name] = partition.up;
    return out;
  }
  std::string config() const { return ask(slurm::config_command()); }
  Names host_jobs() const {
    return slurm::parse_host_steps(line(slurm::kStepsScript)).value_or(Names{"the script did not get to its end"});
  }
  slurm::Reconciliation compare(const Names& on_host) const {
    std::map<std::string, std::string> host_of;
    for (const auto& [name, node] : nodes()) host_of[name] = node.hostname;
    return slurm::reconcile(slurm_jobs(), slurm::parse_steps(ask(slurm::steps_command())), host_of, {{"ctl", on_host}});
  }
  /// Gives slurmctld what stands in the file of the hold.
  void include(const std::string& text) const {
    ask({"/bin/sh", "-c", "printf '%s' \"$1\" > /etc/slurm/underway-hold.conf; scontrol reconfigure", "sh", text});
    ASSERT_TRUE(eventually(seconds(20), [&] { return !slurm::parse_boot_time(config()).empty(); }));
  }
  /// The words after `-c` of the only task or step of that name in a file of the examples.
  static std::string script_of(const std::string& file, const std::string& name) {
    const std::string text = read_text(source_dir() + "/examples/" + file);
    const std::regex pattern(name + R"rx(" \{[\s\S]*?"-c", "((?:[^"\\]|\\.)*)")rx");
    std::smatch found;
    EXPECT_TRUE(std::regex_search(text, found, pattern)) << file;
    return std::regex_replace(found[1].str(), std::regex(R"(\\(.))"), "$1");
  }

  /// Whether examples/decoupled/slurmd.hcl would have its slurmd wait: what it asks, with the configuration that it
  /// has.
  bool example_waits() const {
    const std::string text = read_text(source_dir() + "/examples/decoupled/slurmd.hcl");
    std::smatch question;
    EXPECT_TRUE(std::regex_search(text, question, std::regex(R"rx(held\(\) \{ (.*); \}\n)rx")));
    return site_
               ->shell(
                   "printf 'ClusterName=site\nSlurmctldHost=ctl\nAuthType=auth/munge\n' > /tmp/three-lines.conf; "
                   "export SLURM_CONF=/tmp/three-lines.conf; " +
                   question[1].str())
               .exit_code == 0;
  }

  SlurmSite* site_ = nullptr;

 private:
  static std::map<std::string, std::unique_ptr<SlurmSite>>& sites() {
    static std::map<std::string, std::unique_ptr<SlurmSite>> all;
    return all;
  }
};

TEST_P(SlurmVersions, SayWhichOneTheyAre) {
  for (const auto* program : {"slurmd", "slurmctld", "slurmdbd"}) {
    const auto version = slurm::find_version(ask({program, "-V"}));
    ASSERT_TRUE(version) << program;
    EXPECT_EQ(version->major(), GetParam().version) << program;
  }
}

TEST_P(SlurmVersions, TellOfNodesInEveryState) {
  const auto job = site_->submit("-N2 -w n3,n4 --wrap 'srun -N2 sleep 600'");
  const auto hidden = site_->submit("-p hidden --wrap 'srun sleep 600'");
  ASSERT_TRUE(eventually(seconds(20), [&] { return state_of(job) == "RUNNING" && state_of(hidden) == "RUNNING"; }));
  line(
      "scontrol create reservation reservationname=maint starttime=now duration=60 users=root nodes=n9,n11 "
      "flags=maint,ignore_jobs && "
      "scontrol create reservation reservationname=kept starttime=now duration=60 users=root nodes=n10");
  order({slurm::drain_command({"n3"}, "bad | DIMM: yes"),
         slurm::drain_command({"n6", "n11"}, slurm::kDrainReason),
         {"scontrol", "update", "nodename=n7", "state=down", "reason=gone"}});
  ASSERT_TRUE(eventually(seconds(20), [&] {
    const auto now = nodes();
    return now.at("n3").state == "draining" && now.at("n9").state == "maint" && now.at("n10").state == "reserved";
  })) << line("sinfo -N");
  const auto now = nodes();
  EXPECT_EQ(now.size(), 12U);
  EXPECT_EQ(now.at("n1"), (slurm::NodeState{"n1", "ctl", "idle", "none"}));
  EXPECT_EQ(now.at("n3"), (slurm::NodeState{"n3", "ctl", "draining", "bad | DIMM: yes"}));
  EXPECT_EQ(now.at("n4").state, "mixed");
  EXPECT_EQ(now.at("n6"), (slurm::NodeState{"n6", "ctl", "drained", slurm::kDrainReason}));
  EXPECT_EQ(now.at("n7"), (slurm::NodeState{"n7", "ctl", "down", "gone"}));
  EXPECT_EQ(now.at("n11"), (slurm::NodeState{"n11", "ctl", "drained", slurm::kDrainReason})) << "and in maintenance";
  EXPECT_EQ(now.at("n12").state, "mixed") << "its partition is hidden";
  EXPECT_EQ(slurm::parse_jobs(ask(slurm::jobs_command({"n3", "n4", "n9"}))),
            (std::map<std::string, std::vector<std::string>>{{"n3", {job}}, {"n4", {job}}}));
  EXPECT_EQ(slurm::parse_jobs(ask(slurm::jobs_command({})))["n12"], std::vector<std::string>{hidden});

  // A drain that waits, and one that is over.
  model::Node node;
  node.slurm_drain.emplace();
  node.drain.emplace();
  EXPECT_EQ(slurm::decide_slurm_drain(node, {now.at("n3")}).step, slurm::DrainStep::wait);
  EXPECT_EQ(slurm::decide_slurm_drain(node, {now.at("n11")}).step, slurm::DrainStep::release);
  order({slurm::resume_command({"n6", "n11"})});
  EXPECT_TRUE(eventually(seconds(20), [&] { return nodes().at("n6").state == "idle"; }));
  EXPECT_EQ(nodes().at("n11").state, "maint");
  EXPECT_EQ(nodes().at("n6").reason, "none");

  // One whose slurmd is gone, and whose jobs run.
  line("kill -9 $(pgrep -f '^slurmd -D -N n4$')");
  ASSERT_TRUE(eventually(seconds(30), [&] {
    site_->shell("scancel -s CONT " + job);
    return slurm::parse_silent(ask(slurm::partitions_command())).contains("n4");
  })) << line("sinfo -N");
  const auto silent = slurm::parse_silent(ask(slurm::partitions_command()));
  EXPECT_FALSE(silent.contains("n3"));
  EXPECT_FALSE(silent.contains("n7")) << "that one is down";
  EXPECT_THAT(host_jobs(), IsSupersetOf({job, hidden}));
  // A signal is on its way to it: it runs for all that.
  site_->shell("scancel -s CONT " + job);
  EXPECT_THAT(compare(host_jobs()).findings, IsEmpty()) << line("squeue -t all");
  EXPECT_THAT(slurm::cut_off(silent, slurm_jobs(), {{"n3", "ctl"}, {"n4", "ctl"}}, {{"ctl", host_jobs()}}),
              ElementsAre("n4"));
  line("scancel " + job + " " + hidden + "; scontrol delete reservation=maint; scontrol delete reservation=kept; " +
       "scontrol update nodename=n3 state=resume; slurmd -N n4");
  EXPECT_TRUE(eventually(seconds(60), [&] { return nodes().at("n4").state == "idle" && host_jobs().empty(); }))
      << line("sinfo -N; squeue");
}

TEST_P(SlurmVersions, TellOfJobsInEveryStateAndOfTheirSteps) {
  const auto plain = site_->submit("-w n1 --wrap 'srun sleep 600'");
  const auto array = site_->submit("-w n2 --array=1-4%2 --wrap 'sleep 600'");
  const auto held = site_->submit("--hold --wrap true");
  const auto waits = site_->submit("--dependency=afterok:" + plain + " --wrap true");
  const auto wide = site_->submit("-N2 -w n3,n5 --wrap 'srun -N2 sleep 600'");
  const auto stopped = site_->submit("-w n1 --wrap 'sleep 600'");
  const auto mixed = site_->submit("-n1 -w n6 : -n1 -w n9 --wrap 'srun --het-group=0,1 sleep 600'");
  const auto allocation = line("salloc --no-shell -w n10 2>&1 | sed -n 's/.*Granted job allocation //p'");
  const auto alone = allocation.substr(0, allocation.find('\n'));
  const auto has_steps = [&] { return slurm::parse_steps(ask(slurm::steps_command())); };
  ASSERT_TRUE(eventually(seconds(30), [&] {
    const auto steps = line("squeue -s -h -o %i");
    return has_steps().contains(array + "_2") && steps.find(wide + ".0\n") != std::string::npos &&
           steps.find(plain + ".0\n") != std::string::npos && state_of(stopped) == "RUNNING" &&
           line("squeue -h -t R -o %i").find(mixed + "+1") != std::string::npos && host_jobs().size() == 7U;
  })) << line("squeue; squeue -s");
  line("scontrol suspend " + stopped);

  std::map<std::string, slurm::SlurmJob> by_name;
  std::map<std::string, std::int64_t> began, submitted;
  for (auto slurm_job : slurm_jobs()) {
    began[slurm_job.name] = std::exchange(slurm_job.start, 0);
    submitted[slurm_job.name] = std::exchange(slurm_job.submitted, 0);
    by_name[slurm_job.name] = slurm_job;
  }
  EXPECT_NEAR(static_cast<double>(began[plain]), static_cast<double>(std::time(nullptr)), 600);
  EXPECT_EQ(began[held], 0);
  EXPECT_NEAR(static_cast<double>(submitted[held]), static_cast<double>(std::time(nullptr)), 600);
  EXPECT_EQ(by_name[plain], (slurm::SlurmJob{plain, "RUNNING", "root", {"n1"}}));
  EXPECT_EQ(by_name[wide], (slurm::SlurmJob{wide, "RUNNING", "root", {"n3", "n5"}}));
  EXPECT_EQ(by_name[stopped], (slurm::SlurmJob{stopped, "SUSPENDED", "root", {"n1"}}));
  EXPECT_EQ(by_name[held], (slurm::SlurmJob{held, "PENDING", "root", {}, true}));
  EXPECT_EQ(by_name[waits], (slurm::SlurmJob{waits, "PENDING", "root", {}}));
  EXPECT_EQ(by_name[alone], (slurm::SlurmJob{alone, "RUNNING", "root", {"n10"}}));
  EXPECT_TRUE(by_name[array].is_array);
  by_name[array].is_array = false;
  EXPECT_EQ(std::exchange(by_name[array].waiting, ""), array + "_[3-4]");
  EXPECT_EQ(by_name[array], (slurm::SlurmJob{array, "PENDING", "root", {}})) << "those that wait";
  const auto first = by_name[array + "_1"].id, second = by_name[array + "_2"].id;
  EXPECT_EQ(by_name[array + "_2"], (slurm::SlurmJob{second, "RUNNING", "root", {"n2"}, false, 0, array + "_2"}));
  EXPECT_EQ(by_name[mixed].nodes, std::vector<std::string>{"n6"});
  const auto other = std::to_string(std::stoi(mixed) + 1);
  EXPECT_EQ(by_name[other].nodes, std::vector<std::string>{"n9"});

  EXPECT_THAT(has_steps(), UnorderedElementsAre(plain, array + "_1", array + "_2", wide, stopped, mixed, other));
  const auto there = host_jobs();
  EXPECT_THAT(there, UnorderedElementsAre(plain, first, second, wide, stopped, mixed, other));
  EXPECT_THAT(compare(there).findings, IsEmpty());

  // A task of the array runs nowhere: that one is ended, and no other.
  Names without = there;
  without.erase(second);
  const auto made = compare(without);
  ASSERT_EQ(made.findings.size(), 1U);
  EXPECT_EQ(made.findings[0].kind, slurm::Finding::Kind::ghost);
  order(made.commands);
  EXPECT_TRUE(eventually(seconds(20), [&] { return state_of(array + "_2") == "CANCELLED"; }));
  EXPECT_EQ(state_of(array + "_1"), "RUNNING");
  EXPECT_THAT(state_of(array), testing::AnyOf("PENDING", "")) << line("squeue -t all");

  // An old state: what waits is held, though scontrol complains of the array.
  const auto old = slurm::reconcile(slurm_jobs(), has_steps(), {}, {}, std::chrono::hours(1));
  EXPECT_TRUE(old.held.contains(waits));
  EXPECT_FALSE(old.held.contains(held)) << "it is";
  for (const auto& command : old.commands) {
    if (command.front() == "scontrol") site_->run(command);
  }
  EXPECT_THAT(slurm::not_held(old.held, slurm_jobs()), IsEmpty()) << line("squeue -t all");

  // What is spared runs on, and slurmd does not know it any more.
  const auto spared = site_->run({"/bin/sh", "-c", slurm::kSpareScript, "sh", plain});
  EXPECT_TRUE(slurm::parse_host_steps(spared.out)) << spared.out << spared.err;
  EXPECT_EQ(line("ls /srv/slurmd/n1/spared | wc -l"), "2\n") << line("ls -R /srv/slurmd/n1");
  EXPECT_TRUE(host_jobs().contains(plain));

  // The accounts, as the step that checks a capsule asks for them, and whoever looks for a job that has ended.
  EXPECT_TRUE(eventually(seconds(20), [&] {
    return line("sacct -n -X -P -o State -j " + array + "_2").starts_with("CANCELLED");
  })) << line("sacct -X");
  line("scancel -u root; pkill -9 -x slurmstepd; pkill -x sleep; true");
}

TEST_P(SlurmVersions, TellHowJobsEnded) {
  const auto good = site_->submit("-w n1 --wrap 'exit 0'"), bad = site_->submit("-w n2 --wrap 'exit 3'");
  const auto killed = site_->submit("-w n1 --wrap 'kill -SEGV $$'");
  slurm::Ends ends;
  ASSERT_TRUE(eventually(seconds(40), [&] {
    ends = slurm::parse_accounts(ask(slurm::accounts_command({good, bad, killed})));
    return ends.size() == 3;
  })) << line("sacct -X");
  EXPECT_EQ(ends[good].state, "COMPLETED");
  EXPECT_EQ(ends[good].status, 0);
  EXPECT_EQ(ends[bad].state, "FAILED");
  EXPECT_EQ(WEXITSTATUS(ends[bad].status), 3);
  EXPECT_EQ(ends[killed].state, "FAILED");
  EXPECT_EQ(WTERMSIG(ends[killed].status), SIGSEGV);
  // And as it stands in the logs of their nodes.
  std::vector<std::string> read = {"/bin/sh", "-c", slurm::kEndsScript, "sh", good + "," + bad + "," + killed, "0"};
  for (const auto* node : {"n1", "n2"}) read.push_back(slurm::slurmd_log(config(), "ctl", node));
  const auto logs = ask(read);
  auto told = slurm::parse_ends(logs);
  ASSERT_TRUE(told) << logs;
  SCOPED_TRACE(logs + line("sacct -X -o JobIDRaw,JobID,State,ExitCode,Start,End"));
  for (const auto& job : {good, bad, killed}) {
    auto& end = (*told)[job];
    EXPECT_TRUE(end.of_batch) << job;
    EXPECT_NEAR(static_cast<double>(end.start), static_cast<double>(ends[job].start), 3) << job;
    EXPECT_NEAR(static_cast<double>(end.end), static_cast<double>(ends[job].end), 3) << job;
    EXPECT_EQ(end.state, ends[job].state) << job;
    EXPECT_EQ(end.status, ends[job].status) << job;
    EXPECT_EQ(slurm::enter_command(slurm::Enter::row, job, end).back(), std::to_string(end.end));
  }
}

TEST_P(SlurmVersions, AreHeldAndToldToGoOn) {
  ASSERT_TRUE(eventually(seconds(60), [&] { return nodes().at("n1").empty() || nodes().at("n1").state == "idle"; }));
  const auto job = site_->submit("-w n1 --wrap 'srun sleep 600'");
  ASSERT_TRUE(eventually(seconds(20), [&] { return host_jobs().contains(job); }));
  order({slurm::partition_command("other", false)});
  EXPECT_EQ(partitions(), (std::map<std::string, bool>{{"main", true}, {"other", false}, {"hidden", true}}));
  EXPECT_FALSE(slurm::is_held(config()));
  EXPECT_TRUE(slurm::gives_nodes_up(config()));
  const auto next = slurm::parse_next_job(config());
  EXPECT_EQ(next, std::stoll(job) + 1) << "20.11 may be one ahead, the others are not";
  EXPECT_EQ(slurm::parse_first_job(config()), 0);

  include(slurm::hold_text({}));
  EXPECT_TRUE(slurm::is_held(config()));
  EXPECT_TRUE(example_waits());
  EXPECT_EQ(partitions(), (std::map<std::string, bool>{{"main", false}, {"other", false}, {"hidden", false}}));
  const auto waits = site_->submit("-w n2 --wrap true");
  EXPECT_EQ(state_of(waits), "PENDING");
  EXPECT_EQ(state_of(job), "RUNNING");

  // Numbers that others had are not given again, as long as the configuration says so.
  include(slurm::hold_text({.timeout = {}, .partitions_down = false, .first_job = 5000}));
  EXPECT_FALSE(slurm::is_held(config()));
  EXPECT_EQ(slurm::parse_first_job(config()), 5000);
  EXPECT_GE(slurm::parse_next_job(config()), 5000);
  EXPECT_GE(std::stoi(site_->submit("--hold --wrap true")), 5000);
  order({slurm::partition_command("main", true)});
  EXPECT_TRUE(partitions().at("main"));
  include(slurm::hold_text({.timeout = slurm::kNeverTimeout, .partitions_down = false, .first_job = 5000}));
  EXPECT_FALSE(slurm::gives_nodes_up(config()));
  EXPECT_GE(slurm::parse_next_job(config()), 5000);
  include(slurm::no_hold_text());
  EXPECT_FALSE(example_waits());
  EXPECT_TRUE(slurm::gives_nodes_up(config()));
  EXPECT_EQ(slurm::parse_next_job(config()) < 5000, GetParam().version < "24.11") << "which is why it has to stay";
  EXPECT_TRUE(eventually(seconds(20), [&] { return state_of(waits) == "COMPLETED"; })) << line("squeue -t all; sinfo");
  EXPECT_EQ(state_of(job), "RUNNING");
  EXPECT_TRUE(host_jobs().contains(job));
  line("scancel -u root");
}

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

INSTANTIATE_TEST_SUITE_P(Releases, SlurmVersions, testing::ValuesIn(slurm_releases()), [](const auto& release) {
  auto name = release.param.version;
  return name.erase(name.find('.'), 1);
});

// What has Slurm say something, and how it is tried above, or beside it (slurm_pools_test.cpp, slurm_sleep_test.cpp). A
// file that is not here is new: try what it reads, too.
TEST(SlurmReaders, AreAllKnown) {
  const std::map<std::string, std::string> known = {
      {"examples/decoupled/images/files/slurm/accounts", "integration.slurm_limits, decoupled"},
      {"examples/decoupled/images/files/slurm/after-start", "says nothing: scontrol reconfigure"},
      {"examples/decoupled/images/files/slurm/before-revert", "integration.slurm_upgrade"},
      {"examples/decoupled/images/files/slurm/enter-end",
       "HaveStartsEnteredWithWhatWasGiven; of ends: integration.decoupled_loss, debian13_decoupled_loss"},
      {"examples/decoupled/images/files/slurm/reach-nodes", "AnswerWhatTheExamplesAsk"},
      {"examples/decoupled/images/slurm-services.hcl", "AnswerWhatTheExamplesAsk"},
      {"examples/decoupled/nodes/health", "integration.slurm_limits"},
      {"examples/decoupled/slurmd.hcl", "AnswerWhatTheExamplesAsk"},
      {"examples/slurm/node-health", "integration.slurm_limits"},
      {"examples/slurm/slurmctld.hcl", "says nothing: scontrol reconfigure"},
      {"examples/slurm/slurmd.hcl", "AnswerWhatTheExamplesAsk"},
      {"examples/slurm/slurmdbd.hcl", "says nothing: sacctmgr -i add"},
      {"src/hpc/slurm/elastic/difference.cpp", "integration.slurm_pools"},
      {"src/hpc/slurm/elastic/job_sleep.cpp", "integration.slurm_sleep"},
      {"src/hpc/slurm/elastic/membership.cpp", "for people"},
      {"src/hpc/slurm/elastic/members.cpp", "integration.slurm_pools"},
      {"src/hpc/slurm/elastic/node_record.cpp", "integration.slurm_pools"},
      {"src/hpc/slurm/reconcile/ends.cpp", "TellHowJobsEnded"},
      {"src/hpc/slurm/reconcile/hold.cpp", "AreHeldAndToldToGoOn"},
      {"src/hpc/slurm/queue.cpp", "TellOfNodesInEveryState"},
      {"src/hpc/slurm/reconcile/reconcile.cpp", "TellOfJobsInEveryStateAndOfTheirSteps"},
      {"src/hpc/slurm/reconcile/reconciler.cpp", "AreHeldAndToldToGoOn"},
      {"src/hpc/slurm/reconcile/slurm_jobs.cpp", "TellOfJobsInEveryStateAndOfTheirSteps"},
      {"src/hpc/adoption/plan/adoption_steps.cpp", "for people; integration.adopt"},
      {"src/hpc/adoption/draft/recipe.cpp", "AnswerWhatTheExamplesAsk"},
      {"src/hpc/adoption/plan/slurm_draft.cpp", "AnswerWhatTheExamplesAsk"},
      {"src/hpc/adoption/plan/slurm_step.cpp", "AnswerWhatTheExamplesAsk"},
      {"src/hpc/inspection/site.cpp", "says nothing: scontrol reconfigure"},
      {"src/surface/api/cluster/status.cpp", "for people"},
      {"src/surface/cli/elastic/simulate.cpp", "for people"},
      {"src/surface/cli/impact/cluster_losses.cpp", "TellOfNodesInEveryState"},
      {"src/surface/cli/file/add.cpp", "for people"},
      {"src/surface/cli/host/exec.cpp", "for people"},
  };
  // Not in comments.
  constexpr const char* kWords = "(^|[^/a-z])(scontrol|squeue|sinfo|sacct|sacctmgr|scancel|sdiag|sprio|sreport)[\" ]";
  const auto found =
      shell("cd " + source_dir() +
            " && find examples src -type f | "
            "grep -vE '/tests/|/fuzz/|/testing/|\\.(md|hpp)$' | sort | xargs awk '/^ *(\\/\\/|#)/ { next } /" +
            std::string(kWords) + "/ { print FILENAME; nextfile }'");
  std::istringstream lines(found.out);
  for (std::string file; std::getline(lines, file);)
    EXPECT_TRUE(known.contains(file)) << file << " asks Slurm something: see above";
  for (const auto& [file, where] : known) EXPECT_THAT(found.out, HasSubstr(file + "\n")) << "asks nothing any more";
  // And each command of ours is given there, but those that look at a node and not at Slurm (slurm/elastic/look.hpp).
  std::string here;
  for (const auto* test : {"slurm_versions", "slurm_pools", "slurm_sleep"})
    here += read_text(fmt::format("{}/tests/integration/slurm/{}_test.cpp", source_dir(), test));
  std::istringstream commands(
      shell("grep -rhoE --include='*.hpp' --exclude=look.hpp '[a-z_]+_command\\(' " + source_dir() + "/src/hpc/slurm")
          .out);
  for (std::string name; std::getline(commands, name);)
    EXPECT_NE(here.find("slurm::" + name), std::string::npos) << name << ") is not tried with each release";
}

}  // namespace
}  // namespace underway::harness
