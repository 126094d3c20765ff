#include "cli/acl/access_losses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace underway::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TimePoint kNow{std::chrono::hours(1000)};

model::AclToken token(const std::string& name, std::vector<std::string> policies, const std::string& role = "") {
  model::AclToken out{.accessor_id = "a-" + name, .name = name, .policies = std::move(policies)};
  if (!role.empty()) out.roles.push_back({role, "role-" + role});
  return out;
}

TEST(LossesOfAccess, OfATokenAreItsRightsUnlessItHasExpired) {
  auto ci = token("ci", {});
  EXPECT_THAT(losses_of_token(ci, kNow),
              ElementsAre("who uses token 'ci' has no rights any more; its secret cannot be given out again"));
  ci.expiration_time = unix_nanos(kNow) - 1;
  EXPECT_THAT(losses_of_token(ci, kNow), IsEmpty());
}

TEST(LossesOfAccess, OfAPolicyAreItsRulesAndWhoHasIt) {
  model::AclPolicy policy{.name = "reader"};
  policy.job_acl = model::JobAcl{"default", "web", "", ""};
  const std::vector<model::AclToken> tokens = {token("anna", {"reader", "writer"}), token("", {"reader"}),
                                               token("ci", {"writer"})};
  const model::AclRole role{.id = "1", .name = "ops", .policies = {{"reader"}}};
  EXPECT_THAT(losses_of_policy(policy, tokens, {role}),
              ElementsAre("the rules of policy 'reader'", "2 tokens have it: anna, a-", "1 role has it: ops",
                          "tasks of job 'web' in namespace 'default' have it"));
  EXPECT_THAT(losses_of_policy({.name = "unused"}, tokens, {role}), ElementsAre("the rules of policy 'unused'"));
  const std::vector<model::AclToken> many(12, token("anna", {"reader"}));
  EXPECT_THAT(losses_of_policy({.name = "reader"}, many, {}),
              ElementsAre("the rules of policy 'reader'",
                          "12 tokens have it: anna, anna, anna, anna, anna, anna, anna, anna, anna, anna, …"));
}

TEST(LossesOfAccess, OfARoleAndOfAWayToLogIn) {
  EXPECT_THAT(losses_of_role({.id = "7", .name = "ops"}, {token("anna", {}, "7"), token("ci", {}, "8")}),
              ElementsAre("role 'ops' with its list of policies", "1 token has it: anna"));
  EXPECT_THAT(losses_of_auth_method("sso", 2),
              ElementsAre("the configuration of 'sso': nobody logs in by it any more", "2 binding rules of it"));
  EXPECT_THAT(losses_of_auth_method("sso", 0), testing::SizeIs(1));
}

}  // namespace
}  // namespace underway::cli
