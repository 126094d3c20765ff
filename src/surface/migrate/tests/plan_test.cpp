#include "migrate/plan.hpp"

#include <boost/json/serialize.hpp>

#include "fake_api.hpp"
#include "jobspec/jobspec.hpp"
#include "migrate/job_reading.hpp"

namespace underway::migrate::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Plan plan_of(FakeApi& nomad, FakeApi& here, const PlanOptions& options = {}) {
  const auto source = nomad.read({.counts_allocations = !options.start.empty(), .tokens = true});
  return make_plan(source, here.read({.tokens = true, .beside = &source}), options);
}

const Step& step_of(const Plan& plan, Kind kind, const std::string& name) {
  for (const auto& step : plan.steps) {
    if (step.kind == kind && step.name == name) return step;
  }
  throw Error(Code::not_found, "no step for " + name);
}

std::vector<std::string> lines(const Plan& plan) {
  std::vector<std::string> out;
  for (const auto& step : plan.steps)
    out.push_back(fmt::format("{} {} {}", describe::spell(step.action), word(step.kind), step.name));
  return out;
}

/// Nomad's stub and job of one that was stopped there.
void stop_there(FakeApi& nomad, const std::string& id, const std::string& allocations) {
  std::string job = nomad_job(id);
  job.replace(job.find("\"Stop\":false"), 12, "\"Stop\":true");
  nomad.get("/v1/job/" + id + "?namespace=default", job);
  nomad.get("/v1/job/" + id + "/allocations?namespace=default", allocations);
}

/// What is here after a plan was carried out, as far as jobs go.
void register_here(FakeApi& here, const Step& step, bool stopped) {
  auto job = json::parse(step.body).as_object().at("Job").as_object();
  job["Stop"] = stopped;
  job["JobModifyIndex"] = 31;
  job["Status"] = stopped ? "dead" : "running";
  here.get("/v1/jobs?namespace=*", "[" + stub(step.name, step.ns) + "]");
  here.get("/v1/job/" + step.name + "?namespace=" + step.ns, boost::json::serialize(job));
}

TEST(Plan, MakesEverythingInTheOrderInWhichEachNeedsTheOther) {
  auto nomad = small_nomad(), here = empty_underway();
  const auto plan = plan_of(nomad, here);
  EXPECT_THAT(lines(plan),
              ElementsAre("create node pool gpu", "create quota fair", "same namespace default", "create namespace hpc",
                          "create ACL policy ops", "create ACL role operators", "create ACL token 5f2c",
                          "create auth method site", "create binding rule site: role operators if ops in list.groups",
                          "update scheduler configuration scheduler", "create variable nomad/jobs/munge",
                          "create job redis", "create job munge"));
  EXPECT_TRUE(plan.changes());
  EXPECT_FALSE(plan.troubles());
  const auto& variable = step_of(plan, Kind::variable, "nomad/jobs/munge");
  EXPECT_EQ(variable.target, "/v1/var/nomad/jobs/munge?namespace=hpc&cas=0");
  EXPECT_THAT(step_of(plan, Kind::auth_method, "site").body, HasSubstr("tiger-42"));
}

TEST(Plan, HasNothingToDoTheSecondTime) {
  auto nomad = small_nomad(), here = small_nomad();
  const auto plan = plan_of(nomad, here);
  for (const auto& step : plan.steps) EXPECT_EQ(step.action, Action::same) << step.name;
  EXPECT_FALSE(plan.changes());
}

TEST(Plan, ComparesQuotasByWhatTheyBound) {
  auto nomad = small_nomad(), here = empty_underway();
  here.get("/v1/quotas", R"([{"Name":"fair","Limits":[{"RegionLimit":{"CPU":2500,"Cores":0,"MemoryMB":2000}}]}])");
  EXPECT_EQ(step_of(plan_of(nomad, here), Kind::quota, "fair").action, Action::same);
  here.get("/v1/quotas", R"([{"Name":"fair","Limits":[{"RegionLimit":{"CPU":2600,"MemoryMB":2000}}]}])");
  EXPECT_THAT(step_of(plan_of(nomad, here), Kind::quota, "fair").differences, ElementsAre("Limits"));
}

TEST(Plan, RegistersJobsStoppedAndOnlyOverWhatItHasSeen) {
  auto nomad = small_nomad(), here = empty_underway();
  const auto plan = plan_of(nomad, here);
  const auto& step = step_of(plan, Kind::job, "munge");
  const auto body = json::parse(step.body).as_object();
  EXPECT_TRUE(body.at("Job").as_object().at("Stop").as_bool());
  EXPECT_TRUE(body.at("EnforceIndex").as_bool());
  EXPECT_EQ(body.at("JobModifyIndex").as_int64(), 0);
  EXPECT_EQ(body.at("Submission").as_object().at("Source").as_string(), "job \"munge\" { # by hand\n}");
  EXPECT_FALSE(step.runs);
}

TEST(Plan, DropsTheConstraintsThatNomadDerives) {
  auto nomad = small_nomad();
  const auto source = nomad.read();
  const auto reading = read_job(*source.find(Kind::job, "default", "redis"));
  ASSERT_TRUE(reading.job);
  EXPECT_TRUE(reading.job->groups[0].constraints.empty()) << "it names an attribute that no node here has";
  nomad.get("/v1/job/redis/submission?version=0&namespace=default",
            R"({"Source":"constraint { attribute = \"${attr.nomad.service_discovery}\" }","Format":"hcl2"})");
  const auto written = nomad.read();
  EXPECT_EQ(read_job(*written.find(Kind::job, "default", "redis")).job->groups[0].constraints.size(), 1u)
      << "its author wrote it";
}

TEST(Plan, LeavesOutWhatNomadFillsIn) {
  const auto source = small_nomad().read();
  const auto reading = read_job(*source.find(Kind::job, "default", "redis"));
  ASSERT_TRUE(reading.job) << join(reading.refusals, "; ");
  EXPECT_THAT(reading.notes, ElementsAre());
  const auto& task = reading.job->groups[0].tasks[0];
  EXPECT_FALSE(task.identity);
  EXPECT_FALSE(reading.job->groups[0].consul);
  EXPECT_FALSE(reading.job->update) << "it stands in the group";
  EXPECT_FALSE(reading.job->groups[0].update) << "where it says what holds anyway";
  EXPECT_EQ(task.resources.cpu, 500);
  EXPECT_EQ(reading.job->groups[0].networks.at(0).mode, "host") << jobspec::write_job(*reading.job);
}

TEST(Plan, RefusesWhatBelongsToOthersByNameAndTakesTheRest) {
  auto nomad = small_nomad(), here = empty_underway();
  nomad.get(
      "/v1/job/redis?namespace=default",
      nomad_job("redis", "default", "",
                R"("Services":[{"Name":"web","PortLabel":"db","Provider":"consul","Connect":{"Native":true}}],)"));
  const auto plan = plan_of(nomad, here);
  const auto& step = step_of(plan, Kind::job, "redis");
  EXPECT_EQ(step.action, Action::refuse);
  ASSERT_EQ(step.reasons.size(), 1u);
  EXPECT_THAT(step.reasons[0], HasSubstr("Job.TaskGroups[0].Services[0].Connect"));
  EXPECT_EQ(step.body, "");
  EXPECT_TRUE(plan.troubles());
  EXPECT_EQ(step_of(plan, Kind::job, "munge").action, Action::create);
}

TEST(Plan, TellsOfMembersThatNobodyHereKnows) {
  auto nomad = small_nomad(), here = empty_underway();
  nomad.get("/v1/job/redis?namespace=default", nomad_job("redis", "default", R"("Hologram":{"Depth":3},)"));
  nomad.get("/v1/namespaces", R"([{"Name":"hpc","NodePoolConfiguration":{"Default":"gpu","Allowed":["gpu"]}}])");
  const auto plan = plan_of(nomad, here);
  EXPECT_THAT(step_of(plan, Kind::job, "redis").notes, ElementsAre("Job.Hologram is not known here and is left out"));
  EXPECT_THAT(step_of(plan, Kind::name_space, "hpc").notes,
              ElementsAre("NodePoolConfiguration is not known here and is left out"));
}

TEST(Plan, SaysWhatANamespaceThatIsStillToBeMadeWouldRefuse) {
  auto nomad = small_nomad(), here = empty_underway();
  nomad.get("/v1/job/munge?namespace=hpc", nomad_job("munge", "hpc", "", "", "raw_exec"));
  const auto plan = plan_of(nomad, here);
  const auto& step = step_of(plan, Kind::job, "munge");
  EXPECT_EQ(step.action, Action::refuse);
  ASSERT_EQ(step.reasons.size(), 1u);
  EXPECT_THAT(step.reasons[0], HasSubstr("underway namespace apply -raw-exec-as-root hpc"));
}

TEST(Plan, KeepsWhatIsOursOfANamespaceThatItChanges) {
  auto nomad = small_nomad(), here = empty_underway();
  here.get("/v1/namespaces", R"([{"Name":"hpc","Description":"old","RawExecAsRoot":true,"AllowedUsers":["root"]}])");
  const auto plan = plan_of(nomad, here);
  const auto& step = step_of(plan, Kind::name_space, "hpc");
  EXPECT_THAT(step.differences, ElementsAre("Capabilities", "Description", "Meta"));
  const auto body = json::parse(step.body).as_object();
  EXPECT_TRUE(body.at("RawExecAsRoot").as_bool());
  EXPECT_EQ(body.at("AllowedUsers").as_array().size(), 1u);
  EXPECT_EQ(body.at("Description").as_string(), "Slurm");
}

TEST(Plan, NamesTheKeysOfAVariableThatDifferAndNeverItsValues) {
  auto nomad = small_nomad(), here = empty_underway();
  here.get("/v1/vars?namespace=*", R"([{"Namespace":"hpc","Path":"nomad/jobs/munge"}])");
  here.get("/v1/var/nomad/jobs/munge?namespace=hpc",
           R"({"Namespace":"hpc","Path":"nomad/jobs/munge","ModifyIndex":77,"Items":{"key":"other-word","more":"x"}})");
  const auto plan = plan_of(nomad, here);
  const auto& step = step_of(plan, Kind::variable, "nomad/jobs/munge");
  EXPECT_EQ(step.action, Action::update);
  EXPECT_THAT(step.differences, ElementsAre("key", "more"));
  EXPECT_THAT(step.target, HasSubstr("cas=77"));
  const auto shown = boost::json::serialize(to_json(plan));
  EXPECT_EQ(shown.find("hush-hush"), std::string::npos);
  EXPECT_EQ(shown.find("other-word"), std::string::npos);
  EXPECT_EQ(shown.find("tiger-42"), std::string::npos);
}

TEST(Plan, TakesTokensAlongSoThatWhoHasThemGoesOn) {
  auto nomad = small_nomad(), here = empty_underway();
  const auto plan = plan_of(nomad, here);
  const auto& step = step_of(plan, Kind::token, "5f2c");
  EXPECT_EQ(step.target, "/v1/acl/token/5f2c");
  const auto body = json::parse(step.body).as_object();
  EXPECT_EQ(body.at("SecretID"), "lion-17");
  EXPECT_EQ(body.at("Roles").as_array().at(0).at("Name"), "operators");
  EXPECT_FALSE(body.contains("CreateIndex") || body.contains("Hash"));
  EXPECT_EQ(boost::json::serialize(to_json(plan)).find("lion-17"), std::string::npos);

  // Here it is told without its secret, and with ids of our own.
  here.get("/v1/acl/tokens", R"([{"AccessorID":"5f2c","Type":"client"}])");
  here.get("/v1/acl/token/5f2c", R"({"AccessorID":"5f2c","Name":"ci","Type":"client","Policies":["ops"],)"
                                 R"("Roles":[{"ID":"other","Name":"operators"}],"Global":false})");
  EXPECT_EQ(step_of(plan_of(nomad, here), Kind::token, "5f2c").action, Action::same);
  here.get("/v1/acl/token/5f2c", R"({"AccessorID":"5f2c","Name":"ci","Type":"client","Policies":["ops"]})");
  const auto again = plan_of(nomad, here);
  EXPECT_THAT(step_of(again, Kind::token, "5f2c").differences, ElementsAre("Roles"));
  EXPECT_EQ(step_of(again, Kind::token, "5f2c").body.find("lion-17"), std::string::npos) << "it has one here";
}

TEST(Plan, SaysWhenATokensSecretIsNotTold) {
  auto nomad = small_nomad(), here = empty_underway();
  nomad.get("/v1/acl/token/5f2c", R"({"AccessorID":"5f2c","Name":"ci","Type":"client","Policies":["ops"]})");
  const auto& plan = plan_of(nomad, here);
  EXPECT_EQ(step_of(plan, Kind::token, "5f2c").action, Action::refuse);
  EXPECT_THAT(step_of(plan, Kind::token, "5f2c").reasons, ElementsAre(HasSubstr("make it anew")));
}

TEST(Plan, StartsAJobOnlyWhenNothingOfItRunsThere) {
  struct Case {
    const char* name;
    std::string allocations;
    bool stopped, starts;
    const char* reason;
  };
  const std::vector<Case> cases = {
      {"it runs there", R"([{"ClientStatus":"running"}])", false, false, "nomad job stop -namespace default redis"},
      {"it is stopping", R"([{"ClientStatus":"running"}])", true, false, "1 of it still run there"},
      {"its node is not heard of", R"([{"ClientStatus":"unknown"}])", true, false, "1 of it still run there"},
      {"nobody says", "[1]", true, false, ""},
      {"it has ended", R"([{"ClientStatus":"complete"},{"ClientStatus":"failed"}])", true, true, ""}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto nomad = small_nomad(), here = empty_underway();
    if (c.stopped)
      stop_there(nomad, "redis", c.allocations);
    else
      nomad.get("/v1/job/redis/allocations?namespace=default", c.allocations);
    if (c.allocations == "[1]") {
      EXPECT_THROW(plan_of(nomad, here, {.start = {"redis"}}), Error);
      continue;
    }
    const auto plan = plan_of(nomad, here, {.start = {"redis"}});
    const auto& step = step_of(plan, Kind::job, "redis");
    EXPECT_EQ(step.runs, c.starts);
    EXPECT_EQ(json::parse(step.body).as_object().at("Job").as_object().at("Stop").as_bool(), !c.starts);
    if (!c.starts) {
      ASSERT_EQ(step.reasons.size(), 1u);
      EXPECT_THAT(step.reasons[0], HasSubstr(c.reason));
    }
    EXPECT_FALSE(step_of(plan, Kind::job, "munge").runs) << "nobody asked for it";
  }
}

TEST(Plan, LeavesAJobAloneThatRunsHere) {
  auto nomad = small_nomad(), here = empty_underway();
  const auto first = plan_of(nomad, here);
  register_here(here, step_of(first, Kind::job, "redis"), false);
  EXPECT_EQ(step_of(plan_of(nomad, here), Kind::job, "redis").action, Action::same);

  std::string changed = nomad_job("redis");
  changed.replace(changed.find("\"Count\":1"), 9, "\"Count\":3");
  nomad.get("/v1/job/redis?namespace=default", changed);
  const auto& left = step_of(plan_of(nomad, here), Kind::job, "redis");
  EXPECT_EQ(left.action, Action::leave);
  EXPECT_FALSE(left.changes());
  EXPECT_TRUE(left.troubles());

  register_here(here, step_of(first, Kind::job, "redis"), true);
  const auto plan = plan_of(nomad, here);
  const auto& updated = step_of(plan, Kind::job, "redis");
  EXPECT_EQ(updated.action, Action::update);
  EXPECT_EQ(json::parse(updated.body).as_object().at("JobModifyIndex").as_int64(), 31);
  ASSERT_TRUE(updated.diff);
  EXPECT_EQ(updated.diff->groups.size(), 1u);
}

TEST(Plan, StartsAJobThatIsHereStopped) {
  auto nomad = small_nomad(), here = empty_underway();
  register_here(here, step_of(plan_of(nomad, here), Kind::job, "redis"), true);
  stop_there(nomad, "redis", "[]");
  EXPECT_EQ(step_of(plan_of(nomad, here), Kind::job, "redis").action, Action::same);
  const auto plan = plan_of(nomad, here, {.start = {"redis"}});
  EXPECT_EQ(step_of(plan, Kind::job, "redis").action, Action::start);
  EXPECT_TRUE(step_of(plan, Kind::job, "redis").runs);
}

TEST(Plan, PutsJobsAfterThoseThatTheyDependOn) {
  auto nomad = small_nomad(), here = empty_underway();
  nomad.get("/v1/jobs?namespace=*", "[" + stub("a") + "," + stub("b") + "," + stub("c") + "]");
  nomad.get("/v1/job/a?namespace=default", nomad_job("a", "default", R"("DependsOn":[{"Job":"c"}],)"));
  nomad.get("/v1/job/b?namespace=default", nomad_job("b", "default", R"("DependsOn":[{"Job":"a"}],)"));
  nomad.get("/v1/job/c?namespace=default", nomad_job("c", "default", R"("DependsOn":[{"Job":"b"}],)"));
  const auto cycle = plan_of(nomad, here);
  EXPECT_EQ(cycle.steps.size(), 14u) << "each once, and it ends";
  nomad.get("/v1/job/c?namespace=default", nomad_job("c"));
  std::vector<std::string> jobs;
  const auto plan = plan_of(nomad, here);
  for (const auto& step : plan.steps) {
    if (step.kind == Kind::job) jobs.push_back(step.name);
  }
  EXPECT_THAT(jobs, ElementsAre("c", "a", "b"));
}

TEST(Plan, SaysWhyThereIsNothingOfAKindHere) {
  auto nomad = small_nomad(), here = empty_underway();
  here.answers.erase("/v1/node/pools");
  here.answers["/v1/acl/policies"] = {400, "ACL support disabled", ""};
  const auto plan = plan_of(nomad, here);
  EXPECT_EQ(step_of(plan, Kind::node_pool, "gpu").action, Action::refuse);
  EXPECT_THAT(step_of(plan, Kind::policy, "ops").reasons,
              ElementsAre("here there are none: the server answers 400: ACL support disabled"));
}

TEST(Plan, MakesNoQuestionOfTheOrderOrTheSpellingOfRightsAndTimes) {
  auto nomad = small_nomad(), here = small_nomad();
  nomad.get("/v1/acl/roles", R"([{"ID":"c3bd","Name":"operators","Policies":[{"Name":"b"},{"Name":"a"}]}])");
  here.get("/v1/acl/roles",
           R"([{"ID":"0000","Name":"operators","Description":"","Policies":[{"Name":"a","ID":"x"},{"Name":"b"}]}])");
  std::string method = here.answers["/v1/acl/auth-method/site"].body;
  method.replace(method.find("\"1h0m0s\""), 8, "3600000000000");
  method.replace(method.find("\"tiger-42\""), 10, "\"\"");
  here.get("/v1/acl/auth-method/site", method);
  EXPECT_FALSE(plan_of(nomad, here).changes());
  here.get("/v1/acl/roles", R"([{"ID":"0000","Name":"operators","Policies":[{"Name":"a"}]}])");
  EXPECT_EQ(step_of(plan_of(nomad, here), Kind::role, "operators").target, "/v1/acl/role/0000");
}

TEST(Plan, RefusesAPolicyThatSaysWhatIsNotKnown) {
  auto nomad = small_nomad(), here = empty_underway();
  nomad.get("/v1/acl/policy/ops", R"({"Name":"ops","Rules":"namespace \"x\" { policy = \"rule\" }"})");
  const auto plan = plan_of(nomad, here);
  EXPECT_EQ(step_of(plan, Kind::policy, "ops").action, Action::refuse);
}

}  // namespace
}  // namespace underway::migrate::testing
