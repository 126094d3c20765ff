// Everything of ours that reads what Slurm prints, or tells Slurm something, against the real daemons of each release
// that is supported: the same words go in, and our own readers take what comes out. slurm_readers_test.cpp has the list
// of the places that do so; one that is new belongs there, and here.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <ctime>
#include <map>
#include <regex>
#include <utility>

#include "growth/forecast/trial.hpp"
#include "integration/slurm/slurm_versions.hpp"
#include "machines/ask.hpp"
#include "slurm/drain.hpp"
#include "slurm/elastic/job_queue.hpp"
#include "slurm/elastic/reservation.hpp"
#include "slurm/reconcile/ends.hpp"
#include "slurm/version.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

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

TEST_P(SlurmVersions, TellWhichJobsAskForMachines) {
  const auto asks =
      site_->submit("-N2 -n5 -w n3,n4 --mem-per-cpu=100 --comment='of ours, machines:small*2' --wrap 'sleep 600'");
  const auto forges = site_->submit(
      "-w n5 --comment=\"$(printf 'x\\nMARK|9|9|RUNNING|1|n6|machines:fake\\n   Nodes=n5 CPU_IDs=0-3 Mem=9000 "
      "GRES=')\" "
      "--wrap 'sleep 600'");
  const auto array = site_->submit("-a 1-2 -w n6 --mem=200 --wrap 'sleep 600'");
  ASSERT_TRUE(eventually(seconds(20), [&] {
    return state_of(asks) == "RUNNING" && state_of(forges) == "RUNNING" && state_of(array + "_1") == "RUNNING" &&
           state_of(array + "_2") == "RUNNING";
  })) << line("squeue -t all");
  const auto said = ask(machines::jobs_command("mark-of-this-look"));
  SCOPED_TRACE(said);
  std::map<std::string, machines::SlurmJob> jobs;
  for (auto& job : machines::parse_jobs(said, "mark-of-this-look")) jobs[job.id] = job;
  ASSERT_TRUE(jobs.contains(asks));
  EXPECT_EQ(jobs[asks].asked.wish, (machines::Wish{"small", 2}));
  EXPECT_THAT(jobs[asks].nodes, ElementsAre("n3", "n4"));
  EXPECT_TRUE(jobs[asks].lives());
  EXPECT_NEAR(static_cast<double>(jobs[asks].started), static_cast<double>(std::time(nullptr)), 300);
  ASSERT_TRUE(jobs.contains(forges));
  EXPECT_EQ(jobs[forges].asked, machines::Asked{});
  EXPECT_FALSE(jobs.contains("9"));
  const auto given = [&](const std::string& id, const std::string& name) {
    return machines::parse_given(ask(machines::given_command(id, name)), id).value_or(machines::Given());
  };
  // How five tasks are spread over two nodes is each release's own affair.
  const auto has = given(asks, asks);
  EXPECT_EQ(has.cpus, 5);
  EXPECT_EQ(has.memory_mb, 500);
  EXPECT_EQ(has.nodes.size(), 2U) << line("scontrol -d show job " + asks);
  EXPECT_EQ(has.nodes.at("n3").cpus + has.nodes.at("n4").cpus, 5);
  for (const auto& [node, share] : has.nodes) EXPECT_EQ(share.memory_mb, 100 * share.cpus) << node;
  EXPECT_FALSE(has.doubtful);
  EXPECT_EQ(given(array, array + "_2"), (machines::Given{1, 200, {{"n6", {1, 200}}}}))
      << "of the last task, which has the array's number, and not of all";
  EXPECT_TRUE(given(forges, forges).doubtful);

  order(machines::refuse_commands(asks, "there are none, and that is why"));
  EXPECT_THAT(ask({"scontrol", "show", "job", asks}), testing::HasSubstr("AdminComment=underway: there are none, and"));
  ASSERT_TRUE(eventually(seconds(30), [&] { return state_of(asks) == "CANCELLED"; }));
  for (const auto& job : machines::parse_jobs(ask(machines::jobs_command("mark")), "mark"))
    EXPECT_FALSE(job.id == asks && job.lives());
  order({{"scancel", forges}, {"scancel", array}});
}

TEST_P(SlurmVersions, TellOfTheQueueAsGrowthSeesIt) {
  ASSERT_TRUE(eventually(seconds(60), [&] {
    const auto now = nodes();
    return host_jobs().empty() && now.at("n2").state == "idle" && now.at("n9").state == "idle";
  })) << line("squeue; sinfo -N");
  order({{"scontrol", "update", "nodename=n[9-11]", "availablefeatures=fast,big", "activefeatures=fast,big"}});
  const auto runs = site_->submit("-w n9 --exclusive -C 'big|fast' --mem=2G -t 30 --wrap 'sleep 600'");
  const auto array = site_->submit("-w n2 --array=0-45:3%2 -t 10 --wrap 'sleep 600'");
  ASSERT_TRUE(eventually(seconds(20), [&] {
    return state_of(runs) == "RUNNING" && state_of(array + "_0") == "RUNNING" && state_of(array + "_3") == "RUNNING";
  })) << line("squeue -t all");
  const auto wide = site_->submit("-N 3 -n 6 -C 'fast&big' --mem=1500 -t 20 --wrap true");  // n9 is taken
  const auto held = site_->submit("--hold -p main,other --wrap true");
  std::string said;
  std::map<std::string, slurm::QueuedJob> queue;  // what waits of the array is "17_"
  ASSERT_TRUE(eventually(seconds(20), [&] {
    queue.clear();
    said = ask(slurm::queue_command());
    for (auto& job : slurm::parse_queue(said)) queue[job.id.substr(0, job.id.find('['))] = job;
    return queue.contains(wide) && queue[wide].reason != "None";
  })) << said;
  SCOPED_TRACE(said);
  const auto shown = [&](const std::string& job, const std::string& key) {
    const auto record = ask({"scontrol", "-o", "show", "job", job});
    std::smatch found;
    EXPECT_TRUE(std::regex_search(record, found, std::regex(" " + key + "=([^ ]*)"))) << record;
    return found[1] == "(null)" ? "" : found[1].str();
  };
  for (const auto& name : {runs, array + "_0", array + "_3", array + "_", wide, held}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(queue.contains(name));
    const auto& job = queue[name];
    EXPECT_EQ(job.user, "root");
    EXPECT_EQ(job.account, shown(runs, "Account"));
    EXPECT_EQ(job.qos, shown(runs, "QOS"));
    EXPECT_NEAR(static_cast<double>(unix_seconds(job.submitted)), static_cast<double>(std::time(nullptr)), 300);
    EXPECT_EQ(job.waits(), job.nodes.empty());
    EXPECT_EQ(job.exclusive, name == runs);
  }

  EXPECT_EQ(queue[runs].state, "RUNNING");
  EXPECT_THAT(queue[runs].nodes, ElementsAre("n9"));
  EXPECT_THAT(queue[runs].partitions, ElementsAre("main"));
  EXPECT_THAT(queue[runs].features, ElementsAre("big|fast"));
  EXPECT_EQ(queue[runs].cpus, 4) << "all that it has";
  EXPECT_EQ(queue[runs].memory_mb, 2048);
  EXPECT_EQ(queue[runs].time_limit, std::chrono::minutes(30));
  EXPECT_GE(queue[runs].starts, queue[runs].submitted);
  EXPECT_NEAR(static_cast<double>(unix_seconds(queue[runs].ends)),
              static_cast<double>(unix_seconds(queue[runs].starts) + 1800), 5);

  EXPECT_EQ(queue[wide].state, "PENDING");
  EXPECT_THAT(queue[wide].reason, testing::AnyOf("Resources", "Priority"));
  EXPECT_THAT(queue[wide].features, ElementsAre("fast", "big"));
  EXPECT_EQ(queue[wide].nodes_min, 3);
  EXPECT_EQ(queue[wide].cpus, 6);
  EXPECT_EQ(queue[wide].memory_mb, 1500);
  EXPECT_EQ(queue[wide].time_limit, std::chrono::minutes(20));
  EXPECT_GT(queue[wide].priority, 0);
  EXPECT_EQ(std::to_string(queue[wide].priority), shown(wide, "Priority"));

  EXPECT_EQ(queue[array + "_0"].state, "RUNNING");
  EXPECT_THAT(queue[array + "_3"].nodes, ElementsAre("n2"));
  EXPECT_EQ(queue[array + "_3"].array_remaining, 1);
  EXPECT_EQ(queue[array + "_"].state, "PENDING");
  EXPECT_EQ(queue[array + "_"].array_remaining, 14) << "of sixteen";
  EXPECT_EQ(queue[array + "_"].array_limit, 2);
  EXPECT_EQ(queue[array + "_"].memory_mb, 100) << "of each CPU, by itself";
  EXPECT_EQ(queue[array + "_"].nodes_min, 1);

  EXPECT_EQ(queue[held].state, "PENDING");
  EXPECT_TRUE(queue[held].reason.starts_with("JobHeld")) << queue[held].reason;
  EXPECT_EQ(queue[held].priority, 0);
  EXPECT_THAT(queue[held].partitions, UnorderedElementsAre("main", "other"));
  EXPECT_THAT(queue[held].features, IsEmpty());
  EXPECT_EQ(queue[held].time_limit, Duration{});
  EXPECT_EQ(queue[held].starts, TimePoint{});
  EXPECT_EQ(queue[held].ends, TimePoint{});
  line("scancel -u root");
}

TEST_P(SlurmVersions, HaveReservationsAsTheyAreDeclared) {
  const auto now =
      std::chrono::time_point_cast<Duration>(std::chrono::floor<seconds>(std::chrono::system_clock::now()));
  slurm::Reservation wanted{.name = "course", .nodes = {"n1"}, .users = {"root"}};
  wanted.begins = now + std::chrono::hours(1);
  wanted.ends = now + std::chrono::hours(2);
  const auto all = [&] { return slurm::parse_reservations(ask(slurm::reservations_command())); };
  EXPECT_THAT(all(), IsEmpty());
  order({slurm::create_command(wanted, now)});
  EXPECT_THAT(all(), ElementsAre(wanted));
  const auto before = wanted;
  wanted.nodes = {"n1", "n2"};
  wanted.ends = now + std::chrono::hours(3);
  order({slurm::update_command(before, wanted, now)});
  EXPECT_THAT(all(), ElementsAre(wanted));
  EXPECT_THAT(slurm::update_command(all().front(), wanted, now), IsEmpty()) << "nothing is left to be said";
  order({slurm::delete_reservation_command("course")});
  EXPECT_THAT(all(), IsEmpty());
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
  // The same as jobs of the past, for a trial of the forecast. How they began the accounting is told every five
  // seconds.
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  elastic::Trace trace;
  const auto find = [&] {
    trace = {};
    growth::add_past_jobs(trace, ask(growth::past_jobs_command(now - std::chrono::hours(1), now + seconds(60))));
    return std::find_if(trace.jobs.begin(), trace.jobs.end(), [&](const auto& job) { return job.id == good; });
  };
  ASSERT_TRUE(eventually(seconds(20), [&] {
    const auto found = find();
    return found != trace.jobs.end() && !found->partition.empty();
  })) << line("sacct -X");
  const auto past = find();
  EXPECT_EQ(past->partition, "main");
  EXPECT_EQ(past->nodes, 1);
  EXPECT_GE(past->cpus, 1);
  EXPECT_NEAR(static_cast<double>(past->submit), static_cast<double>(ends[good].start), 30) << "in UTC";
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

INSTANTIATE_TEST_SUITE_P(Releases, SlurmVersions, testing::ValuesIn(slurm_releases()), [](const auto& release) {
  auto name = release.param.version;
  return name.erase(name.find('.'), 1);
});

}  // namespace
}  // namespace underway::harness
