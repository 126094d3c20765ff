#include "tests/world.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;
using model::Deployment;
using model::DeploymentStatus;
using namespace std::chrono_literals;

/// What happens, and what lives then: "0a 1b 2b*" is number and version, * a canary, ! not well, ? not known yet. On
/// the nodes of system jobs the number is the node's.
struct Step {
  const char* happens;
  const char* lives;
};

struct Case {
  const char* name;
  std::vector<Step> steps;
};

/// Plays the steps of a case. Words:
///   run a 3 max_parallel=2 canary=1     registers the job in a version of that name, as many, with such an `update`
///   well | well 0                       all, or one, of what is not known yet is found well
///   bad 0 | die 0 | unknown 0           one is found not well; fails; is not heard of
///   down 0 | join                       the node of one is gone; another one joins
///   pause | resume | fail | promote     what a person, or a deadline, decides
///   wait                                the time after which what failed is replaced
class Play {
 public:
  Play(JobType type, int nodes) : type_(type), world_(1) {
    for (int i = 1; i <= nodes; ++i) join(std::to_string(i));
  }

  void step(const std::string& what) {
    const auto words = split(what, ' ');
    const std::string& verb = words[0];
    if (verb == "run") return run(words);
    if (verb == "down") return down(words[1]);
    if (verb == "join") join("z");
    if (verb == "wait") world_.clock().advance(31s);
    if (verb == "well" && words.size() == 1) return all_well();
    if (verb == "well" || verb == "bad") world_.set_health(newest(words[1])->id, verb == "well");
    if (verb == "die") die(newest(words[1])->id);
    if (verb == "unknown") world_.set_client(newest(words[1])->id, ClientStatus::unknown);
    if (verb == "pause") decide(DeploymentStatus::paused);
    if (verb == "resume") decide(DeploymentStatus::running);
    if (verb == "fail") decide(DeploymentStatus::failed);
    if (verb == "promote") promote();
    look(EvalTrigger::deployment_watcher);
  }

  std::string lives() const {
    std::vector<std::string> out;
    for (const auto& row : world_.live("web")) {
      std::string text = number(*row) + row->job->groups[0].tasks[0].env.at("V");
      if (row->health.canary) text += '*';
      if (row->client_status == ClientStatus::unknown) text += '~';
      if (!row->health.healthy)
        text += '?';
      else if (!*row->health.healthy)
        text += '!';
      out.push_back(std::move(text));
    }
    std::sort(out.begin(), out.end());
    return underway::join(out, " ");
  }
  Row<Deployment> deployment() const { return world_.newest_deployment(); }
  const Plan& plan() const { return plan_; }

 private:
  /// Nodes are visited in the order of their ids.
  void join(const std::string& number) {
    Node node = make_node("c" + number);
    node.id = number + node.id.substr(1);
    world_.put_node(std::move(node));
  }
  std::string number(const Allocation& row) const {
    return type_ == JobType::system ? world_.nodes().at(row.node_id)->name.substr(1) : std::to_string(row.index());
  }

  void run(const std::vector<std::string>& words) {
    Job job = make_job("web", type_ == JobType::system ? 1 : std::stoi(words[2]));
    job.type = type_;
    job.groups[0].tasks[0].env["V"] = words[1];
    auto& update = job.update.emplace();
    update.max_parallel = 1;
    for (const auto& word : words) {
      const auto value = [&](std::string_view key) -> std::optional<std::int64_t> {
        if (!word.starts_with(key)) return std::nullopt;
        return std::stoll(word.substr(key.size()));
      };
      if (const auto n = value("max_parallel=")) update.max_parallel = n;
      if (const auto n = value("canary=")) update.canary = n;
      if (const auto n = value("kill_timeout=")) job.groups[0].tasks[0].kill_timeout = std::chrono::seconds(*n);
    }
    plan_ = world_.run(std::move(job));
  }

  void look(EvalTrigger trigger) { plan_ = world_.again("web", trigger); }

  void all_well() {
    for (const auto& row : world_.live("web")) {
      if (!row->health.healthy) world_.set_health(row->id, true);
    }
    look(EvalTrigger::deployment_watcher);
  }

  void die(const std::string& id) {
    if (world_.alloc(id)->health.healthy != false) world_.set_health(id, false);
    world_.set_client(id, ClientStatus::failed);
  }

  void down(const std::string& which) {
    Node node = *world_.nodes().at(newest(which)->node_id);
    node.status = model::NodeStatus::down;
    world_.put_node(std::move(node));
    look(EvalTrigger::node_update);
  }

  /// Of those with the number the one of the newest version.
  Row<Allocation> newest(const std::string& which) const {
    Row<Allocation> found;
    for (const auto& row : world_.live("web")) {
      if (number(*row) == which && (!found || found->job_version < row->job_version)) found = row;
    }
    if (!found) throw Error(Code::not_found, "nothing lives of number " + which);
    return found;
  }

  void decide(DeploymentStatus status) {
    Deployment row = *deployment();
    row.status = status;
    world_.set_deployment(std::move(row));
  }

  void promote() {
    Deployment row = *deployment();
    for (auto& [name, state] : row.groups) {
      state.promoted = true;
      for (const auto& id : state.placed_canaries) {
        Allocation canary = *world_.alloc(id);
        canary.health.canary = false;
        world_.put(std::move(canary));
      }
    }
    world_.set_deployment(std::move(row));
  }

  JobType type_;
  World world_;
  Plan plan_;
};

void play(JobType type, int nodes, const std::vector<Case>& cases) {
  for (const auto& test_case : cases) {
    SCOPED_TRACE(test_case.name);
    Play play(type, nodes);
    for (const auto& step : test_case.steps) {
      play.step(step.happens);
      EXPECT_EQ(play.lives(), step.lives) << "after: " << step.happens;
    }
  }
}

TEST(ServiceRollout, GoesAsFarAsItsUpdateLetsIt) {
  play(JobType::service, 6,
       {{"the first version is placed at once", {{"run a 3", "0a? 1a? 2a?"}, {"well", "0a 1a 2a"}}},
        {"one by one",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3", "0b? 1a 2a"},
          {"well", "0b 1b? 2a"},
          {"well", "0b 1b 2b?"},
          {"well", "0b 1b 2b"}}},
        {"two by two",
         {{"run a 4", "0a? 1a? 2a? 3a?"},
          {"well", "0a 1a 2a 3a"},
          {"run b 4 max_parallel=2", "0b? 1b? 2a 3a"},
          {"well 0", "0b 1b? 2b? 3a"},
          {"well 1", "0b 1b 2b? 3b?"}}},
        {"max_parallel 0 is all at once",
         {{"run a 3", "0a? 1a? 2a?"}, {"well", "0a 1a 2a"}, {"run b 3 max_parallel=0", "0b? 1b? 2b?"}}},
        {"more at once than there are",
         {{"run a 2", "0a? 1a?"}, {"well", "0a 1a"}, {"run b 2 max_parallel=9", "0b? 1b?"}}},
        {"in place is not limited, and what was well stays so",
         {{"run a 3", "0a? 1a? 2a?"}, {"well", "0a 1a 2a"}, {"run a 3 kill_timeout=60", "0a 1a 2a"}}},
        {"what does not work goes first",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well 0", "0a 1a? 2a?"},
          {"well 1", "0a 1a 2a?"},
          {"bad 2", "0a 1a 2a!"},
          {"run b 3", "0a 1a 2b?"}}}});
}

TEST(ServiceRollout, StopsAtTheFirstBadOne) {
  play(JobType::service, 6,
       {{"found bad",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3 max_parallel=2", "0b? 1b? 2a"},
          {"bad 0", "0b! 1b? 2a"},
          {"well 1", "0b! 1b 2a"},
          {"fail", "0b! 1b 2a"}}},
        {"dies, and is tried again while the deployment goes on",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3", "0b? 1a 2a"},
          {"die 0", "1a 2a"},
          {"wait", "0b? 1a 2a"},
          {"well 0", "0b 1b? 2a"}}},
        {"dies, and is not tried again once the deployment has failed",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3", "0b? 1a 2a"},
          {"die 0", "1a 2a"},
          {"fail", "1a 2a"},
          {"wait", "1a 2a"}}},
        {"a first version that has nothing behind it is tried again all the same",
         {{"run a 2", "0a? 1a?"}, {"die 0", "1a?"}, {"fail", "1a?"}, {"wait", "0a? 1a?"}}},
        {"an old one that dies in a failed rollout comes back as it was",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3", "0b? 1a 2a"},
          {"fail", "0b? 1a 2a"},
          {"die 2", "0b? 1a"},
          {"wait", "0b? 1a 2a?"}}},
        {"a mended version replaces what failed at once",
         {{"run a 2", "0a? 1a?"},
          {"well", "0a 1a"},
          {"run b 2", "0b? 1a"},
          {"die 0", "1a"},
          {"run c 2", "0c? 1a"},
          {"well", "0c 1c?"}}}});
}

TEST(ServiceRollout, HoldsWhileItIsPaused) {
  play(JobType::service, 6,
       {{"nothing new, but what is lost comes back as it was",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3", "0b? 1a 2a"},
          {"pause", "0b? 1a 2a"},
          {"well", "0b 1a 2a"},
          {"down 2", "0b 1a 2a?"},
          {"well", "0b 1a 2a"},
          {"resume", "0b 1b? 2a"}}}});
}

TEST(ServiceRollout, PutsCanariesBesideTheOthers) {
  play(JobType::service, 8,
       {{"one, promoted",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3 canary=1", "0a 0b*? 1a 2a"},
          {"well", "0a 0b* 1a 2a"},
          {"promote", "0b 1b? 2a"},
          {"well", "0b 1b 2b?"}}},
        {"as many as there are: blue and green",
         {{"run a 2", "0a? 1a?"},
          {"well", "0a 1a"},
          {"run b 2 canary=2", "0a 0b*? 1a 1b*?"},
          {"well", "0a 0b* 1a 1b*"},
          {"promote", "0b 1b"}}},
        {"more than there are",
         {{"run a 1", "0a?"},
          {"well", "0a"},
          {"run b 1 canary=2", "0a 0b*? 1b*?"},
          {"well", "0a 0b* 1b*"},
          {"promote", "0b"}}},
        {"the first version has none", {{"run a 2 canary=1", "0a? 1a?"}}},
        {"a canary whose node is gone is placed anew",
         {{"run a 2", "0a? 1a?"}, {"well", "0a 1a"}, {"run b 2 canary=1", "0a 0b*? 1a"}, {"down 0", "0a 0b*? 1a"}}},
        {"an old one whose node is gone comes back as it was",
         {{"run a 2", "0a? 1a?"}, {"well", "0a 1a"}, {"run b 2 canary=1", "0a 0b*? 1a"}, {"down 1", "0a 0b*? 1a?"}}},
        {"they end with a failed rollout",
         {{"run a 2", "0a? 1a?"}, {"well", "0a 1a"}, {"run b 2 canary=1", "0a 0b*? 1a"}, {"fail", "0a 1a"}}},
        {"they end with a newer version, which has its own",
         {{"run a 2", "0a? 1a?"},
          {"well", "0a 1a"},
          {"run b 2 canary=1", "0a 0b*? 1a"},
          {"run c 2 canary=1", "0a 0c*? 1a"}}},
        {"an old one is lost as they are promoted",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3 canary=1", "0a 0b*? 1a 2a"},
          {"well", "0a 0b* 1a 2a"},
          {"down 2", "0a 0b* 1a 2a?"},
          {"promote", "0b 1a 2b?"},
          {"well", "0b 1b? 2b"}}}});
}

TEST(ServiceRollout, GoesOnWhenTheWorldChangesMeanwhile) {
  play(JobType::service, 6,
       {{"more of them",
         {{"run a 2", "0a? 1a?"},
          {"well", "0a 1a"},
          {"run b 2", "0b? 1a"},
          {"run b 4", "0b? 1a 2b? 3b?"},
          {"well", "0b 1b? 2b 3b"}}},
        {"fewer of them",
         {{"run a 4", "0a? 1a? 2a? 3a?"},
          {"well", "0a 1a 2a 3a"},
          {"run b 4", "0b? 1a 2a 3a"},
          {"run b 2", "0b? 1a"},
          {"well", "0b 1b?"}}},
        {"a newer version",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3", "0b? 1a 2a"},
          {"run c 3", "0c? 1a 2a"},
          {"well", "0c 1c? 2a"}}},
        {"back to the version before",
         {{"run a 3", "0a? 1a? 2a?"}, {"well", "0a 1a 2a"}, {"run b 3", "0b? 1a 2a"}, {"run a 3", "0a? 1a 2a"}}},
        {"a node is lost: its place counts as one that is on its way",
         {{"run a 3", "0a? 1a? 2a?"},
          {"well", "0a 1a 2a"},
          {"run b 3", "0b? 1a 2a"},
          {"down 2", "0b? 1a 2b?"},
          {"well 0", "0b 1a 2b?"},
          {"well 2", "0b 1b? 2b"}}}});
}

TEST(SystemRollout, GoesNodeByNode) {
  play(JobType::system, 4,
       {{"the first version is everywhere at once", {{"run a 1", "1a? 2a? 3a? 4a?"}, {"well", "1a 2a 3a 4a"}}},
        {"two by two",
         {{"run a 1", "1a? 2a? 3a? 4a?"},
          {"well", "1a 2a 3a 4a"},
          {"run b 1 max_parallel=2", "1b? 2b? 3a 4a"},
          {"well 1", "1b 2b? 3b? 4a"},
          {"well", "1b 2b 3b 4b?"},
          {"well", "1b 2b 3b 4b"}}},
        {"stops at the first bad one",
         {{"run a 1", "1a? 2a? 3a? 4a?"},
          {"well", "1a 2a 3a 4a"},
          {"run b 1 max_parallel=2", "1b? 2b? 3a 4a"},
          {"bad 1", "1b! 2b? 3a 4a"},
          {"well 2", "1b! 2b 3a 4a"},
          {"fail", "1b! 2b 3a 4a"},
          {"join", "1b! 2b 3a 4a za?"},
          {"well z", "1b! 2b 3a 4a za"},
          {"run a 1", "1a? 2b 3a 4a za"}}},
        {"what a failed one left behind goes back at once, whatever else has its turn",
         {{"run a 1", "1a? 2a? 3a? 4a?"},
          {"well", "1a 2a 3a 4a"},
          {"run b 1 max_parallel=3", "1b? 2b? 3b? 4a"},
          {"bad 1", "1b! 2b? 3b? 4a"},
          {"well 2", "1b! 2b 3b? 4a"},
          {"fail", "1b! 2b 3b? 4a"},
          {"run a 1 canary=25", "1a? 2b 3a? 4a"},
          {"well", "1a 2a*? 3a 4a"}}},
        {"where it ended in a failed one the last good one comes back",
         {{"run a 1", "1a? 2a? 3a? 4a?"},
          {"well", "1a 2a 3a 4a"},
          {"run b 1", "1b? 2a 3a 4a"},
          {"die 1", "2a 3a 4a"},
          {"fail", "1a? 2a 3a 4a"},
          {"well", "1a 2a 3a 4a"}}},
        {"what did not work before goes first",
         {{"run a 1", "1a? 2a? 3a? 4a?"},
          {"well", "1a 2a 3a 4a"},
          {"bad 3", "1a 2a 3a! 4a"},
          {"run b 1", "1a 2a 3b? 4a"}}},
        {"in place everywhere at once",
         {{"run a 1", "1a? 2a? 3a? 4a?"}, {"well", "1a 2a 3a 4a"}, {"run a 1 kill_timeout=60", "1a 2a 3a 4a"}}},
        {"canaries are percent of the nodes, rounded up, and no more at a time than may be",
         {{"run a 1", "1a? 2a? 3a? 4a?"},
          {"well", "1a 2a 3a 4a"},
          {"run b 1 canary=30", "1b*? 2a 3a 4a"},
          {"well", "1b* 2b*? 3a 4a"},
          {"well", "1b* 2b* 3a 4a"},
          {"promote", "1b 2b 3b? 4a"}}},
        {"a node that joins gets the new version, or while it is held the old one",
         {{"run a 1", "1a? 2a? 3a? 4a?"},
          {"well", "1a 2a 3a 4a"},
          {"run b 1", "1b? 2a 3a 4a"},
          {"pause", "1b? 2a 3a 4a"},
          {"join", "1b? 2a 3a 4a za?"}}},
        {"a node that is gone holds nobody up",
         {{"run a 1", "1a? 2a? 3a? 4a?"},
          {"well", "1a 2a 3a 4a"},
          {"run b 1", "1b? 2a 3a 4a"},
          {"down 4", "1b? 2a 3a"},
          {"well", "1b 2b? 3a"}}},
        {"a node that falls silent with the new version does",
         {{"run a 1", "1a? 2a? 3a? 4a?"},
          {"well", "1a 2a 3a 4a"},
          {"run b 1", "1b? 2a 3a 4a"},
          {"unknown 1", "1b~? 2a 3a 4a"}}}});
}

TEST(SystemRollout, IsNotWatchedWithoutAWordAboutUpdates) {
  World world(1, 3);
  Job job = make_job("web");
  job.type = JobType::system;
  world.run(job);
  job.groups[0].tasks[0].env["V"] = "b";
  EXPECT_EQ(world.run(job).groups.at("g").destructive, 3);
  EXPECT_EQ(world.newest_deployment(), nullptr);
}

TEST(Rollout, IsNamedByWhoChangesNothingAsWell) {
  World world(1, 3);
  world.run(make_job("web", 2));
  const std::string first = world.newest_deployment()->id;
  for (const auto& row : world.live("web")) world.set_health(row->id, true);
  world.again("web", EvalTrigger::deployment_watcher);
  ASSERT_EQ(world.newest_deployment()->status, DeploymentStatus::successful);
  const Plan unchanged = world.again("web", EvalTrigger::job_register);
  EXPECT_FALSE(unchanged.changes_allocations());
  EXPECT_EQ(unchanged.evaluation.deployment_id, first) << "who waits for it goes on at once";
  EXPECT_EQ(world.stop("web").evaluation.deployment_id, first);
}

TEST(Rollout, IsNamedByWhoEndsIt) {
  World world(1, 3);
  world.run(make_job("web", 2));
  const Plan stopped = world.stop("web");
  ASSERT_EQ(world.newest_deployment()->status, DeploymentStatus::cancelled);
  EXPECT_EQ(stopped.evaluation.deployment_id, world.newest_deployment()->id);
}

TEST(Rollout, OfAnEarlierJobOrOfABatchJobIsNamedByNobody) {
  const auto named = [](JobType type, model::Revision created, DeploymentStatus status = DeploymentStatus::successful) {
    Job job = make_job("web", 0);
    job.type = type;
    job.create_index = created;
    job.version = 1;
    Deployment before;
    before.id = "d1";
    before.job_id = "web";
    before.job_create_index = 7;
    before.status = status;
    Situation situation;
    situation.job = std::make_shared<const Job>(job);
    situation.deployment = std::make_shared<const Deployment>(before);
    model::Evaluation evaluation;
    evaluation.job_id = "web";
    evaluation.type = type;
    Fleet fleet;
    SeededIds ids(1);
    return schedule(situation, fleet, evaluation, {TimePoint{}, ids}).evaluation.deployment_id;
  };
  EXPECT_EQ(named(JobType::service, 7), "d1");
  EXPECT_EQ(named(JobType::service, 9), "") << "the job was purged since, and is another";
  EXPECT_EQ(named(JobType::service, 7, DeploymentStatus::failed), "") << "the failure was the version before";
  EXPECT_EQ(named(JobType::batch, 7), "");
}

TEST(Rollout, TellsHowFarItIs) {
  Play play(JobType::service, 6);
  play.step("run a 3");
  play.step("well");
  EXPECT_EQ(play.deployment()->status, DeploymentStatus::successful);
  EXPECT_TRUE(play.plan().stable);
  play.step("run b 3 canary=1");
  EXPECT_EQ(play.plan().groups.at("g").canary, 1);
  EXPECT_EQ(play.plan().groups.at("g").ignore, 3);
  EXPECT_EQ(play.plan().evaluation.deployment_id, play.deployment()->id);
  const auto state = [&] { return play.deployment()->groups.at("g"); };
  EXPECT_EQ(play.deployment()->status_description, "Deployment is running but requires manual promotion");
  EXPECT_EQ(state().desired_total, 3);
  EXPECT_EQ(state().desired_canaries, 1);
  EXPECT_EQ(state().placed_canaries.size(), 1u);
  EXPECT_EQ(state().placed_allocs, 1);
  play.step("well");
  play.step("promote");
  play.step("well");
  EXPECT_EQ(state().placed_allocs, 3);
  EXPECT_EQ(state().healthy_allocs, 2);
  EXPECT_EQ(state().desired_total, 3);
  play.step("well");
  EXPECT_EQ(play.deployment()->status, DeploymentStatus::successful);
  EXPECT_FALSE(play.plan().changes_allocations());
}

}  // namespace
}  // namespace underway::scheduler
