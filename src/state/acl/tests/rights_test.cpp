#include "acl/rights.hpp"

namespace underway::acl {
namespace {

Rights rights(const std::vector<std::string>& policies) {
  std::vector<std::shared_ptr<const Policy>> parsed;
  for (const auto& rules : policies) parsed.push_back(std::make_shared<const Policy>(parse_policy(rules, "p")));
  return Rights(parsed);
}

TEST(Rights, WhatNoRuleNamesIsNotAllowed) {
  const Rights nothing;
  EXPECT_FALSE(nothing.any());
  EXPECT_FALSE(nothing.in("default", Capability::list_jobs));
  EXPECT_FALSE(nothing.in("*", Capability::list_jobs));
  EXPECT_FALSE(nothing.node(Level::read));
  EXPECT_FALSE(nothing.variable("a", "default", Access::read));
}

TEST(Rights, ManagementMayDoEverything) {
  const auto all = Rights::all();
  EXPECT_TRUE(all->any());
  EXPECT_TRUE(all->in("x", Capability::submit_job));
  EXPECT_TRUE(all->operators(Level::write));
  EXPECT_TRUE(all->variable("a", "x", Access::destroy));
  EXPECT_TRUE(all->node_pool("gpu", Level::write));
  EXPECT_TRUE(all->snapshot());
}

TEST(Rights, TheClosestPatternCountsAlone) {
  const auto mine = rights({R"(
    namespace "*"      { policy = "read" }
    namespace "team-*" { policy = "write" }
    namespace "team-a" { capabilities = ["list-jobs"] })"});
  struct Case {
    const char* ns;
    Capability capability;
    bool allowed;
  };
  const std::vector<Case> cases = {{"other", Capability::read_job, true},    {"other", Capability::submit_job, false},
                                   {"team-b", Capability::submit_job, true}, {"team-a", Capability::list_jobs, true},
                                   {"team-a", Capability::read_job, false},  {"team-a", Capability::submit_job, false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.ns) + " " + std::string(spell(c.capability)));
    EXPECT_EQ(mine.in(c.ns, c.capability), c.allowed);
  }
}

TEST(Rights, SeveralPoliciesAddUpAndDenyWins) {
  const auto sum =
      rights({"namespace \"a\" { policy = \"read\" }", "namespace \"a\" { capabilities = [\"read-logs\"] }"});
  EXPECT_TRUE(sum.in("a", Capability::read_job));
  EXPECT_TRUE(sum.in("a", Capability::read_logs));
  const auto denied = rights({"namespace \"a\" { policy = \"write\" }\nnode { policy = \"write\" }",
                              "namespace \"a\" { policy = \"deny\" }\nnode { policy = \"deny\" }"});
  EXPECT_FALSE(denied.in("a", Capability::read_job));
  EXPECT_FALSE(denied.sees("a"));
  EXPECT_FALSE(denied.node(Level::read));
  EXPECT_FALSE(denied.any());
}

TEST(Rights, ANamespaceDeniedDoesNotOpenThroughTheStar) {
  const auto mine = rights({"namespace \"*\" { policy = \"write\" }\nnamespace \"secret\" { policy = \"deny\" }"});
  EXPECT_TRUE(mine.in("*", Capability::read_job)) << "some namespace allows it";
  EXPECT_FALSE(mine.in("secret", Capability::read_job));
  EXPECT_FALSE(mine.sees("secret"));
}

TEST(Rights, VariablesAreAllowedByPath) {
  const auto mine = rights({R"(
    namespace "default" {
      variables {
        path "*"           { capabilities = ["list"] }
        path "app/*"       { capabilities = ["read", "write"] }
        path "app/private" { capabilities = ["deny"] }
      }
    }
    namespace "closed" { policy = "deny" })"});
  struct Case {
    const char* path;
    const char* ns;
    Access access;
    bool allowed;
  };
  const std::vector<Case> cases = {{"x", "default", Access::list, true},
                                   {"x", "default", Access::read, false},
                                   {"app/db", "default", Access::read, true},
                                   {"app/db", "default", Access::write, true},
                                   {"app/db", "default", Access::destroy, false},
                                   {"app/private", "default", Access::read, false},
                                   {"app/private/x", "default", Access::read, true},
                                   {"app/db", "other", Access::read, false},
                                   {"app/db", "closed", Access::list, false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {} of {}", spell(c.access), c.path, c.ns));
    EXPECT_EQ(mine.variable(c.path, c.ns, c.access), c.allowed);
  }
  EXPECT_TRUE(mine.some_variable("default", Access::read));
  EXPECT_TRUE(mine.some_variable("*", Access::read));
  EXPECT_FALSE(mine.some_variable("closed", Access::list));
}

TEST(Rights, ANamespaceThatIsNamedIsNotDeniedByAStarThatIsNearerThanItsPaths) {
  const auto mine = rights({R"(
    namespace "*" { policy = "deny" }
    namespace "prod" { variables { path "*" { capabilities = ["read"] } } })"});
  EXPECT_TRUE(mine.variable("nomad/jobs/a/long/path", "prod", Access::read));
  EXPECT_FALSE(mine.variable("nomad/jobs/a/long/path", "other", Access::read));
}

TEST(Rights, LevelsIncludeLowerOnes) {
  const auto mine =
      rights({"node { policy = \"write\" }\nagent { policy = \"read\" }\nplugin { policy = \"list\" }\n"
              "node_pool \"g*\" { policy = \"read\" }"});
  EXPECT_TRUE(mine.node(Level::read));
  EXPECT_TRUE(mine.agent(Level::read));
  EXPECT_FALSE(mine.agent(Level::write));
  EXPECT_TRUE(mine.plugin(Level::list));
  EXPECT_FALSE(mine.plugin(Level::read));
  EXPECT_TRUE(mine.node_pool("gpu", Level::read));
  EXPECT_FALSE(mine.node_pool("cpu", Level::read));
}

TEST(Rights, ASnapshotNeedsItsCapabilityOrTheOperatorsWrite) {
  EXPECT_FALSE(rights({"operator { policy = \"read\" }"}).snapshot());
  EXPECT_TRUE(rights({"operator { policy = \"write\" }"}).snapshot());
  const auto only = rights({"operator { capabilities = [\"snapshot-save\"] }"});
  EXPECT_TRUE(only.snapshot());
  EXPECT_FALSE(only.operators(Level::read));
}

TEST(Distance, CountsWhatIsLeftToTheStars) {
  EXPECT_EQ(distance("abc", "abc"), 0u);
  EXPECT_EQ(distance("abc*", "abc"), 1u);
  EXPECT_LT(*distance("ab*", "abcd"), *distance("a*", "abcd"));
  EXPECT_EQ(distance("b*", "abc"), std::nullopt);
}

}  // namespace
}  // namespace underway::acl
