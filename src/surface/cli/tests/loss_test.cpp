#include "cli/impact/loss.hpp"

#include <gmock/gmock.h>

#include "cli/impact/cluster_losses.hpp"

namespace underway::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Loss loss() { return {.deed = "this takes cluster 'demo' away", .word = "demo", .lost = {"2 Slurm jobs run: 17, 18"}}; }
std::function<std::string()> types(std::string what) {
  return [what] { return what; };
}

TEST(AskBefore, WantsTheNameAndNothingElse) {
  EXPECT_EQ(ask_before(loss(), false, types("demo")), kDone);
  EXPECT_EQ(ask_before(loss(), false, types(" demo ")), kDone);
  for (const char* other : {"", "y", "yes", "Demo", "demo2"})
    EXPECT_EQ(ask_before(loss(), false, types(other)), kFailed);
}

TEST(AskBefore, RefusesWhereNobodyCanBeAskedAndSaysWhatWouldBeLost) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ask_before(loss(), false, nullptr), kUsage);
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("this takes cluster 'demo' away"));
  EXPECT_THAT(said, HasSubstr("2 Slurm jobs run: 17, 18"));
  EXPECT_THAT(said, HasSubstr("-yes"));
}

TEST(AskBefore, GoesOnWhenItWasAgreedToOrNothingIsLost) {
  EXPECT_EQ(ask_before(loss(), true, nullptr), kDone);
  EXPECT_EQ(ask_before({.deed = "this does nothing", .word = "x", .lost = {}}, false, nullptr), kDone);
}

constexpr TimePoint kLossNow{std::chrono::hours(1000)};
std::int64_t hours_ago(int hours) { return unix_nanos(kLossNow - std::chrono::hours(hours)); }

ClusterFacts facts() {
  ClusterFacts facts;
  facts.slurm_jobs = {{"c1", {"17"}}, {"c4", {"17", "18"}}};
  model::Capsule mail{.name = "mail", .job = "mail", .owner_name = "infra1", .owner_host = "demo/infra1", .ran = true};
  mail.replicas.push_back({.node = "2", .node_name = "infra2", .at = hours_ago(2)});
  facts.capsules = {mail, {.name = "other", .job = "other", .owner_host = "elsewhere/x", .ran = true}};
  model::CapsuleSaving saving{.name = "mail", .overlay_size = 100 << 20, .overlay_used = 14};
  saving.backup.done_at = hours_ago(3);
  facts.saved = {{"mail", saving}};
  return facts;
}

TEST(LossesOfRemoval, AreSlurmJobsWhatCapsulesOfItWroteAndDisks) {
  EXPECT_THAT(losses_of_removal(facts(), "demo", {"c1", "c4", "infra1"}, kLossNow),
              ElementsAre("2 Slurm jobs run: 17, 18",
                          "what capsule 'mail' wrote, 14.0 MiB; its last backup elsewhere was 3h0m ago",
                          "the disks of 3 hosts: c1, c4, infra1"));
  EXPECT_THAT(losses_of_removal({}, "demo", {}, kLossNow), IsEmpty());
  auto young = facts();
  young.slurm_jobs.clear();
  young.saved["mail"] = {.name = "mail", .overlay_size = 100 << 20};
  EXPECT_THAT(losses_of_removal(young, "demo", {}, kLossNow),
              ElementsAre("what capsule 'mail' wrote, less than 1.0 MiB; no backup elsewhere was made of it"));
}

TEST(LossesOfNode, AreTheSlurmJobsOnItAndTheCapsulesThatItHas) {
  auto known = facts();
  known.capsules[0].owner = "1";
  model::Node infra{.id = "1", .name = "infra1"};
  EXPECT_THAT(
      losses_of_node(known, infra, kLossNow),
      ElementsAre("the way back to what capsule 'mail' wrote, 14.0 MiB; its last backup elsewhere was 3h0m ago; "
                  "infra2 has a copy from 2h0m ago"));
  EXPECT_THAT(losses_of_node(known, {.id = "9", .name = "c4"}, kLossNow), ElementsAre("2 Slurm jobs run: 17, 18"));
  EXPECT_THAT(losses_of_node(known, {.id = "8", .name = "c2"}, kLossNow), IsEmpty());
  known.capsules[0].keeps_nothing = true;
  EXPECT_THAT(losses_of_node(known, infra, kLossNow), IsEmpty());
}

TEST(LossesOfState, NameTheSecrets) {
  EXPECT_THAT(losses_of_state({"nomad/jobs", "nomad/jobs/web"}),
              ElementsAre("2 secrets: nomad/jobs, nomad/jobs/web", HasSubstr("the server's state")));
}

TEST(LossesOfChange, AreThoseOfTheHostsThatGoAndTheJobsThatAreStopped) {
  wire::ClusterPlan plan;
  EXPECT_THAT(losses_of_change(facts(), plan, "demo", kLossNow), IsEmpty());
  plan.cluster.hosts_removed = {"c2"};
  EXPECT_THAT(losses_of_change(facts(), plan, "demo", kLossNow), IsEmpty()) << "no Slurm job runs there";
  plan.cluster.hosts_removed = {"c1"};
  EXPECT_THAT(losses_of_change(facts(), plan, "demo", kLossNow), ElementsAre("1 Slurm job runs: 17"));
  plan.cluster.hosts_removed = {"infra1"};
  EXPECT_THAT(losses_of_change(facts(), plan, "demo", kLossNow),
              ElementsAre(HasSubstr("infra2 has a copy from 2h0m ago")));
  plan.cluster.hosts_removed = {"infra1", "infra2"};
  EXPECT_THAT(losses_of_change(facts(), plan, "demo", kLossNow), ElementsAre(Not(HasSubstr("has a copy"))));
  plan.cluster.hosts_removed = {};
  plan.stopped = {"mail"};
  EXPECT_THAT(losses_of_change(facts(), plan, "demo", kLossNow), ElementsAre(HasSubstr("stays on infra1")));
}

TEST(ChangesOfAllAtOnce, AreThoseThatTheJobItselfAsksForAndOthersDependOn) {
  model::TaskGroup group{.name = "slurmd"};
  model::Job slurmd{.id = "slurmd"}, health{.id = "health"};
  health.depends_on.push_back({.job = "slurmd"});
  wire::ClusterPlan plan;
  wire::JobChange change{.id = "slurmd"};
  change.updates["slurmd"].destructive = 6;
  plan.jobs.push_back(change);
  const auto asked = [&](std::optional<model::UpdateStrategy> update, bool depended_on = true) {
    group.update = std::move(update);
    slurmd.groups = {group};
    std::vector<wire::JobWithSource> wanted{{slurmd, {}}};
    if (depended_on) wanted.push_back({health, {}});
    return changes_of_all_at_once(plan, wanted);
  };
  EXPECT_THAT(asked(model::UpdateStrategy{.max_parallel = 0}),
              ElementsAre("all 6 of 'slurmd' are replaced at once, as its `update` says; health depends on it"));
  EXPECT_THAT(asked(model::UpdateStrategy{.max_parallel = 6}), testing::SizeIs(1));
  EXPECT_THAT(asked(model::UpdateStrategy{.max_parallel = 6}, false), IsEmpty());
  EXPECT_THAT(asked(model::UpdateStrategy{.max_parallel = 6, .canary = 1}), IsEmpty());
  EXPECT_THAT(asked(model::UpdateStrategy{.max_parallel = 2}), IsEmpty());
  EXPECT_THAT(asked({}), IsEmpty());
}

}  // namespace
}  // namespace underway::cli
