// Nodes that come and go, told to the real slurmctld of each release by what src/hpc/slurm/elastic says. The test is
// the machine room and the controller: it boots hosts and cuts their power, runs the commands that it is given, and
// asks again.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "harness/places.hpp"
#include "harness/slurm/slurm_site.hpp"
#include "slurm/elastic/difference.hpp"
#include "slurm/elastic/members.hpp"
#include "slurm/elastic/readiness.hpp"
#include "slurm/elastic/resume_file.hpp"
#include "slurm/queue.hpp"

namespace underway::harness {
namespace {

using slurm::GateStep;
using slurm::JoinMode;
using slurm::LeaveStep;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Bed {
  SlurmRelease release;
  JoinMode mode = JoinMode::dynamic;
  friend std::ostream& operator<<(std::ostream& out, const Bed& bed) {
    return out << bed.release << " " << slurm::to_string(bed.mode);
  }
};

/// As choose_join() has it, and CLOUD where both are possible.
std::vector<Bed> beds() {
  std::vector<Bed> out;
  for (const auto& release : slurm_releases()) {
    const auto version = *slurm::find_version(release.version);
    const auto choice = slurm::choose_join({.slurmctld = version, .select_type = "select/cons_tres"});
    out.push_back({release, choice.mode});
    if (choice.mode != JoinMode::cloud) out.push_back({release, JoinMode::cloud});
  }
  return out;
}

std::string name_of(const Bed& bed) {
  auto out = "Slurm" + bed.release.version + slurm::to_string(bed.mode);
  std::erase(out, '.');
  return out;
}

constexpr const char* kTree = "SwitchName=a Nodes=b[1-4]\nSwitchName=b Nodes=b[5-8]\nSwitchName=s Switches=a,b\n";

class SlurmPools : public testing::TestWithParam<Bed> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GetParam().release.root + "/usr/sbin/slurmctld"))
      GTEST_SKIP() << "needs Slurm " << GetParam().release.version << " below " << GetParam().release.root
                   << ": packaging/slurm-roots makes it";
  }

  JoinMode mode() const { return GetParam().mode; }
  slurm::Version version() const { return *slurm::find_version(GetParam().release.version); }
  static slurm::ElasticPool pool() {
    return {.name = "burst", .hosts = slurm_hosts(), .cpus = 4, .memory_mb = 2000, .features = {"vm"}};
  }
  static std::vector<std::string> slurm_hosts() { return {"b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"}; }

  /// A slurmctld with the pool `burst`, of which no node is there. CLOUD nodes stand in a tree.
  void begin(const std::optional<slurm::AskPrograms>& asks = {}) {
    const bool tree = mode() == JoinMode::cloud;
    std::vector<slurm::Leaf> leaves;
    if (tree) leaves = {{"a", {"b1", "b2", "b3", "b4"}}, {"b", {"b5", "b6", "b7", "b8"}}};
    auto made = slurm::render_join(mode(), version(), {pool()}, leaves, {}, asks);
    ASSERT_THAT(made.problems, IsEmpty());
    made.lines.back() += " Default=YES MaxTime=INFINITE";
    if (tree) made.options.insert(made.options.end(), {"SelectType=select/cons_tres", "TopologyPlugin=topology/tree"});
    begin_with(made.text(), tree ? kTree : "");
    if (tree && !asks) tell(slurm::absent_command(slurm_hosts()));
  }
  void begin_with(const std::string& conf, const std::string& topology = "") {
    site_ = std::make_unique<SlurmPool>(
        GetParam().release, conf + "SchedulerParameters=bf_interval=1,sched_min_interval=100000,sched_interval=1\n",
        topology);
  }

  std::string ask(const slurm::Command& command) const {
    const auto said = site_->run(command);
    EXPECT_EQ(said.exit_code, 0) << testing::PrintToString(command) << ": " << said.err;
    return said.out;
  }
  void tell(const slurm::Command& command) const { ask(command); }
  std::string line(const std::string& text) const { return site_->shell(text).out; }
  std::string log() const {
    return line("sinfo -a -N; squeue; scontrol -a -o show node; tail -n 30 /srv/log/slurmctld");
  }

  std::vector<slurm::NodeRecord> records() const { return slurm::parse_records(ask(slurm::records_command())); }
  std::optional<slurm::NodeRecord> record(const std::string& node) const {
    for (auto& found : records()) {
      if (found.name == node) return found;
    }
    return std::nullopt;
  }
  bool is_idle(const std::string& node) const {
    const auto now = record(node);
    return now && now->state == "IDLE" && now->responds() && !now->draining();
  }
  std::vector<std::string> jobs_on(const std::string& node) const {
    return slurm::parse_jobs(ask(slurm::jobs_command({})))[node];
  }
  /// "COMPLETED 0": the state of a job and how often it was started again.
  std::string job(const std::string& id) const {
    const auto said = "\n " + line("scontrol -o show job " + id);
    const auto value = [&](const std::string& key) {
      const auto at = said.find(" " + key + "=");
      if (at == std::string::npos) return std::string("?");
      const auto from = at + key.size() + 2;
      return said.substr(from, said.find(' ', from) - from);
    };
    return value("JobState") + " " + value("Restarts");
  }
  bool completes(const std::string& id) const {
    return eventually(seconds(60), [&] { return job(id).starts_with("COMPLETED"); });
  }

  /// A machine boots at an address: Slurm is told where, then slurmd runs.
  void join(const std::string& node, const std::string& address) const {
    for (const auto& command : slurm::arrival_commands(records(), {{node, address}})) tell(command);
    site_->boot(node, address, slurm::slurmd_words(mode(), pool(), node));
  }
  /// One look, and what follows from it; `runs` is whether its machine does, which is cut when that may be.
  LeaveStep leave(const std::string& node, bool& runs) const {
    const auto now = record(node);
    const auto verdict = slurm::decide_leave(mode(), node, now ? &*now : nullptr, jobs_on(node), runs);
    if (!verdict.command.empty()) tell(verdict.command);
    if (verdict.step == LeaveStep::stop) {
      site_->cut(node);
      runs = false;
    }
    return verdict.step;
  }

  std::unique_ptr<SlurmPool> site_;
};

TEST_P(SlurmPools, ANodeThatComesIsGivenTheJobThatWaitsForIt) {
  begin();
  const auto waits = site_->submit("-N2 --wrap 'srun -N2 -l hostname > /srv/state/said'");
  EXPECT_TRUE(stays(seconds(2), [&] { return job(waits) == "PENDING 0"; })) << log();
  join("b3", "10.9.1.3");
  join("b7", "10.9.1.7");
  ASSERT_TRUE(completes(waits)) << log();
  EXPECT_EQ(job(waits), "COMPLETED 0");
  // A task on each, as they are numbered: either may be the first, as both have come at once.
  EXPECT_THAT(line("sort /srv/state/said"), testing::AnyOf("0: b3\n1: b7\n", "0: b7\n1: b3\n"))
      << "steps reach the other node";
  const auto now = record("b3");
  ASSERT_TRUE(now);
  EXPECT_EQ(now->address, "10.9.1.3");
  EXPECT_EQ(now->features, (std::set<std::string>{"burst", "vm"}));
  EXPECT_THAT(now->partitions, ElementsAre("burst"));
  EXPECT_EQ(now->dynamic(), mode() == JoinMode::dynamic);
  // Nothing that is not there is waited for.
  const auto later = site_->submit("-N3 --wrap true");
  EXPECT_TRUE(stays(seconds(3), [&] { return job(later) == "PENDING 0"; })) << log();
}

TEST_P(SlurmPools, ANodeGoesWhenItsJobsHaveEndedAndItsAddressServesAnother) {
  begin();
  join("b1", "10.9.1.1");
  ASSERT_TRUE(eventually(seconds(20), [&] { return is_idle("b1"); })) << log();
  const auto last = site_->submit("-w b1 --wrap 'until [ -e /srv/state/go ]; do sleep 0.1; done'");
  ASSERT_TRUE(eventually(seconds(20), [&] { return job(last) == "RUNNING 0"; })) << log();
  bool runs = true;
  EXPECT_EQ(leave("b1", runs), LeaveStep::drain);
  if (mode() == JoinMode::dynamic)
    EXPECT_NE(site_->run({"scontrol", "delete", "nodename=b1"}).exit_code, 0) << "Slurm refuses too";
  EXPECT_TRUE(stays(seconds(2), [&] { return leave("b1", runs) == LeaveStep::wait; })) << log();
  EXPECT_EQ(job(last), "RUNNING 0");
  line("touch /srv/state/go");
  ASSERT_TRUE(eventually(seconds(30), [&] { return leave("b1", runs) == LeaveStep::gone; })) << log();
  EXPECT_FALSE(runs);
  EXPECT_EQ(job(last), "COMPLETED 0");
  if (mode() == JoinMode::dynamic)
    EXPECT_FALSE(record("b1")) << "Slurm does not know it";
  else
    EXPECT_EQ(record("b1")->address, slurm::kNowhere);

  // Another node has its address, and a job.
  join("b2", "10.9.1.1");
  const auto other = site_->submit("--wrap 'sleep 6'");
  ASSERT_TRUE(eventually(seconds(20), [&] { return job(other) == "RUNNING 0"; })) << log();
  // The first one comes back elsewhere, meanwhile.
  join("b1", "10.9.1.21");
  ASSERT_TRUE(eventually(seconds(20), [&] { return is_idle("b1"); })) << log();
  const auto again = site_->submit("-w b1 --wrap true");
  EXPECT_TRUE(completes(again)) << log();
  EXPECT_TRUE(completes(other)) << log();
  EXPECT_EQ(job(again), "COMPLETED 0");
  EXPECT_EQ(job(other), "COMPLETED 0");
}

TEST_P(SlurmPools, ANodeThatIsNotReadyIsHeldWithTheReasonAndLetIn) {
  begin();
  const slurm::Wanted wanted{.configuration = slurm::configuration_version({{"slurm.conf", "new"}}),
                             .mounts = {"/home"}};
  slurm::NodeReport report{.configuration = slurm::configuration_version({{"slurm.conf", "old"}}),
                           .clock_ahead = std::chrono::minutes(10)};
  const auto gate = [&](bool started) {
    const auto now = record("b1");
    const auto verdict = slurm::decide_gate("b1", now ? &*now : nullptr, started, slurm::judge(report, wanted));
    if (verdict.step == GateStep::admit) EXPECT_EQ(verdict.command, slurm::admit_command({"b1"}));
    if (!verdict.command.empty()) tell(verdict.command);
    return verdict.step;
  };
  const auto waits = site_->submit("--wrap true");
  EXPECT_EQ(gate(false), GateStep::keep_off);
  report = {.configuration = wanted.configuration, .clock_ahead = Duration{}, .mounts = {"/home"}};
  ASSERT_EQ(gate(false), GateStep::start);
  join("b1", "10.9.1.1");
  ASSERT_TRUE(completes(waits)) << log();

  // It loses its file system, and jobs.
  report.mounts.clear();
  ASSERT_TRUE(eventually(seconds(20), [&] { return is_idle("b1"); })) << log();
  EXPECT_EQ(gate(true), GateStep::hold);
  EXPECT_EQ(record("b1")->reason, "underway: not ready: nothing is mounted at /home");
  EXPECT_EQ(gate(true), GateStep::none);
  report.clock_ahead = -std::chrono::minutes(10);
  EXPECT_EQ(gate(true), GateStep::hold) << "another reason";
  EXPECT_EQ(record("b1")->reason,
            "underway: not ready: its clock is 10m0s behind, 5s are allowed; nothing is mounted at /home");
  const auto held = site_->submit("--wrap true");
  EXPECT_TRUE(stays(seconds(3), [&] { return job(held) == "PENDING 0"; })) << log();
  report.mounts = {"/home"};
  report.clock_ahead = Duration{};
  EXPECT_EQ(gate(true), GateStep::admit);
  EXPECT_TRUE(eventually(seconds(10), [&] { return is_idle("b1") || job(held) == "COMPLETED 0"; })) << log();
  EXPECT_TRUE(completes(held)) << log();
  // What an administrator holds is not let in.
  tell(slurm::drain_command({"b1"}, "bad DIMM"));
  EXPECT_EQ(gate(true), GateStep::none);
  report.mounts.clear();
  EXPECT_EQ(gate(true), GateStep::none);
}

TEST_P(SlurmPools, WhatAnAdministratorChangesIsFoundAndPutBackAsDeclared) {
  using Kind = slurm::NodeDifference::Kind;
  begin();
  join("b1", "10.9.1.1");
  join("b2", "10.9.1.2");
  ASSERT_TRUE(eventually(seconds(20), [&] { return is_idle("b1") && is_idle("b2"); })) << log();
  std::vector<slurm::DeclaredNode> declared;
  for (const auto& [name, address] : std::map<std::string, std::string>{{"b1", "10.9.1.1"}, {"b2", "10.9.1.2"}})
    declared.push_back(
        {.name = name, .mode = mode(), .address = address, .cpus = 4, .memory_mb = 2000, .features = {"burst", "vm"}});
  for (const auto& name : slurm_hosts()) {
    if (mode() == JoinMode::cloud && name > "b2") declared.push_back({.name = name, .mode = mode(), .present = false});
  }
  const auto differences = [&](const std::map<Kind, slurm::Foreign>& what = {}) {
    return slurm::compare_nodes(declared, records(), what);
  };
  for (const auto& found : differences()) ADD_FAILURE() << found.text;
  line(
      "scontrol update nodename=b1 nodeaddr=10.9.9.9 weight=7; "
      "scontrol update nodename=b2 availablefeatures=burst,big activefeatures=burst,big; "
      "scontrol update nodename=b2 state=drain reason='bad DIMM'");
  const std::map<Kind, slurm::Foreign> back = {{Kind::features, slurm::Foreign::revert},
                                               {Kind::weight, slurm::Foreign::revert}};
  std::vector<std::string> told;
  for (const auto& found : differences(back)) {
    told.push_back(found.text);
    if (found.reverts) tell(found.command);
  }
  EXPECT_THAT(
      told, ElementsAre("the address of b1 is declared as 10.9.1.1, and Slurm has 10.9.9.9",
                        "the weight of b1 is declared as 1, and Slurm has 7", "b2 is held by somebody else: 'bad DIMM'",
                        "the features of b2 are declared as burst,vm, and Slurm has big,burst"));
  const auto left = differences(back);
  ASSERT_EQ(left.size(), 1U) << log();
  EXPECT_EQ(left[0].kind, Kind::held) << "whoever drained it knows why";
  const auto runs = site_->submit("-w b1 --wrap true");
  EXPECT_TRUE(completes(runs)) << log();
}

// Slurm asks, with the dialect of its release.
TEST_P(SlurmPools, WhatSlurmAsksForIsReadFromItsFile) {
  if (mode() != JoinMode::cloud) GTEST_SKIP() << "Slurm asks for CLOUD nodes";
  begin(slurm::AskPrograms{.resume = "/usr/sbin/pool-resume",
                           .suspend = "/usr/sbin/pool-suspend",
                           .resume_fail = "/usr/sbin/pool-resume-fail",
                           .suspend_timeout = 5,
                           .idle_before = 600});
  const auto wide = site_->submit("-N2 -C vm --wrap true"),
             array = site_->submit("--array=1-2 --exclusive --wrap true");
  std::map<std::int64_t, std::vector<std::string>> by_job;
  std::set<std::string> nodes;
  ASSERT_TRUE(eventually(seconds(30),
                         [&] {
                           by_job.clear();
                           nodes.clear();
                           // "resume b[1-3] FILE", where there is one.
                           for (const auto& call : split(line("cat /srv/asked/calls"), '\n')) {
                             const auto words = split(call, ' ');
                             if (words.size() < 2 || words[0] != "resume") continue;
                             slurm::ResumeRequest request = slurm::resume_words(words[1]);
                             if (words.size() > 2 && !words[2].empty())
                               request = slurm::parse_resume_file(line("cat " + words[2]));
                             nodes.insert(request.nodes.begin(), request.nodes.end());
                             for (const auto& asked : request.jobs) by_job[asked.id] = asked.resume;
                             if (version() >= slurm::Version{23, 2, 0}) {
                               for (const auto& asked : request.jobs) EXPECT_EQ(asked.partition, "burst");
                             }
                           }
                           return nodes.size() == 4;
                         }))
      << log() << line("cat /srv/asked/*");
  if (version() < slurm::Version{21, 8, 0})
    EXPECT_THAT(by_job, IsEmpty()) << "it has no file";
  else {
    EXPECT_EQ(by_job.size(), 3U);
    EXPECT_EQ(by_job[std::stoll(wide)].size(), 2U);
    EXPECT_EQ(by_job[std::stoll(array)].size(), 1U) << "the number of an array is its last task's";
  }
}

// A boot that fails is told to Slurm, which queues the job again, and may ask for the node anew.
TEST_P(SlurmPools, ANodeThatDidNotBootIsToldAndMayBeAskedForAgain) {
  if (mode() != JoinMode::cloud) GTEST_SKIP() << "Slurm asks for CLOUD nodes";
  begin(slurm::AskPrograms{.resume = "/usr/sbin/pool-resume",
                           .suspend = "/usr/sbin/pool-suspend",
                           .resume_fail = "/usr/sbin/pool-resume-fail",
                           .suspend_timeout = 5,
                           .idle_before = 600,
                           .left_alone = {"b8"}});
  const auto waits = site_->submit("-w b1 --wrap true");
  ASSERT_TRUE(eventually(seconds(30), [&] { return record("b1")->powering_up(); })) << log();
  tell(slurm::no_boot_command("b1", "no node has room for it"));
  const auto down = record("b1");
  EXPECT_EQ(down->state, "DOWN") << log();
  EXPECT_TRUE(slurm::held_by_us(*down)) << down->reason;
  EXPECT_TRUE(eventually(seconds(30), [&] { return job(waits).starts_with("PENDING"); })) << log();
  tell(slurm::power_down_command({"b1"}));
  // It is neither down nor drained any more, and Slurm gives it to jobs again.
  EXPECT_TRUE(eventually(seconds(90), [&] {
    const auto now = record("b1");
    return now && now->state == "IDLE" && !now->draining() && now->is("POWERED_DOWN");
  })) << log();
}

INSTANTIATE_TEST_SUITE_P(Releases, SlurmPools, testing::ValuesIn(beds()),
                         [](const auto& made) { return name_of(made.param); });

// The addresses of nodes change, and slurmctld of 22.05 goes on with those that it had.
class SlurmAddresses : public SlurmPools {
 protected:
  static constexpr int kNodes = 10;

  /// Without what render_join() writes against it: a site that has a slurm.conf of its own may lack it. Nodes that
  /// boot between two answers of theirs are down without ReturnToService, wherever they are.
  void begin_bare() {
    begin_with(
        "MaxNodeCount=64\nSelectType=select/cons_tres\nTreeWidth=65533\nReturnToService=2\n"
        "NodeSet=burst Feature=burst\n"
        "PartitionName=burst Nodes=burst Default=YES MaxTime=INFINITE\n");
  }
  static std::string node(int number) { return "b" + std::to_string(number); }
  static std::string place(int number, int round) { return fmt::format("10.9.{}.{}", 10 + round, number); }
  bool all_idle() const {
    int idle = 0;
    for (const auto& now : records()) idle += now.state == "IDLE" && now.responds() ? 1 : 0;
    return idle == kNodes;
  }
  /// All are cut and boot elsewhere. Slurm is told, or not.
  void move(int round, bool push) const {
    std::map<std::string, std::string> actual;
    for (int i = 1; i <= kNodes; ++i) actual[node(i)] = place(i, round);
    for (const auto& [name, address] : actual) site_->cut(name);
    if (push) {
      const auto moved = slurm::moved(records(), actual);
      EXPECT_EQ(moved.size(), kNodes);
      tell(slurm::address_command(moved));
    }
    for (const auto& [name, address] : actual) site_->boot(name, address, slurm::slurmd_words(mode(), pool(), name));
    const auto registered = [&] {
      return line("grep -l 'slurmd started' /srv/log/slurmd.b* | wc -l") == std::to_string(kNodes) + "\n";
    };
    ASSERT_TRUE(eventually(seconds(30), registered));
    ASSERT_TRUE(eventually(seconds(30), [&] { return all_idle(); })) << log();
  }
  /// A job on each node at once; how many complete at the first attempt.
  int launch() const {
    std::vector<std::string> jobs;
    for (int i = 1; i <= kNodes; ++i) jobs.push_back(site_->submit("-w " + node(i) + " --wrap true"));
    const auto good_ones = [&] {
      return static_cast<int>(
          std::count_if(jobs.begin(), jobs.end(), [&](const auto& id) { return job(id) == "COMPLETED 0"; }));
    };
    eventually(seconds(15), [&] { return good_ones() == kNodes; });
    return good_ones();
  }
};

TEST_P(SlurmAddresses, ThatArePushedNeverFailALaunch) {
  begin_bare();
  for (int i = 1; i <= kNodes; ++i) site_->boot(node(i), place(i, 0), slurm::slurmd_words(mode(), pool(), node(i)));
  ASSERT_TRUE(eventually(seconds(30), [&] { return all_idle(); })) << log();
  int good = 0;
  for (int round = 1; round <= 10; ++round) {
    move(round, true);
    good += launch();
  }
  EXPECT_EQ(good, 100) << log();
  RecordProperty("pushed", good);
  // The same, and Slurm is not told.
  move(11, false);
  const int without = launch();
  RecordProperty("not_pushed", without);
  const bool follows = version() >= slurm::Version{23, 11, 0};
  EXPECT_EQ(without, follows ? kNodes : 0) << log();
}

std::vector<Bed> dynamic_beds() {
  auto out = beds();
  std::erase_if(out, [](const Bed& bed) { return bed.mode != JoinMode::dynamic; });
  return out;
}

INSTANTIATE_TEST_SUITE_P(Releases, SlurmAddresses, testing::ValuesIn(dynamic_beds()),
                         [](const auto& made) { return name_of(made.param); });

}  // namespace
}  // namespace underway::harness
