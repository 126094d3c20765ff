#include "scheduler/reconcile/update.hpp"
#include "tests/world.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;
using model::DesiredStatus;
using Names = std::vector<std::string>;
using namespace std::chrono_literals;

Names names_of(const std::vector<Allocation>& rows) {
  Names names;
  for (const auto& row : rows) names.push_back(row.name);
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Service, StartsAsManyAsItIsToHave) {
  World world(1, 2);
  const Plan plan = world.run(make_job("web", 3));
  EXPECT_EQ(names_of(plan.created), (Names{"web.g[0]", "web.g[1]", "web.g[2]"}));
  EXPECT_EQ(plan.evaluation.status, EvalStatus::complete);
  EXPECT_EQ(plan.job_status, model::JobStatus::running);
  const Allocation& row = plan.created.front();
  EXPECT_EQ(row.eval_id, plan.evaluation.id);
  EXPECT_EQ(row.resources.tasks.at("t").cpu, 500);
  EXPECT_EQ(row.resources.disk_mb, 300);
  EXPECT_EQ(row.create_time, unix_nanos(world.clock().now()));
  EXPECT_EQ(row.alloc_modify_index, tables::Tables::kThisRevision);
  EXPECT_EQ(row.metrics.nodes_evaluated, 2);
  EXPECT_TRUE(row.metrics.scores.at(0).scores.contains("binpack"));
}

TEST(Service, IsLeftAloneWhenNothingChanged) {
  World world(1, 2);
  world.run(make_job("web", 3));
  world.start_all();
  const Plan plan = world.again("web");
  EXPECT_FALSE(plan.changes_allocations());
  EXPECT_EQ(summary(plan), "place 0 stop 0 in-place 0 destructive 0 lost 0 ignore 3");
  EXPECT_TRUE(plan.evaluations.empty());
  EXPECT_EQ(plan.job_status, std::nullopt);
}

TEST(Service, GrowsByLowestNumbersAndShrinksByHighest) {
  World world(1, 2);
  world.run(make_job("web", 4));
  Plan plan = world.run(make_job("web", 2));
  EXPECT_EQ(names_of(plan.stopped), (Names{"web.g[2]", "web.g[3]"}));
  EXPECT_EQ(plan.stopped[0].desired_description, "alloc not needed due to job update");
  EXPECT_EQ(plan.stopped[0].desired_status, model::DesiredStatus::stop);
  EXPECT_TRUE(plan.created.empty());
  EXPECT_EQ(plan.groups.at("g").in_place, 2) << "a new count is no reason to replace";
  plan = world.run(make_job("web", 3));
  EXPECT_EQ(names_of(plan.created), Names{"web.g[2]"});
}

TEST(Service, StopsWhenAskedTo) {
  World world(1, 2);
  world.run(make_job("web", 2));
  const Plan plan = world.stop("web");
  EXPECT_EQ(names_of(plan.stopped), (Names{"web.g[0]", "web.g[1]"}));
  EXPECT_EQ(plan.job_status, model::JobStatus::dead);
  EXPECT_EQ(world.fleet().usage(world.nodes().begin()->first)->used, Amount{});
}

TEST(Service, DropsGroupsThatTheJobNoLongerHas) {
  World world(1, 2);
  Job job = make_job("web", 1);
  job.groups.push_back(job.groups[0]);
  job.groups[1].name = "old";
  world.run(job);
  const Plan plan = world.run(make_job("web", 1));
  EXPECT_EQ(names_of(plan.stopped), Names{"web.old[0]"});
}

TEST(Service, UpdatesInPlaceWhatNeedsNoNewProcess) {
  World world(1, 2);
  world.run(make_job("web", 2));
  world.start_all();
  Job job = make_job("web", 2);
  job.groups[0].tasks[0].kill_timeout = 60s;
  job.priority = 70;
  const Plan plan = world.run(job);
  EXPECT_EQ(summary(plan), "place 0 stop 0 in-place 2 destructive 0 lost 0 ignore 0");
  for (const auto& row : plan.updated) {
    EXPECT_EQ(row.job_version, 1);
    EXPECT_EQ(row.client_status, ClientStatus::running);
  }
  EXPECT_FALSE(world.again("web").changes_allocations());
}

TEST(Service, ReplacesWhatRunsAnotherCommandOnItsOwnNode) {
  World world(1, 5);
  world.run(make_job("web", 3));
  std::map<std::string, std::string> node_of;
  for (const auto& row : world.live("web")) node_of[row->name] = row->node_id;
  Job job = make_job("web", 3);
  job.update.emplace().max_parallel = 0;
  job.groups[0].tasks[0].config = {{"command", "/bin/new"}};
  const Plan plan = world.run(job);
  EXPECT_EQ(summary(plan), "place 0 stop 0 in-place 0 destructive 3 lost 0 ignore 0");
  for (const auto& row : plan.created) {
    EXPECT_EQ(row.node_id, node_of[row.name]);
    const auto& old = world.alloc(row.previous_allocation);
    EXPECT_EQ(old->desired_description, "alloc is being updated due to job update");
    EXPECT_EQ(old->next_allocation, row.id);
  }
}

TEST(Service, KeepsItsStaticPortWhenReplaced) {
  World world(1, 1);
  Job job = make_job("ctl");
  job.groups[0].networks.resize(1);
  job.groups[0].networks[0].reserved_ports = {{"slurmctl", 6817}};
  world.run(job);
  job.groups[0].tasks[0].env["A"] = "1";
  const Plan plan = world.run(job);
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.created[0].resources.ports[0].value, 6817);
  EXPECT_EQ(plan.created[0].resources.ports[0].host_ip, "10.0.0.1");
  EXPECT_TRUE(plan.evaluation.failed_groups.empty());
}

TEST(Service, GoesOnAsItWasWhenItsReplacementFitsNowhere) {
  World world(1, 1);
  world.run(make_job("web", 1));
  Job job = make_job("web", 1, 1'000'000);
  const Plan plan = world.run(job);
  EXPECT_FALSE(plan.changes_allocations());
  EXPECT_EQ(plan.evaluation.failed_groups.at("g").dimension_exhausted.at("cpu"), 1);
  EXPECT_EQ(plan.evaluation.queued.at("g"), 1);
  EXPECT_EQ(world.live_names("web"), Names{"web.g[0]"});
}

TEST(Service, MovesWhenItsNewConstraintForbidsItsNode) {
  World world(1, 2);
  Job job = make_job("ctl");
  job.constraints = {{"${attr.unique.hostname}", "=", "c1"}};
  world.run(job);
  EXPECT_EQ(world.live("ctl")[0]->node_name, "c1");
  job.constraints[0].rtarget = "c2";
  const Plan plan = world.run(job);
  EXPECT_EQ(summary(plan), "place 0 stop 0 in-place 0 destructive 1 lost 0 ignore 0");
  EXPECT_EQ(world.live("ctl")[0]->node_name, "c2");
}

TEST(Service, IsReplacedWhenItsNodeIsLost) {
  World world(1, 3);
  Job job = make_job("web", 3);
  job.constraints = {{"", "distinct_hosts", "true"}};
  job.groups[0].count = 2;
  world.run(job);
  const auto victim = world.live("web")[1];
  Node node = *world.nodes().at(victim->node_id);
  node.status = model::NodeStatus::down;
  world.put_node(node);
  const Plan plan = world.again("web");
  EXPECT_EQ(summary(plan), "place 1 stop 0 in-place 0 destructive 0 lost 1 ignore 1");
  EXPECT_EQ(plan.stopped[0].id, victim->id);
  EXPECT_EQ(plan.stopped[0].client_status, ClientStatus::lost);
  EXPECT_EQ(plan.stopped[0].desired_description, "alloc was lost since its node is down");
  EXPECT_EQ(plan.stopped[0].next_allocation, plan.created[0].id);
  EXPECT_EQ(plan.created[0].name, victim->name);
  EXPECT_EQ(plan.created[0].previous_allocation, victim->id);
  EXPECT_NE(plan.created[0].node_id, victim->node_id);
}

TEST(Service, IsFollowedByWhatTakesItsNumber) {
  struct Case {
    const char* name;
    std::function<void(World&, Allocation)> stop;
    bool followed;
  };
  const std::vector<Case> cases = {
      {"stopped by a person", [](World& w, Allocation row) { stop_to_go_elsewhere(w, std::move(row)); }, true},
      {"evicted", [](World& w, Allocation row) { stop_to_go_elsewhere(w, std::move(row), DesiredStatus::evict); },
       true},
      {"lost before there was a place",
       [](World& w, Allocation row) {
         row.desired_status = DesiredStatus::stop;
         row.client_status = ClientStatus::lost;
         w.put(std::move(row));
       },
       true},
      {"one too many, until the count grew again",
       [](World& w, Allocation row) {
         row.desired_status = DesiredStatus::stop;
         w.put(std::move(row));
       },
       false},
      {"stopped, and followed already",
       [](World& w, Allocation row) {
         row.next_allocation = "another";
         stop_to_go_elsewhere(w, std::move(row));
       },
       false},
      {"of a job of the same name that was purged",
       [](World& w, Allocation row) {
         stop_to_go_elsewhere(w, row);
         w.remake("web");
       },
       false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    World world(1, 2);
    world.run(make_job("web", 2));
    world.start_all();
    const auto old = world.live("web")[1];
    c.stop(world, *old);
    const Plan plan = world.again("web", EvalTrigger::alloc_stop);
    const auto it = std::find_if(plan.created.begin(), plan.created.end(),
                                 [&](const Allocation& row) { return row.name == old->name; });
    ASSERT_NE(it, plan.created.end());
    EXPECT_EQ(it->previous_allocation, c.followed ? old->id : "");
    if (c.followed) EXPECT_EQ(world.alloc(old->id)->next_allocation, it->id);
    EXPECT_TRUE(it->reschedules.empty());
    EXPECT_FALSE(world.again("web").changes_allocations());
  }
}

TEST(Service, IsFollowedHoweverLongItsSuccessorHadToWait) {
  World world(1, 1);
  Job job = make_job("web");
  job.groups[0].ephemeral_disk.sticky = true;
  world.run(job);
  const auto old = world.live("web")[0];
  Node node = *world.nodes().at(old->node_id);
  node.eligibility = model::Eligibility::ineligible;
  world.put_node(node);
  stop_to_go_elsewhere(world, *old);
  EXPECT_TRUE(world.again("web", EvalTrigger::alloc_stop).created.empty());
  job.groups[0].tasks[0].env["A"] = "1";
  EXPECT_TRUE(world.run(job).created.empty());
  world.put_node(make_node("c0"));
  node.eligibility = model::Eligibility::eligible;
  world.put_node(node);
  EXPECT_EQ(world.work(&node), 1u);
  EXPECT_EQ(world.live("web")[0]->previous_allocation, old->id);
  EXPECT_EQ(world.live("web")[0]->node_id, old->node_id) << "where its disk is";
}

TEST(Service, ThatStartsAtOnceOrNotAtAllFollowsNothingUntilAllOfItFits) {
  World world(1, 1);
  Job job = make_job("web", 2, 1500);
  job.all_at_once = true;
  world.run(job);
  for (const auto& row : world.live("web")) stop_to_go_elsewhere(world, *row);
  world.run(make_job("other", 1, 1500));
  const Plan plan = world.again("web", EvalTrigger::alloc_stop);
  EXPECT_TRUE(plan.created.empty());
  EXPECT_TRUE(plan.noted.empty());
  world.put_node(make_node("c2"));
  EXPECT_EQ(world.again("web").created.size(), 2u);
  for (const auto& row : world.live("web")) EXPECT_EQ(world.alloc(row->previous_allocation)->next_allocation, row->id);
}

TEST(Service, StaysOnADisconnectedOrIneligibleNode) {
  World world(1, 2);
  world.run(make_job("web", 1));
  world.start_all();
  Node node = *world.nodes().at(world.live("web")[0]->node_id);
  node.status = model::NodeStatus::disconnected;
  world.put_node(node);
  EXPECT_FALSE(world.again("web").changes_allocations());
  node.status = model::NodeStatus::ready;
  node.eligibility = model::Eligibility::ineligible;
  world.put_node(node);
  EXPECT_FALSE(world.again("web").changes_allocations());
  const Plan plan = world.run(make_job("web", 4));
  for (const auto& row : plan.created) EXPECT_NE(row.node_id, node.id) << "nothing new on an ineligible node";
}

TEST(Service, IsReplacedAfterAFailureLaterAndLater) {
  World world(1, 3);
  world.run(make_job("web", 1));
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 9; ++i) {
    const auto running = world.live("web").at(0);
    world.start_all();
    world.set_client(running->id, ClientStatus::failed);
    const std::int64_t failed_at = unix_nanos(world.clock().now());
    Plan plan = world.again("web", EvalTrigger::alloc_failure);
    EXPECT_FALSE(plan.changes_allocations());
    ASSERT_EQ(plan.evaluations.size(), 1u);
    EXPECT_EQ(plan.evaluation.next_eval, plan.evaluations[0].id);
    EXPECT_EQ(plan.job_status.value_or(model::JobStatus::running), model::JobStatus::pending);
    EXPECT_TRUE(world.again("web").evaluations.empty()) << "one delayed evaluation is enough";
    const std::int64_t due = plan.evaluations[0].wait_until;
    waits.push_back((due - failed_at) / 1'000'000'000);
    EXPECT_EQ(world.work(), 0u);
    world.clock().advance(Duration(due - failed_at));
    EXPECT_EQ(world.work(), 1u);
    const auto replacement = world.live("web").at(0);
    EXPECT_EQ(replacement->name, "web.g[0]");
    EXPECT_EQ(replacement->previous_allocation, running->id);
    EXPECT_NE(replacement->node_id, running->node_id) << "another node is tried";
    EXPECT_EQ(world.alloc(running->id)->desired_description, "alloc was rescheduled because it failed");
    EXPECT_EQ(world.alloc(running->id)->next_allocation, replacement->id);
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{30, 60, 120, 240, 480, 960, 1920, 3600, 3600}));
  const auto running = world.live("web").at(0);
  world.start_all();
  world.clock().advance(2h);
  world.set_client(running->id, ClientStatus::failed);
  const Plan plan = world.again("web", EvalTrigger::alloc_failure);
  EXPECT_EQ(plan.evaluations.at(0).wait_until - unix_nanos(world.clock().now()), Duration(30s).count())
      << "it had recovered";
}

TEST(Batch, IsDoneWhenItHasRun) {
  World world(1, 2);
  Job job = make_job("sim", 2);
  job.type = JobType::batch;
  world.run(job);
  for (const auto& row : world.live("sim")) world.set_client(row->id, ClientStatus::complete);
  const Plan plan = world.again("sim");
  EXPECT_FALSE(plan.changes_allocations());
  EXPECT_EQ(plan.job_status, model::JobStatus::dead);
  job.groups[0].tasks[0].env["A"] = "2";
  EXPECT_EQ(world.run(job).created.size(), 2u) << "a new version runs again";
}

TEST(Batch, IsNotDoneWhenItWasStoppedToGoElsewhere) {
  for (const auto desired : {DesiredStatus::stop, DesiredStatus::evict}) {
    World world(1, 2);
    Job job = make_job("sim", 1);
    job.type = JobType::batch;
    world.run(job);
    world.start_all();
    const auto old = world.live("sim")[0];
    stop_to_go_elsewhere(world, *old, desired);
    EXPECT_EQ(world.again("sim").created.at(0).previous_allocation, old->id);
    world.set_client(old->id, ClientStatus::complete);  // what was killed has not failed
    EXPECT_FALSE(world.again("sim").changes_allocations());
    const auto successor = world.live("sim").at(0);
    world.set_client(successor->id, ClientStatus::complete);
    EXPECT_EQ(world.again("sim").job_status, model::JobStatus::dead);
  }
}

TEST(Batch, IsTriedOnceMoreAfterAFailure) {
  World world(1, 2);
  Job job = make_job("sim", 1);
  job.type = JobType::batch;
  world.run(job);
  world.set_client(world.live("sim")[0]->id, ClientStatus::failed);
  Plan plan = world.again("sim", EvalTrigger::alloc_failure);
  EXPECT_EQ(plan.evaluations.at(0).wait_until - unix_nanos(world.clock().now()), Duration(5s).count());
  world.clock().advance(5s);
  EXPECT_EQ(world.work(), 1u);
  world.set_client(world.live("sim")[0]->id, ClientStatus::failed);
  plan = world.again("sim", EvalTrigger::alloc_failure);
  EXPECT_FALSE(plan.changes_allocations());
  EXPECT_TRUE(plan.evaluations.empty());
  EXPECT_EQ(plan.job_status, model::JobStatus::dead);
}

TEST(Update, IsDestructiveWhereTheDescriptionSaysSo) {
  const Job base = make_job("web");
  struct Case {
    const char* name;
    std::function<void(Job&)> change;
    bool destructive;
  };
  const std::vector<Case> cases = {
      {"nothing", [](Job&) {}, false},
      {"count", [](Job& j) { j.groups[0].count = 9; }, false},
      {"constraint", [](Job& j) { j.groups[0].constraints = {{"a", "=", "b"}}; }, false},
      {"restart", [](Job& j) { j.groups[0].restart->attempts = 9; }, false},
      {"kill_timeout", [](Job& j) { j.groups[0].tasks[0].kill_timeout = 9s; }, false},
      {"log files", [](Job& j) { j.groups[0].tasks[0].logs.max_files = 3; }, false},
      {"depends_on", [](Job& j) { j.groups[0].depends_on = {{"munge", model::DependencyScope::node}}; }, false},
      {"logs disabled", [](Job& j) { j.groups[0].tasks[0].logs.disabled = true; }, true},
      {"driver", [](Job& j) { j.groups[0].tasks[0].driver = "exec"; }, true},
      {"config", [](Job& j) { j.groups[0].tasks[0].config = {{"command", "x"}}; }, true},
      {"env", [](Job& j) { j.groups[0].tasks[0].env["a"] = "b"; }, true},
      {"group meta", [](Job& j) { j.groups[0].meta["a"] = "b"; }, true},
      {"job meta", [](Job& j) { j.meta["a"] = "b"; }, true},
      {"memory", [](Job& j) { j.groups[0].tasks[0].resources.memory_mb = 1; }, true},
      {"port", [](Job& j) { j.groups[0].networks = {model::NetworkResource{}}; }, true},
      {"disk", [](Job& j) { j.groups[0].ephemeral_disk.size_mb = 1; }, true},
      {"template", [](Job& j) { j.groups[0].tasks[0].templates.resize(1); }, true},
      {"new task", [](Job& j) { j.groups[0].tasks.push_back(model::Task{.name = "more"}); }, true},
      {"renamed task", [](Job& j) { j.groups[0].tasks[0].name = "u"; }, true},
  };
  for (const auto& c : cases) {
    Job changed = base;
    c.change(changed);
    EXPECT_EQ(tasks_updated(base, changed, "g"), c.destructive) << c.name;
  }
  Job two = base;
  two.groups[0].tasks.push_back(model::Task{.name = "more"});
  Job turned = two;
  std::swap(turned.groups[0].tasks[0], turned.groups[0].tasks[1]);
  EXPECT_FALSE(tasks_updated(two, turned, "g")) << "the order of tasks means nothing";
}

}  // namespace
}  // namespace underway::scheduler
