// Hosts that are taken back: what may be asked for, and what becomes of their Slurm jobs.
#include "growth/recall.hpp"

#include <gmock/gmock.h>

#include "growth/notices.hpp"
#include "server/testing/desk.hpp"
#include "tables/recalls.hpp"

namespace underway::growth {
namespace {

using model::HostStatus;
using model::Recall;
using server::testing::Desk;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr TimePoint kMonday{std::chrono::hours(500'000)};

model::Pool spot_pool() {
  model::Pool spot{.name = "spot", .size = 0, .hostname = "s%d", .cpus = 1, .memory_mb = 1000};
  spot.slurm = model::SlurmJoin{.most = 4};
  spot.elastic = model::PoolElastic{.opportunistic = true};
  return spot;
}

class Recalling : public testing::Test {
 protected:
  Recalling() {
    model::Cluster cluster;
    cluster.name = "tide";
    cluster.networks = {{.name = "lan", .cidr = "10.80.0.0/24"}};
    cluster.pools = {{.name = "compute", .size = 1, .hostname = "c%d"}, spot_pool()};
    desk_.commit({tables::PutCluster{cluster}});
    for (const auto* name : {"c1", "s1", "s2"}) {
      model::Host host;
      host.cluster = "tide";
      host.name = name;
      host.pool = name[0] == 'c' ? "compute" : "spot";
      host.status = HostStatus::running;
      desk_.commit({tables::PutHost{host}});
    }
  }
  template <class Request>
  std::string refusal(Request request) {
    try {
      desk_.run(std::move(request));
    } catch (const Error& error) {
      return error.one_line();
    }
    return "it was taken";
  }
  std::vector<Recall> recalls() const { return tables::records<Recall>(desk_.tables); }

  Desk desk_;
};

TEST_F(Recalling, IsWrittenDownUntilItIsEnded) {
  EXPECT_EQ(desk_.run(RecallHosts{"tide", "", {}, 1, "monday"}).number, 1) << "of the only pool that it can be";
  const auto named = desk_.run(RecallHosts{"tide", "", {"s2", "s1", "s2"}, 0, ""});
  EXPECT_EQ(named.pool, "spot");
  EXPECT_THAT(named.hosts, ElementsAre("s1", "s2"));
  EXPECT_EQ(named.number, 2);
  desk_.run(RecallHosts{"tide", "spot", {"s1"}, 0, "makes room for u1", "u1"});
  EXPECT_THAT(desk_.run(EndRecalls{.cluster = "tide"}), SizeIs(2)) << "what an urgent host needs ends with it";
  ASSERT_THAT(recalls(), SizeIs(1));
  desk_.run(EndRecalls{.cluster = "tide", .number = 3});
  EXPECT_THAT(recalls(), IsEmpty());
  EXPECT_THAT(refusal(EndRecalls{.cluster = "tide", .number = 3}), HasSubstr("there is no recall 3"));
}

TEST_F(Recalling, OfWhatIsPromisedIsRefused) {
  EXPECT_THAT(refusal(RecallHosts{"tide", "", {"c1"}, 0, ""}), HasSubstr("opportunistic are 'spot'"));
  EXPECT_THAT(refusal(RecallHosts{"tide", "compute", {}, 1, ""}), HasSubstr("cannot be taken back"));
  EXPECT_THAT(refusal(RecallHosts{"tide", "", {"s7"}, 0, ""}), HasSubstr("has no host 's7'"));
  EXPECT_THAT(refusal(RecallHosts{"tide", "compute", {"s1"}, 0, ""}), HasSubstr("of pool 'spot', and not of"));
  EXPECT_THAT(refusal(RecallHosts{"tide", "spot", {}, 0, ""}), HasSubstr("from 1 to 10000"));
  desk_.run(NoteNotices{{"tide", {{"s1", "spot", 1}}, {}}});
  EXPECT_THAT(refusal(RecallHosts{"tide", "", {"s1"}, 0, ""}), HasSubstr("is being taken back already"));
}

TEST_F(Recalling, HostsThatGoSayUntilWhen) {
  auto host = *desk_.tables.find_host("tide", "s1");
  host.status = HostStatus::stopping;
  desk_.commit({tables::PutHost{host}});
  desk_.run(NoteNotices{{"tide", {{"s1", "spot", 1}}, {{"17", "s1", unix_nanos(kMonday)}}}});
  EXPECT_EQ(desk_.tables.find_host("tide", "s1")->status_description,
            "is taken back: Slurm job 17 has until " + format_time(kMonday));
  desk_.run(NoteNotices{{"tide", {}, {}}});
  EXPECT_FALSE(tables::find_record<NoticeBook>(desk_.tables, "tide"));
}

TEST_F(Recalling, IsForgottenWithThePool) {
  desk_.run(RecallHosts{"tide", "spot", {}, 1, ""});
  EXPECT_FALSE(anything_to_forget(desk_.tables));
  auto cluster = *desk_.tables.find_cluster("tide");
  cluster.pools.pop_back();
  desk_.commit({tables::PutCluster{cluster}});
  EXPECT_TRUE(anything_to_forget(desk_.tables));
  desk_.run(ForgetGrowth{});
  EXPECT_THAT(recalls(), IsEmpty());
}

/// Pool `spot` of s1 to s4, of which s1 and s2 are there, and a job on each.
class TakingBack : public testing::Test {
 protected:
  TakingBack() {
    facts_.name = "tide";
    facts_.policy.promises.notice = seconds(30);
    PoolFacts pool;
    static_cast<model::PoolElastic&>(pool.type) = *spot_pool().elastic;
    pool.type.name = "spot";
    pool.type.max_nodes = 4;
    pool.all_names = {"s1", "s2", "s3", "s4"};
    pool.hosts = {.cluster = "tide", .pool = "spot", .hosts = {"s1", "s2"}};
    facts_.pools = {pool};
    facts_.memory.cluster = facts_.notices.cluster = "tide";
    for (const auto* name : {"s1", "s2", "s3", "s4"})
      slurm_.records.push_back({.name = name, .state = "DOWN", .cpus = 1, .partitions = {"main"}});
    up("s1");
    up("s2");
    runs("17", "s1");
    runs("18", "s2");
  }
  void up(const std::string& name) {
    facts_.hosts.push_back({.name = name, .pool = "spot", .status = HostStatus::running, .admitted = true});
    record(name).state = "IDLE";
  }
  slurm::NodeRecord& record(const std::string& name) {
    return *std::find_if(slurm_.records.begin(), slurm_.records.end(), [&](const auto& it) { return it.name == name; });
  }
  slurm::RedoFacts& redo(const std::string& id) {
    return *std::find_if(slurm_.redo.begin(), slurm_.redo.end(), [&](const auto& it) { return it.id == id; });
  }
  void runs(const std::string& id, const std::string& node) {
    record(node).state = "ALLOCATED";
    slurm_.queue.push_back({.id = id, .state = "RUNNING", .partitions = {"main"}, .nodes = {node}});
    slurm_.redo.push_back({id, id, "RUNNING", node, {}, true, true});
  }
  void waits(const std::string& id) {
    ends(id, "PENDING");
    slurm_.queue.push_back({.id = id, .state = "PENDING", .reason = "BeginTime", .partitions = {"main"}});
  }
  void ends(const std::string& id, const std::string& state) {
    std::erase_if(slurm_.queue, [&](const auto& it) { return it.id == id; });
    redo(id).state = state;
  }
  void recall(std::int64_t count, std::vector<std::string> hosts = {}) {
    facts_.recalls.push_back(
        {.cluster = "tide", .number = 1, .pool = "spot", .hosts = std::move(hosts), .count = count});
  }
  /// A look, and all of it in force for the next; hosts that are not wanted are drained at once.
  Outlook look(Duration after = seconds(1)) {
    now_ += after;
    auto out = think(facts_, slurm_, before_, now_, after);
    before_ = out.hosts;
    facts_.memory = out.memory;
    facts_.notices = out.notices;
    for (const auto& it : out.recalls) facts_.recalls = {it};
    for (const auto& hosts : out.pools) facts_.pools[0].hosts = hosts;
    for (const auto& host : facts_.notices.hosts) record(host.host).flags.insert("DRAIN");
    return out;
  }
  NoticeSteps next() {
    auto out = next_notices(facts_.notices, facts_, slurm_, facts_.memory.state.redone, now_);
    facts_.notices = out.book;
    return out;
  }
  void listen(const NoticeSteps& steps, const std::set<std::string>& numbers) {
    tell(facts_.notices, steps, slurm_, {{"s1", numbers}, {"s2", numbers}});
  }
  static std::vector<std::string> names_of(const std::map<std::string, slurm::Command>& commands) {
    std::vector<std::string> out;
    for (const auto& [id, words] : commands) out.push_back(id);
    return out;
  }

  ClusterFacts facts_;
  SlurmLook slurm_;
  std::map<std::string, Seen> before_;
  TimePoint now_ = kMonday;
};

TEST_F(TakingBack, AHostGoesAndItsJobHasTheNotice) {
  recall(1, {"s1"});
  const auto out = look();
  EXPECT_THAT(facts_.pools[0].hosts.hosts, ElementsAre("s2"));
  ASSERT_THAT(out.recalls, SizeIs(1));
  EXPECT_EQ(out.recalls[0].ceiling, 1);
  ASSERT_THAT(out.recalls[0].goes, SizeIs(1));
  EXPECT_EQ(out.recalls[0].goes[0].until, unix_nanos(now_ + seconds(30)));
  EXPECT_THAT(out.recalls[0].goes[0].jobs, ElementsAre("17"));
  EXPECT_THAT(out.status.lines, testing::Contains(HasSubstr("s1 is taken back: Slurm job 17 has until")));
  EXPECT_EQ(out.taken_back, 1);
  EXPECT_FALSE(out.settled);

  auto steps = next();
  EXPECT_THAT(steps.listens.at("s1"), ElementsAre("17"));
  EXPECT_THAT(names_of(steps.redo), IsEmpty());
  listen(steps, {});
  EXPECT_THAT(next().listens, IsEmpty()) << "once";
  now_ += seconds(29);
  EXPECT_THAT(names_of(next().redo), IsEmpty());
  now_ += seconds(1);
  steps = next();
  EXPECT_THAT(names_of(steps.redo), ElementsAre("17"));
  EXPECT_EQ(steps.redo.at("17").back(), "s[1-4]") << "also of nodes that are not there yet";
  slurm_.queue[0].state = "COMPLETING";
  EXPECT_THAT(names_of(next().redo), IsEmpty());
  waits("17");
  EXPECT_THAT(names_of(next().keep_off), ElementsAre("17")) << "that was lost on the way";
  redo("17").kept_off = {"s1", "s2", "s3", "s4"};
  std::erase_if(facts_.hosts, [](const auto& it) { return it.name == "s1"; });
  EXPECT_TRUE(next().settled);
  EXPECT_TRUE(facts_.notices.empty());
}

TEST_F(TakingBack, WhoWasToldAndFailsIsQueuedAgainAndNobodyElse) {
  recall(2);
  look();
  const auto steps = next();
  listen(steps, {"17"});
  ends("17", "FAILED");
  ends("18", "FAILED");
  look();
  EXPECT_EQ(facts_.memory.state.redone.count("17"), 1U) << "remembered while it is in no queue";
  EXPECT_THAT(names_of(next().redo), ElementsAre("17"));
  ends("17", "COMPLETED");
  next();
  EXPECT_THAT(facts_.notices.jobs, IsEmpty());
}

TEST_F(TakingBack, NobodyIsToldBeforeSlurmGivesTheHostNoJob) {
  recall(1, {"s1"});
  look();
  record("s1").flags.clear();
  EXPECT_THAT(next().listens, IsEmpty());
  record("s1").flags.insert("DRAIN");
  EXPECT_THAT(next().listens, SizeIs(1));
}

TEST_F(TakingBack, NoJobIsTakenTwiceOrWhenItCannotBeDoneAgain) {
  facts_.memory.state.redone["17"] = 1;
  redo("18").requeues = false;
  recall(2);
  const auto out = look();
  EXPECT_THAT(facts_.pools[0].hosts.hosts, SizeIs(2));
  ASSERT_THAT(out.recalls, SizeIs(1));
  EXPECT_THAT(out.recalls[0].goes, IsEmpty());
  std::vector<std::string> stays;
  for (const auto& it : out.recalls[0].stays) stays.push_back(it.host + ": " + it.why);
  EXPECT_THAT(stays, ElementsAre("s1: job 17 was taken back once already", "s2: job 18 may not be requeued"));
  EXPECT_EQ(out.recalls[0].ceiling, 2);
  EXPECT_THAT(look().status.lines,
              testing::Contains("s2 stays although recall 1 asks for it: job 18 may not be requeued"));
}

TEST_F(TakingBack, OneThatWasQueuedAgainAndRunsElsewhereIsLeftAlone) {
  recall(1, {"s1"});
  look();
  next();
  slurm_.records.push_back({.name = "c1", .state = "ALLOCATED", .cpus = 1});
  slurm_.queue[0].nodes = {"c1"};
  now_ += minutes(5);
  const auto steps = next();
  EXPECT_THAT(names_of(steps.redo), IsEmpty());
  EXPECT_THAT(steps.book.jobs, IsEmpty());
  look();
  EXPECT_EQ(facts_.memory.state.redone.count("17"), 1U) << "and it is not taken again";
}

TEST_F(TakingBack, SlurmIsAskedAboutJobsOnlyWhenSomethingIsTaken) {
  EXPECT_THAT(asked_about(facts_, slurm_.queue), IsEmpty());
  facts_.room_lacks = true;
  EXPECT_THAT(asked_about(facts_, slurm_.queue), ElementsAre("17", "18"));
  facts_.room_lacks = false;
  facts_.memory.state.redone["9"] = 1;
  EXPECT_THAT(asked_about(facts_, slurm_.queue), ElementsAre("9"));
}

}  // namespace
}  // namespace underway::growth
