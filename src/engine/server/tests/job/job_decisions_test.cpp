#include "server/job/job_decisions.hpp"

#include "server/job/preview.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::EvalTrigger;
using model::JobStatus;
using std::chrono::hours;

template <class Call>
Error refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::internal, "nothing was refused");
}

template <class T>
std::vector<T> of_kind(const std::vector<Change>& changes) {
  std::vector<T> out;
  for (const auto& change : changes) {
    if (const auto* found = std::get_if<T>(&change)) out.push_back(*found);
  }
  return out;
}

TEST(Register, MakesAJobOfVersionZeroAndAnEvaluation) {
  Desk desk;
  const auto decision = decide(desk.tables, RegisterJob{make_job("web"), {}, {}}, desk.context());
  const auto jobs = of_kind<tables::PutJob>(decision.changes);
  const auto evaluations = of_kind<tables::PutEvaluation>(decision.changes);
  ASSERT_EQ(jobs.size(), 1u);
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_EQ(jobs[0].job.version, 0);
  EXPECT_EQ(jobs[0].job.submit_time, unix_nanos(desk.clock.now()));
  EXPECT_EQ(evaluations[0].evaluation.triggered_by, EvalTrigger::job_register);
  EXPECT_EQ(evaluations[0].evaluation.id, decision.result.eval_id);
  EXPECT_EQ(decision.result.job_modify_index, desk.store.revision() + 1);
}

TEST(Register, OfTheSameSpecificationEvaluatesWithoutANewVersion) {
  Desk desk;
  const auto first = desk.register_job(make_job("web"));
  const auto second = desk.register_job(make_job("web"));
  EXPECT_EQ(desk.tables.find_job("default", "web")->version, 0);
  EXPECT_EQ(first.job_modify_index, second.job_modify_index);
  EXPECT_NE(first.eval_id, second.eval_id);
}

TEST(Register, OfAChangedSpecificationMakesTheNextVersion) {
  Desk desk;
  desk.register_job(make_job("web"));
  const auto second = desk.register_job(make_job("web", 2));
  const auto job = desk.tables.find_job("default", "web");
  EXPECT_EQ(job->version, 1);
  EXPECT_EQ(job->job_modify_index, second.job_modify_index);
}

TEST(Register, BringsAStoppedJobBack) {
  Desk desk;
  desk.register_job(make_job("web"));
  desk.run(DeregisterJob{"default", "web", false});
  desk.register_job(make_job("web"));
  const auto job = desk.tables.find_job("default", "web");
  EXPECT_FALSE(job->stop);
  EXPECT_EQ(job->version, 1);
}

TEST(Register, KeepsAJobThatComesStoppedUntilItComesAgain) {
  Desk desk;
  const auto register_web = [&](bool stopped) {
    return desk.run([&](const Tables& t, const Context& c) {
      RegisterJob request{make_job("web"), {}, {}};
      request.stopped = stopped;
      return decide(t, request, c);
    });
  };
  const auto web = [&] { return desk.tables.find_job("default", "web"); };
  register_web(true);
  EXPECT_TRUE(web()->stop);
  EXPECT_EQ(web()->status, JobStatus::dead);
  register_web(true);
  EXPECT_EQ(web()->version, 0) << "it is the same";
  register_web(false);
  EXPECT_FALSE(web()->stop);
  EXPECT_EQ(web()->version, 1);
  register_web(true);
  EXPECT_TRUE(web()->stop);
  EXPECT_EQ(web()->version, 2);
}

TEST(Register, IgnoresWhatOnlyTheServerMaySet) {
  Desk desk;
  model::Job forged = make_job("web");
  forged.status = JobStatus::dead;
  forged.version = 40;
  forged.stop = true;
  forged.cluster = "theirs";
  desk.register_job(forged);
  const auto job = desk.tables.find_job("default", "web");
  EXPECT_EQ(job->version, 0);
  EXPECT_FALSE(job->stop);
  EXPECT_EQ(job->status, JobStatus::pending);
  EXPECT_EQ(job->cluster, "");
}

TEST(Register, RefusesWithEveryProblemOfTheJob) {
  Desk desk;
  model::Job job = make_job("web");
  job.groups[0].count = -1;
  job.groups[0].tasks[0].driver.clear();
  const auto error = refusal([&] { desk.register_job(job); });
  EXPECT_EQ(error.code(), Code::invalid);
  EXPECT_EQ(error.reasons().size(), 2u) << error.text();
  EXPECT_FALSE(desk.tables.find_job("default", "web"));
}

TEST(Register, RefusesAnotherTypeWhileTheJobStands) {
  Desk desk;
  desk.register_job(make_job("web"));
  const auto error = refusal([&] { desk.register_job(make_job("web", 1, model::JobType::batch)); });
  EXPECT_EQ(error.one_line(), "job 'web' cannot change its type from service to batch");
}

TEST(Register, EnforcesTheIndexThatTheCallerHasSeen) {
  Desk desk;
  const auto enforce = [&](model::Revision index) {
    return desk.run(RegisterJob{make_job("web", index + 1), {}, index});
  };
  EXPECT_EQ(refusal([&] { enforce(5); }).one_line(), "Enforcing job modify index 5: job does not exist");
  const auto first = enforce(0);
  EXPECT_EQ(refusal([&] { enforce(0); }).one_line(), "Enforcing job modify index 0: job already exists");
  const auto error = refusal([&] { enforce(first.job_modify_index + 7); });
  EXPECT_EQ(error.code(), Code::conflict);
  EXPECT_NE(error.one_line().find(fmt::format("conflicting job modify index: {}", first.job_modify_index)),
            std::string::npos);
  EXPECT_GT(enforce(first.job_modify_index).job_modify_index, first.job_modify_index);
}

TEST(Register, RefusesACycleAndShowsIt) {
  Desk desk;
  desk.register_job(depending_on(make_job("a"), "b"));
  desk.register_job(depending_on(make_job("b"), "c"));
  const auto error = refusal([&] { desk.register_job(depending_on(make_job("c"), "a")); });
  EXPECT_EQ(error.code(), Code::invalid);
  EXPECT_EQ(error.one_line(), "the dependencies of the jobs form a cycle: c → a → b → c");
  EXPECT_FALSE(desk.tables.find_job("default", "c"));
}

TEST(Register, RefusesAJobThatDependsOnItself) {
  Desk desk;
  model::Job job = make_job("a");
  job.groups[0].depends_on.push_back({"a", model::DependencyScope::node});
  EXPECT_EQ(refusal([&] { desk.register_job(job); }).code(), Code::invalid);
}

TEST(Register, AllowsADiamondAndWhatIsNotThereYet) {
  Desk desk;
  desk.register_job(depending_on(depending_on(make_job("top"), "left"), "right"));
  desk.register_job(depending_on(make_job("left"), "bottom"));
  desk.register_job(depending_on(make_job("right"), "bottom"));
  EXPECT_TRUE(desk.tables.find_job("default", "right"));
}

TEST(Register, SeesNoCycleThroughAStoppedJobOrAnotherNamespace) {
  Desk desk;
  desk.register_job(depending_on(make_job("a"), "b"));
  desk.run(DeregisterJob{"default", "a", false});
  desk.register_job(depending_on(make_job("b"), "a"));
  model::Job elsewhere = depending_on(make_job("x"), "y");
  elsewhere.ns = "other";
  desk.commit({tables::PutNamespace{{.name = "other"}}});
  desk.register_job(elsewhere);
  desk.register_job(depending_on(make_job("y"), "x"));
  EXPECT_TRUE(desk.tables.find_job("default", "y"));
}

TEST(Deregister, StopsTheJobAndItsAllocations) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web", 2));
  EXPECT_EQ(desk.live("web").size(), 2u);
  desk.clock.advance(std::chrono::minutes(5));
  desk.run(DeregisterJob{"default", "web", false});
  EXPECT_EQ(desk.live("web").size(), 0u);
  const auto job = desk.tables.find_job("default", "web");
  EXPECT_TRUE(job->stop);
  EXPECT_EQ(job->submit_time, unix_nanos(desk.clock.now()));  // its retention begins now
}

TEST(Deregister, WithPurgeForgetsTheJobAndStopsItsAllocationsAllTheSame) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web", 2));
  desk.run(DeregisterJob{"default", "web", true});
  EXPECT_FALSE(desk.tables.find_job("default", "web"));
  EXPECT_EQ(desk.live("web").size(), 0u);
  EXPECT_EQ(desk.tables.allocations_of_job("default", "web").size(), 2u);
}

TEST(Deregister, ChangesNothingOfAJobThatIsNotThere) {
  Desk desk;
  const auto decision = decide(desk.tables, DeregisterJob{"default", "web", false}, desk.context());
  EXPECT_TRUE(decision.changes.empty());
  EXPECT_EQ(decision.result.eval_id, "");
  const auto error =
      refusal([&] { decide(desk.tables, DeregisterJob{"default", "web", false, false, 101}, desk.context()); });
  EXPECT_EQ(error.code(), Code::invalid);
}

TEST(Deregister, TellsTheNodesNotToWaitWhenItIsToldSo) {
  for (const bool skip : {false, true}) {
    for (const bool purge : {false, true}) {
      Desk desk;
      desk.join(make_node(1));
      desk.register_job(make_job("web", 2));
      desk.register_job(make_job("other"));
      const auto rows = desk.live("web");
      desk.update(rows[0]->node_id, {report(rows[0]->id, model::ClientStatus::complete)});
      const auto id = rows[1]->id;
      desk.run(DeregisterJob{"default", "web", purge, skip});
      const auto row = desk.tables.find_allocation(id);
      EXPECT_EQ(row->desired_status, model::DesiredStatus::stop);
      EXPECT_EQ(row->transition.no_shutdown_delay, skip);
      EXPECT_FALSE(desk.tables.find_allocation(rows[0]->id)->transition.no_shutdown_delay) << "it has ended";
      EXPECT_FALSE(desk.only("other")->transition.no_shutdown_delay);
    }
  }
}

TEST(Evaluate, LooksAgainWithoutChangingTheJob) {
  Desk desk;
  const auto first = desk.register_job(make_job("web"));
  const auto decision = decide(desk.tables, EvaluateJob{"default", "web"}, desk.context());
  EXPECT_EQ(decision.changes.size(), 1u);
  EXPECT_EQ(decision.result.job_modify_index, first.job_modify_index);
  EXPECT_EQ(refusal([&] { decide(desk.tables, EvaluateJob{"default", "no"}, desk.context()); }).code(),
            Code::not_found);
}

TEST(Evaluate, ReplacesWhatHasFailedAtOnceWhenItIsForced) {
  struct Case {
    const char* name;
    model::RescheduleStrategy reschedule;
    model::JobType type = model::JobType::service;
  };
  for (const auto& c :
       {Case{"waits for its delay", {.delay = hours(1), .unlimited = true}},
        Case{"has no attempts left", {.attempts = 0, .unlimited = false}},
        Case{"of a batch job", {.attempts = 1, .interval = hours(24), .delay = hours(1)}, model::JobType::batch},
        Case{"of a system job", {.delay = hours(1), .unlimited = true}, model::JobType::system}}) {
    SCOPED_TRACE(c.name);
    Desk desk;
    desk.join(make_node(1));
    model::Job job = make_job("web", 1, c.type);
    job.groups[0].reschedule = c.reschedule;
    desk.register_job(std::move(job));
    const auto failed = desk.only("web");
    desk.update(failed->node_id, {report(failed->id, model::ClientStatus::failed)});
    const auto evaluate = [&](bool force) { desk.run(EvaluateJob{"default", "web", force}); };
    const auto end = desk.tables.find_allocation(failed->id)->modify_time;
    evaluate(false);
    EXPECT_TRUE(desk.live("web").empty()) << "waits";
    evaluate(true);
    EXPECT_EQ(desk.only("web")->previous_allocation, failed->id);
    EXPECT_EQ(desk.only("web")->reschedules.size(), 1u);
    const auto row = desk.tables.find_allocation(failed->id);
    EXPECT_EQ(row->next_allocation, desk.only("web")->id);
    EXPECT_EQ(desk.only("web")->reschedules.back().time, end) << "the virtual clock stands still";
    evaluate(true);
    EXPECT_EQ(desk.only("web")->previous_allocation, failed->id) << "only once";
  }
}

TEST(Evaluate, LeavesAloneWhatRunsOrHasEndedWell) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web", 2));
  const auto rows = desk.live("web");
  desk.update(rows[0]->node_id, {report(rows[0]->id, model::ClientStatus::running, true)});
  const auto decision = decide(desk.tables, EvaluateJob{"default", "web", true}, desk.context());
  EXPECT_EQ(decision.changes.size(), 1u) << "the evaluation";
}

// --- clusters

ApplyCluster cluster_of(std::vector<model::Job> jobs, const std::string& name = "hpc") {
  ApplyCluster out;
  out.cluster.name = name;
  out.cluster.networks.push_back({"management", "10.77.0.0/24", false});
  out.cluster.pools.resize(1);
  out.cluster.pools[0].name = "compute";
  for (auto& job : jobs) out.jobs.push_back({std::move(job), {}, {}});
  return out;
}

AppliedCluster apply(Desk& desk, const ApplyCluster& request) { return desk.run(request); }

TEST(ApplyCluster, RegistersAllItsJobsAndRemembersThem) {
  Desk desk;
  const auto applied = apply(desk, cluster_of({make_job("munge"), depending_on(make_job("slurmd"), "munge")}));
  EXPECT_EQ(applied.registered, (std::vector<std::string>{"munge", "slurmd"}));
  EXPECT_EQ(desk.tables.find_cluster("hpc")->jobs, (std::vector<std::string>{"munge", "slurmd"}));
  EXPECT_EQ(desk.tables.find_job("default", "munge")->cluster, "hpc");
  EXPECT_EQ(applied.revision, desk.tables.find_cluster("hpc")->modify_index);
}

TEST(ApplyCluster, AgainChangesNothingButTheClusterRow) {
  Desk desk;
  apply(desk, cluster_of({make_job("munge"), make_job("slurmd")}));
  const auto before = desk.tables.find_job("default", "munge");
  const auto again = apply(desk, cluster_of({make_job("munge"), make_job("slurmd", 2)}));
  EXPECT_EQ(again.registered, (std::vector<std::string>{"slurmd"}));
  EXPECT_EQ(desk.tables.find_job("default", "munge"), before);
}

TEST(ApplyCluster, StopsWhatItDeclaresNoMore) {
  Desk desk;
  desk.register_job(make_job("alone"));
  apply(desk, cluster_of({make_job("munge"), make_job("slurmd")}));
  const auto applied = apply(desk, cluster_of({make_job("munge")}));
  EXPECT_EQ(applied.stopped, (std::vector<std::string>{"slurmd"}));
  EXPECT_TRUE(desk.tables.find_job("default", "slurmd")->stop);
  EXPECT_FALSE(desk.tables.find_job("default", "alone")->stop);
}

TEST(ApplyCluster, WithOneBadJobAppliesNothing) {
  Desk desk;
  model::Job bad = make_job("slurmd");
  bad.groups[0].tasks[0].driver.clear();
  const auto revision = desk.store.revision();
  const auto error = refusal([&] { apply(desk, cluster_of({make_job("munge"), bad})); });
  EXPECT_EQ(error.message(), "cluster 'hpc' cannot be applied");
  EXPECT_NE(error.one_line().find("job 'slurmd': "), std::string::npos);
  EXPECT_EQ(desk.store.revision(), revision);
  EXPECT_FALSE(desk.tables.find_cluster("hpc"));
  EXPECT_TRUE(desk.tables.jobs().empty());
}

TEST(ApplyCluster, RefusesDoublesCyclesAndJobsOfOthers) {
  Desk desk;
  EXPECT_NE(refusal([&] { apply(desk, cluster_of({make_job("a"), make_job("a")})); })
                .one_line()
                .find("job 'a' is declared twice"),
            std::string::npos);
  EXPECT_NE(
      refusal([&] { apply(desk, cluster_of({depending_on(make_job("a"), "b"), depending_on(make_job("b"), "a")})); })
          .one_line()
          .find("a → b → a"),
      std::string::npos);
  apply(desk, cluster_of({make_job("a")}, "one"));
  EXPECT_NE(refusal([&] { apply(desk, cluster_of({make_job("a")}, "two")); })
                .one_line()
                .find("job 'a' belongs to cluster 'one'"),
            std::string::npos);
}

TEST(ApplyCluster, KeepsAJobThatIsRunByItself) {
  Desk desk;
  apply(desk, cluster_of({make_job("munge")}));
  desk.register_job(make_job("munge", 2));
  EXPECT_EQ(desk.tables.find_job("default", "munge")->cluster, "hpc");
}

TEST(StopCluster, StopsItsJobsAndOnlyThem) {
  Desk desk;
  desk.register_job(make_job("alone"));
  apply(desk, cluster_of({make_job("munge"), make_job("slurmd")}));
  desk.run(StopCluster{"hpc"});
  EXPECT_TRUE(desk.tables.find_cluster("hpc")->stop);
  EXPECT_TRUE(desk.tables.find_job("default", "munge")->stop);
  EXPECT_TRUE(desk.tables.find_job("default", "slurmd")->stop);
  EXPECT_FALSE(desk.tables.find_job("default", "alone")->stop);
  EXPECT_EQ(refusal([&] { decide(desk.tables, StopCluster{"no"}, desk.context()); }).code(), Code::not_found);
  // And brought up again, it stands as before.
  apply(desk, cluster_of({make_job("munge"), make_job("slurmd")}));
  EXPECT_FALSE(desk.tables.find_cluster("hpc")->stop);
  EXPECT_FALSE(desk.tables.find_job("default", "munge")->stop);
}

// --- status and preview

TEST(JobStatus, FollowsItsAllocationsAndEvaluations) {
  Desk desk;
  desk.register_job(make_job("web"));  // no node: blocked
  EXPECT_EQ(job_status(desk.tables, *desk.tables.find_job("default", "web")), JobStatus::pending);
  desk.join(make_node(1));
  desk.update(uuid(1), {report(desk.only("web")->id, model::ClientStatus::running, true)});
  EXPECT_EQ(job_status(desk.tables, *desk.tables.find_job("default", "web")), JobStatus::running);
  desk.run(DeregisterJob{"default", "web", false});
  const auto id = desk.tables.allocations_of_job("default", "web").front()->id;
  desk.update(uuid(1), {report(id, model::ClientStatus::complete)});
  EXPECT_EQ(job_status(desk.tables, *desk.tables.find_job("default", "web")), JobStatus::dead);
}

TEST(Preview, TellsWhatWouldHappenAndChangesNothing) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web", 1));
  const auto revision = desk.store.revision();
  const auto plan = preview_job(desk.tables, desk.fleet, make_job("web", 3), desk.context());
  ASSERT_TRUE(plan.current);
  EXPECT_EQ(plan.proposed.version, 1);
  EXPECT_EQ(plan.plan.created.size(), 2u);
  EXPECT_EQ(plan.job_modify_index, plan.current->job_modify_index);
  EXPECT_EQ(desk.store.revision(), revision);
  EXPECT_EQ(desk.live("web").size(), 1u);
  EXPECT_EQ(desk.fleet.usage(uuid(1))->used.cpu, 500);
}

TEST(Preview, OfANewOrStoppedJobHasNoCurrentOne) {
  Desk desk;
  desk.join(make_node(1));
  EXPECT_FALSE(preview_job(desk.tables, desk.fleet, make_job("web"), desk.context()).current);
  desk.register_job(make_job("web"));
  desk.run(DeregisterJob{"default", "web", false});
  const auto plan = preview_job(desk.tables, desk.fleet, make_job("web"), desk.context());
  EXPECT_FALSE(plan.current);
  EXPECT_EQ(plan.plan.created.size(), 1u);
}

TEST(Preview, RefusesWhatRegisteringRefuses) {
  Desk desk;
  model::Job bad = make_job("web");
  bad.groups.clear();
  EXPECT_EQ(refusal([&] { preview_job(desk.tables, desk.fleet, bad, desk.context()); }).code(), Code::invalid);
  EXPECT_EQ(
      refusal([&] { preview_job(desk.tables, desk.fleet, depending_on(make_job("a"), "a"), desk.context()); }).code(),
      Code::invalid);
}

TEST(Preview, SaysWhyAGroupCannotBePlaced) {
  Desk desk;
  desk.join(make_node(1, 100));
  const auto plan = preview_job(desk.tables, desk.fleet, make_job("web"), desk.context());
  EXPECT_TRUE(plan.plan.created.empty());
  EXPECT_EQ(plan.plan.evaluation.failed_groups.count("g"), 1u);
}

}  // namespace
}  // namespace underway::server::testing
