// The host of the Slurm controller dies, in examples/decoupled as it is shipped: nobody has moved anything, nobody has
// asked for a standby. What was acknowledged a second before is known afterwards, and nobody is needed.
#include <fmt/format.h>

#include <sstream>

#include "integration/decoupled/decoupled.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

class DecoupledLoss : public DecoupledCluster {
 protected:
  /// What `command` prints on the login host.
  std::string on_login(const std::string& command) const { return cluster_.enter("login", command).out; }
  std::string submit(const std::string& options, const std::string& command) const {
    const auto sent =
        cluster_.enter("login", "sbatch --parsable --mem=16 -o /dev/null " + options + " --wrap='" + command + "'");
    EXPECT_EQ(sent.exit_code, 0) << sent.err;
    return sent.out.substr(0, sent.out.find('\n'));
  }
  std::string accounted(const std::string& job) const { return on_login("sacct -n -X -P -o State -j " + job); }
  long long saved_at() const {
    return std::atoll(in_capsule("ctl", "stat -c %Y", "/var/lib/slurm/slurmctld/job_state").c_str());
  }
  long long now() const { return std::atoll(on_login("date +%s").c_str()); }
  /// Until slurmctld has written what it has acknowledged so far, and a copy of that was made. It writes some seconds
  /// late, and only when something has changed: a job more each time, as the last one may have been in what was written
  /// in the very second that it was acknowledged, and then nothing is written any more.
  void save() const {
    ASSERT_TRUE(eventually(seconds(60), [&] {
      submit("-H", "true");
      const auto acknowledged = now();
      return eventually(seconds(3), [&] { return saved_at() > acknowledged; });
    }));
    const auto saved = now();
    ASSERT_TRUE(eventually(seconds(10), [&] { return now() > saved + 1; })) << "for copies a second is enough";
  }
  /// Copies are no older than that, as the server knows, and have been made since `after`.
  bool copied(const std::string& capsule, seconds at_most) const {
    const auto status = cluster_.underway({"capsule", "status", capsule}).out;
    const auto at = status.find("what it wrote in the last ");
    if (at == std::string::npos) return false;
    const auto word = status.substr(at + 26, status.find('\n', at) - at - 26);
    return word.find("ms") != std::string::npos || word == "0s" || word == "1s" ||
           (word.ends_with('s') && std::atoi(word.c_str()) < at_most.count());
  }
};

TEST_F(DecoupledLoss, TheHostOfTheControllerDiesAndWhatWasAcknowledgedIsKnown) {
  const std::string from = host_of("slurm-services"), to = from == "infra1" ? "infra2" : "infra1";
  ASSERT_TRUE(eventually(seconds(120), [&] { return copied("slurm-services", seconds(2)); }))
      << cluster_.underway({"capsule", "status", "slurm-services"}).out << cluster_.underway({"status"}).out;
  EXPECT_THAT(attention(), IsEmpty());

  // What is done without a word is told.
  const auto plan = cluster_.underway({"plan", cluster_.directory()});
  EXPECT_THAT(plan.out, HasSubstr("  slurm-services\n    its host dies: " + to +
                                  " (chosen by itself) has a copy and takes over\n"));
  EXPECT_THAT(plan.out, HasSubstr("    snapshots:     every 1d (by default), the newest 2 are kept, on its node"));
  EXPECT_THAT(plan.out, HasSubstr("    backups:       none: no place is named"));
  EXPECT_THAT(plan.out, HasSubstr("  gateway-a\n    its host dies: it starts elsewhere, with nothing\n"));
  EXPECT_THAT(cluster_.underway({"plan", "-json", cluster_.directory()}).out, HasSubstr("\"StandbyNode\": \"" + to));

  // Jobs that have ended, as the accounting knows; jobs that wait; and one that runs on.
  std::vector<std::string> ended, waiting;
  for (int i = 0; i < 6; ++i) ended.push_back(submit("", "true"));
  const std::string running = submit("-w c1", "sleep 600");
  for (int i = 0; i < 4; ++i) waiting.push_back(submit("-H", "true"));
  ASSERT_TRUE(eventually(seconds(60), [&] {
    return std::all_of(ended.begin(), ended.end(), [&](const auto& job) { return accounted(job) == "COMPLETED\n"; });
  })) << on_login("sacct -X");
  ASSERT_TRUE(eventually(seconds(30), [&] { return on_login("squeue -h -o %t -j " + running) == "R\n"; }));
  save();
  if (HasFatalFailure()) return;

  cluster_.pull_the_plug(from);
  ASSERT_TRUE(eventually(seconds(120), [&] { return host_of("slurm-services") == to; }))
      << cluster_.underway({"status"}).out;
  ASSERT_TRUE(eventually(seconds(120), [&] { return cluster_.enter("login", "squeue -h").exit_code == 0; }));
  ASSERT_TRUE(eventually(seconds(60), [&] { return !accounted(ended.front()).empty(); })) << "slurmdbd answers";
  for (const auto& job : ended) EXPECT_EQ(accounted(job), "COMPLETED\n") << job;
  for (const auto& job : waiting) EXPECT_EQ(on_login("squeue -h -o %t -j " + job), "PD\n") << job;
  EXPECT_EQ(on_login("squeue -h -o %t -j " + running), "R\n");

  // Nobody is needed for the rest: what keeps nothing starts on the host that is made anew, copies go there again.
  EXPECT_TRUE(eventually(seconds(180), [&] { return attention().empty() && copied("slurm-services", seconds(2)); }))
      << cluster_.underway({"status"}).out;
  EXPECT_EQ(cluster_.underway({"up", cluster_.directory()}, seconds(60)).exit_code, 0);
  const auto srun = cluster_.enter("login", "srun -N4 --mem=16 hostname");
  EXPECT_EQ(srun.exit_code, 0) << srun.err;
}

TEST_F(DecoupledLoss, AJobLivesThroughAMoveOfItsControllerAndIsAccountedFor) {
  const auto moves = submit("-w c1", "until [ -e /home/go ]; do sleep 0.1; done");
  ASSERT_TRUE(eventually(seconds(30), [&] { return on_login("squeue -h -o %t -j " + moves) == "R\n"; }));
  const std::string to = host_of("slurm-services") == "infra1" ? "infra2" : "infra1";
  const auto moved = cluster_.underway({"capsule", "move", "slurm-services", "-to", to}, seconds(180));
  ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err;
  EXPECT_EQ(host_of("slurm-services"), to);
  const auto srun = cluster_.enter("login", "srun -N4 --mem=16 hostname | sort | xargs");
  EXPECT_EQ(srun.out, "c1 c2 c3 c4\n") << srun.err;
  EXPECT_EQ(on_login("squeue -h -o %t -j " + moves), "R\n");
  on_login("touch /home/go");
  EXPECT_TRUE(eventually(seconds(60), [&] { return accounted(moves) == "COMPLETED\n"; })) << on_login("sacct -X");
  EXPECT_EQ(on_login("sacct -n -X -D -P -o JobIDRaw -j " + moves), moves + "\n") << "it was started again";
  EXPECT_TRUE(prober_->all_answer(seconds(60), 20)) << prober_->report();
}

/// What is written of a job's end: its state, its exit code, and when, in seconds.
struct Entered {
  std::string state, code;
  long long end = 0;
};

class DecoupledTruth : public DecoupledLoss {
 protected:
  Entered entered(const std::string& job) const {
    std::istringstream line(on_login("SLURM_TIME_FORMAT=%s sacct -n -X -P -o State,ExitCode,End -j " + job));
    Entered out;
    std::string end;
    std::getline(std::getline(std::getline(line, out.state, '|'), out.code, '|'), end);
    out.end = std::atoll(end.c_str());
    return out;
  }
  /// What the accounting says that it had: "billing=1,cpu=1,mem=16M,node=1".
  std::string resources(const std::string& job) const { return on_login("sacct -n -X -P -o AllocTRES -j " + job); }
  /// What the database of the accounting answers.
  std::string account(const std::string& statement) const {
    const auto done = cluster_.underway({"alloc", "exec", "-job", "slurm-services", "mariadb", "--no-defaults", "-u",
                                         "root", "-N", "-B", "slurm_acct_db", "-e", statement});
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
    return done.out;
  }
  std::string until(const std::string& file) const { return "until [ -e /home/" + file + " ]; do sleep 0.1; done; "; }
  bool runs(const std::string& job) const { return on_login("squeue -h -o %t -j " + job) == "R\n"; }
};

TEST_F(DecoupledTruth, WhatEndedWithTheControllerIsEnteredAsItEnded) {
  const std::string from = host_of("slurm-services"), to = from == "infra1" ? "infra2" : "infra1";
  ASSERT_TRUE(eventually(seconds(120), [&] { return copied("slurm-services", seconds(2)); }));
  const std::vector<std::string> ended = {submit("", until("go")), submit("", until("go") + "exit 3"),
                                          submit("", until("go") + "kill -SEGV $$"), submit("-t 1", "sleep 600")};
  const auto follower = submit("-H -d afterok:" + ended[0], "true"), goes_on = submit("", until("on"));
  ASSERT_TRUE(eventually(seconds(30), [&] { return runs(ended[3]) && runs(goes_on); }));
  save();
  if (HasFatalFailure()) return;

  // From here on its state cannot be written, as if it never came to that. What it knows goes to the accounting.
  const std::string no_more = "/var/lib/slurm/slurmctld/job_state.new";
  in_capsule("ctl", "mkdir", no_more);
  const auto forgotten = submit("-H", "true"), stranger = submit("", until("on") + "exit 3");
  on_login("touch /home/go");
  std::map<std::string, Entered> before;
  ASSERT_TRUE(eventually(seconds(150), [&] {
    for (const auto& job : ended) before[job] = entered(job);
    return std::all_of(ended.begin(), ended.end(), [&](const auto& job) { return before[job].end > 0; });
  })) << on_login("sacct -X");
  EXPECT_EQ(before[ended[0]].state, "COMPLETED");
  EXPECT_EQ(before[ended[1]].code, "3:0");
  EXPECT_EQ(before[ended[2]].code, "0:11");
  EXPECT_EQ(before[ended[3]].state, "TIMEOUT");
  ASSERT_TRUE(eventually(seconds(30), [&] { return runs(stranger); }));
  // What slurmctld told the accounting of the start of two of them died on the way, and all that it told of a third.
  const auto unpaid = submit("", until("on"));
  const std::string all = goes_on + "," + stranger + "," + unpaid;
  ASSERT_TRUE(eventually(seconds(60), [&] {  // it tells of a start in parts, five seconds apart
    return account(
               "select count(*) from apart_job_table where tres_alloc != '' and mod_time < unix_timestamp() - 7 "
               "and id_job in (" +
               all + ")") == "3\n";
  })) << on_login("sacct -X");
  const auto had = resources(goes_on), had_too = resources(stranger);
  EXPECT_THAT(had, HasSubstr("mem=16M"));
  account("update apart_job_table set time_start = 0, nodelist = '', tres_alloc = '' where id_job in (" + goes_on +
          "," + stranger + "); delete from apart_job_table where id_job = " + unpaid);
  ASSERT_EQ(resources(goes_on), "\n") << "that is what a row without a start has";
  const auto last = now();
  ASSERT_TRUE(eventually(seconds(30), [&] { return now() > last + 3 && copied("slurm-services", seconds(2)); }));

  cluster_.pull_the_plug(from);
  ASSERT_TRUE(eventually(seconds(120), [&] { return host_of("slurm-services") == to; }));
  // Before its hold ends: then 24.11 starts anew, with what it has written.
  ASSERT_TRUE(eventually(
      seconds(60), [&] { return !in_capsule("ctl", "sh -c 'rmdir $0 2>/dev/null && echo gone'", no_more).empty(); }));
  ASSERT_TRUE(eventually(seconds(120), [&] { return runs(goes_on); })) << cluster_.underway({"status"}).out;
  // slurmctld has the ends at once, and the accounting when slurmdbd has written them.
  for (const auto& job : ended) {
    EXPECT_TRUE(eventually(seconds(90),
                           [&] {
                             const auto after = entered(job);
                             return after.state == before[job].state && after.code == before[job].code &&
                                    std::abs(after.end - before[job].end) <= 2 &&
                                    on_login("squeue -h -j " + job).empty();
                           }))
        << job << ": " << on_login("sacct -X; squeue") << before[job].state << before[job].code << before[job].end;
  }
  EXPECT_TRUE(eventually(seconds(30), [&] {
    return cluster_.underway({"status"}).out.find("Slurm job " + forgotten + " ") != std::string::npos;
  })) << cluster_.underway({"status"}).out;
  EXPECT_EQ(on_login("scontrol release " + follower), "");
  EXPECT_TRUE(eventually(seconds(60), [&] { return entered(follower).state == "COMPLETED"; })) << on_login("squeue");

  // What runs on ends as it does, whether slurmctld knows it or not.
  on_login("touch /home/on");
  const auto ends = now();
  const std::map<std::string, std::string> states = {{goes_on, "COMPLETED"}, {stranger, "FAILED"}};
  for (const auto& state : states) {
    EXPECT_TRUE(eventually(seconds(90),
                           [&] {
                             const auto after = entered(state.first);
                             return after.state == state.second && std::abs(after.end - ends) <= 3;
                           }))
        << state.first << on_login("sacct -X") << cluster_.underway({"status"}).out;
  }
  EXPECT_EQ(entered(stranger).code, "3:0");
  EXPECT_EQ(resources(goes_on), had) << "as slurmctld has it";
  EXPECT_EQ(resources(stranger), had_too) << "as it was asked for";
  EXPECT_TRUE(eventually(seconds(120), [&] {
    return cluster_.underway({"status"})
               .out.find("Slurm job " + unpaid + " has run, and has no row in the accounting") != std::string::npos;
  })) << cluster_.underway({"status"}).out;
  EXPECT_EQ(on_login("sacct -n -X -o JobID -j " + unpaid), "") << "none is made up";
  EXPECT_EQ(on_login("sacct -n -X -o State | grep CANCELLED"), "");
}

}  // namespace
}  // namespace underway::harness
