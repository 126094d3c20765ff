#include "migrate/carry_out.hpp"

#include "fake_api.hpp"

namespace underway::migrate::testing {
namespace {

using ::testing::HasSubstr;

Plan plan_to_carry_out(FakeApi& nomad, FakeApi& here) {
  const auto source = nomad.read();
  return make_plan(source, here.read({.beside = &source}), {});
}

struct Log {
  std::vector<std::string> lines;
  Told told() {
    return [this](const Step& step, const std::string& refusal) {
      lines.push_back(step.name + (refusal.empty() ? "" : ": " + refusal));
    };
  }
};

TEST(CarryOut, SendsEachStepOnce) {
  auto nomad = small_nomad(), here = empty_underway();
  Log log;
  const auto outcome = carry_out(plan_to_carry_out(nomad, here), here.send(), log.told());
  EXPECT_EQ(outcome.done, 11u);
  EXPECT_EQ(outcome.refused + outcome.not_reached, 0u);
  ASSERT_EQ(here.sent.size(), 11u);
  EXPECT_EQ(here.sent.front().target, "/v1/node/pools");
  EXPECT_EQ(here.sent.back().target, "/v1/jobs?namespace=hpc");
}

TEST(CarryOut, GoesOnAfterARefusalAndShowsNoSecretOfAConflict) {
  auto nomad = small_nomad(), here = empty_underway();
  here.writes = [](const FakeApi::Sent& sent) {
    if (sent.target.starts_with("/v1/var/")) return Reply{409, R"({"Items":{"key":"hush-hush"}})", ""};
    return sent.target.ends_with("=hpc") ? Reply{400, "no\nthanks\x1b[2J", ""} : Reply{200, "{}", ""};
  };
  Log log;
  const auto outcome = carry_out(plan_to_carry_out(nomad, here), here.send(), log.told());
  EXPECT_EQ(outcome.done, 9u);
  EXPECT_EQ(outcome.refused, 2u);
  ASSERT_EQ(log.lines.size(), 11u);
  EXPECT_EQ(log.lines[8].find("hush"), std::string::npos) << log.lines[8];
  EXPECT_EQ(log.lines[10], "munge: the server answers 400: no; thanks?[2J");
}

TEST(CarryOut, EndsWhereTheServerDoesNotAnswer) {
  auto nomad = small_nomad(), here = empty_underway();
  here.writes = [](const FakeApi::Sent& sent) -> Reply {
    if (sent.target.starts_with("/v1/acl/role")) throw Error(Code::unavailable, "connection lost");
    return {200, "{}", ""};
  };
  Log log;
  const auto outcome = carry_out(plan_to_carry_out(nomad, here), here.send(), log.told());
  EXPECT_EQ(outcome.done, 4u);
  EXPECT_EQ(outcome.not_reached, 7u);
  EXPECT_EQ(outcome.broke, "connection lost");
}

TEST(AskAboutJobs, TurnsARefusalOfTheServerIntoOneOfThePlan) {
  auto nomad = small_nomad(), here = empty_underway();
  auto plan = plan_to_carry_out(nomad, here);
  here.writes = [](const FakeApi::Sent&) { return Reply{403, "the namespace does not allow it", ""}; };
  const auto there = here.read();
  ask_about_jobs(plan, there, here.send());
  ASSERT_EQ(here.sent.size(), 1u) << "the namespace of the other one is still to be made";
  EXPECT_EQ(here.sent[0].target, "/v1/job/redis/plan?namespace=default");
  EXPECT_FALSE(json::parse(here.sent[0].body).as_object().at("Job").as_object().at("Stop").as_bool());
  for (const auto& step : plan.steps) {
    if (step.name != "redis") continue;
    EXPECT_EQ(step.action, Action::refuse);
    EXPECT_FALSE(step.changes());
    EXPECT_THAT(step.reasons.at(0), HasSubstr("does not allow it"));
  }
}

TEST(AskAboutJobs, NotesWhatCouldNotBePlaced) {
  auto nomad = small_nomad(), here = empty_underway();
  auto plan = plan_to_carry_out(nomad, here);
  here.writes = [](const FakeApi::Sent&) { return Reply{200, R"({"FailedTGAllocs":{"cache":{}}})", ""}; };
  ask_about_jobs(plan, here.read(), here.send());
  for (const auto& step : plan.steps) {
    if (step.name == "redis") EXPECT_EQ(step.notes.back(), "group 'cache' could not be placed now");
  }
}

}  // namespace
}  // namespace underway::migrate::testing
