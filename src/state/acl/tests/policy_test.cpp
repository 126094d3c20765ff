#include "acl/policy.hpp"

namespace underway::acl {
namespace {

std::vector<std::string> errors(const std::string& rules) {
  hcl::Diagnostics diagnostics;
  parse_policy(rules, "p", diagnostics);
  std::vector<std::string> out;
  for (const auto& diagnostic : diagnostics.all()) out.push_back(diagnostic.summary);
  return out;
}

TEST(Policy, ReadsEverythingThatNomadsLanguageHas) {
  const auto policy = parse_policy(R"(
    namespace "default" {
      policy       = "read"
      capabilities = ["alloc-exec"]
      variables {
        path "nomad/jobs/*" { capabilities = ["read"] }
        path "secret" { capabilities = ["write", "destroy"] }
      }
    }
    namespace "web-*" { policy = "write" }
    node_pool "gpu" { policy = "write" }
    node_pool "cpu" { capabilities = ["read"] }
    host_volume "scratch" { capabilities = ["mount-readonly"] }
    agent    { policy = "read" }
    node     { policy = "write" }
    operator { policy = "deny" }
    quota    { policy = "read" }
    plugin   { policy = "list" })",
                                   "p");
  const auto& own = policy.namespaces.at("default");
  EXPECT_TRUE(own.capabilities.has(Capability::read_job));
  EXPECT_TRUE(own.capabilities.has(Capability::alloc_exec));
  EXPECT_FALSE(own.capabilities.has(Capability::submit_job));
  EXPECT_TRUE(has(own.variables.at("nomad/jobs/*"), Access::list)) << "reading includes listing";
  EXPECT_FALSE(has(own.variables.at("secret"), Access::read)) << "writing does not include reading";
  EXPECT_TRUE(policy.namespaces.at("web-*").capabilities.has(Capability::purge_job)) << "submit-job includes it";
  EXPECT_EQ(policy.node_pools.at("gpu"), Level::write);
  EXPECT_EQ(policy.node_pools.at("cpu"), Level::read);
  EXPECT_EQ(policy.host_volumes.at("scratch"), Level::read);
  EXPECT_EQ(policy.agent, Level::read);
  EXPECT_EQ(policy.node, Level::write);
  EXPECT_EQ(policy.operators, Level::deny);
  EXPECT_EQ(policy.quota, Level::read);
  EXPECT_EQ(policy.plugin, Level::list);
}

TEST(Policy, ReadsJsonToo) {
  const auto policy =
      parse_policy(R"({"namespace": {"default": {"policy": "read"}}, "node": {"policy": "read"}})", "p");
  EXPECT_TRUE(policy.namespaces.at("default").capabilities.has(Capability::list_jobs));
  EXPECT_EQ(policy.node, Level::read);
}

TEST(Policy, MayHaveNoRulesYet) {
  EXPECT_TRUE(errors("").empty());
  EXPECT_TRUE(parse_policy("", "p").empty());
  EXPECT_FALSE(errors(" \n").empty()) << "who writes something means something by it";
}

TEST(Policy, TellsEverythingThatIsWrongAtOnce) {
  const auto found = errors(R"(
    namespace "default" { capabilities = ["read-jobs"] }
    namespace "a b" { policy = "read" }
    node { policy = "rite" }
    agents { policy = "read" })");
  ASSERT_EQ(found.size(), 4u) << testing::PrintToString(found);
  EXPECT_NE(testing::PrintToString(found).find("read-jobs"), std::string::npos);
}

TEST(Policy, TellsTheLineOfAWordThatIsNotKnown) {
  hcl::Diagnostics diagnostics;
  parse_policy("namespace \"default\" {\n  policy = \"wirte\"\n}\n", "p", diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all().front().range.start().line, 2);
}

TEST(Policy, RefusesWhatGrantsNothingOrCannotBeMeant) {
  struct Case {
    const char* name;
    std::string rules;
  };
  const std::vector<Case> cases = {
      {"blanks alone", " \n"},
      {"a namespace without a name", "namespace { policy = \"read\" }"},
      {"an unknown policy", "namespace \"default\" { policy = \"admin\" }"},
      {"a rule without content", "node {}"},
      {"capabilities where there are none", "agent { capabilities = [\"read\"] }"},
      {"variables without a path", "namespace \"default\" { variables {} }"},
      {"an absolute path", "namespace \"default\" { variables { path \"/x\" { capabilities = [\"read\"] } } }"},
      {"a capability of variables that is none",
       "namespace \"default\" { variables { path \"x\" { capabilities = [\"own\"] } } }"},
      {"no HCL", "namespace \"default\" {"},
      {"a variable", "namespace \"default\" { policy = var.x }"},
      {"more than is read", std::string(kMaxRulesBytes + 1, '#')},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_FALSE(errors(c.rules).empty());
    EXPECT_THROW(parse_policy(c.rules, "p"), Error);
  }
}

TEST(Policy, EveryCapabilityIsSpelledAsItIsRead) {
  for (const auto& name : capability_names()) {
    const auto capability = parse_capability(name);
    ASSERT_TRUE(capability) << name;
    EXPECT_EQ(spell(*capability), name);
  }
  EXPECT_EQ(capability_names().size(), kCapabilities);
}

}  // namespace
}  // namespace underway::acl
