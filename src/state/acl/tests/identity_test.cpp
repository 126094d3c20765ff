#include "acl/identity.hpp"

#include "store/memory_store.hpp"

namespace underway::acl {
namespace {

using namespace std::chrono_literals;

class IdentitiesTest : public ::testing::Test {
 protected:
  template <class... C>
  void put(C... changes) {
    std::vector<tables::Change> list;
    (list.emplace_back(std::move(changes)), ...);
    tables_.apply(std::move(list), ++revision_);
    tables_.publish();
  }
  void policy(const std::string& name, const std::string& rules) {
    put(tables::PutAclPolicy{{name, "", rules, std::nullopt, 0, 0}});
  }
  model::AclToken token(const std::string& secret, std::vector<std::string> policies) {
    model::AclToken token;
    token.accessor_id = "accessor-of-" + secret;
    token.secret_hash = hash_secret(secret);
    token.policies = std::move(policies);
    return token;
  }
  std::string refusal(const std::string& secret) {
    try {
      identities_.of_secret(tables_, secret, now_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::denied);
      return error.message();
    }
    return "";
  }

  tables::Tables tables_;
  model::Revision revision_ = 0;
  Identities identities_;
  TimePoint now_ = from_unix_nanos(1'000'000'000'000'000'000);
};

TEST_F(IdentitiesTest, ASecretFindsItsTokenAndItsRights) {
  policy("reader", "namespace \"default\" { policy = \"read\" }");
  put(tables::PutAclToken{token("s", {"reader", "not-there"})});
  const auto identity = identities_.of_secret(tables_, "s", now_);
  EXPECT_EQ(identity->accessor, "accessor-of-s");
  EXPECT_TRUE(identity->rights->in("default", Capability::read_job));
  EXPECT_FALSE(identity->rights->in("default", Capability::submit_job));
  EXPECT_EQ(refusal("t"), kTokenNotFound);
  EXPECT_EQ(refusal(""), kTokenNotFound);
  EXPECT_EQ(refusal(hash_secret("s")), kTokenNotFound) << "the hash in the store is no secret";
}

TEST_F(IdentitiesTest, RightsFollowPoliciesAndRoles) {
  policy("reader", "namespace \"default\" { policy = \"read\" }");
  model::AclRole role{"r1", "dev", "", {{"reader"}}, 0, 0};
  auto holder = token("s", {});
  holder.roles = {{"r1", "dev"}};
  put(tables::PutAclRole{role}, tables::PutAclToken{holder});
  EXPECT_TRUE(identities_.of_secret(tables_, "s", now_)->rights->in("default", Capability::read_job));
  policy("reader", "namespace \"default\" { capabilities = [\"list-jobs\"] }");
  EXPECT_FALSE(identities_.of_secret(tables_, "s", now_)->rights->in("default", Capability::read_job));
  put(tables::DeleteAclRole{"r1"});
  EXPECT_FALSE(identities_.of_secret(tables_, "s", now_)->rights->any());
}

TEST_F(IdentitiesTest, AManagementTokenMayDoEverything) {
  auto boss = token("s", {});
  boss.type = model::AclTokenType::management;
  put(tables::PutAclToken{boss});
  EXPECT_TRUE(identities_.of_secret(tables_, "s", now_)->rights->is_management());
}

TEST_F(IdentitiesTest, AnExpiredTokenIsRefused) {
  auto brief = token("s", {});
  brief.expiration_time = unix_nanos(now_ + 10s);
  put(tables::PutAclToken{brief});
  const auto identity = identities_.of_secret(tables_, "s", now_);
  EXPECT_EQ(identity->expires, now_ + 10s);
  now_ += 10s;
  EXPECT_EQ(refusal("s"), kTokenExpired);
  EXPECT_THROW(identities_.again(tables_, identity, now_), Error);
}

TEST_F(IdentitiesTest, ARevokedTokenIsRefusedAgain) {
  put(tables::PutAclToken{token("s", {})});
  const auto identity = identities_.of_secret(tables_, "s", now_);
  EXPECT_EQ(identities_.again(tables_, identity, now_), identity);
  put(tables::DeleteAclToken{identity->accessor});
  EXPECT_THROW(identities_.again(tables_, identity, now_), Error);
  EXPECT_EQ(refusal("s"), kTokenNotFound);
}

TEST_F(IdentitiesTest, WithoutATokenTheAnonymousPolicyCounts) {
  EXPECT_FALSE(identities_.anonymous(tables_)->rights->any());
  policy("anonymous", "node { policy = \"read\" }");
  EXPECT_TRUE(identities_.anonymous(tables_)->rights->node(Level::read));
  put(tables::DeleteAclPolicy{"anonymous"});
  EXPECT_FALSE(identities_.anonymous(tables_)->rights->any());
}

TEST_F(IdentitiesTest, ATaskReadsItsOwnVariablesAndWhatItsPoliciesAllowUntilItsAllocationIsOver) {
  put(tables::PutAclPolicy{{"web", "", "node { policy = \"read\" }", model::JobAcl{"default", "web", "", ""}, 0, 0}});
  model::Allocation allocation;
  allocation.id = "a1";
  put(tables::PutAllocation{allocation});
  const auto task = identities_.of_workload(tables_, {"default", "web", "g", "t", "a1"}, now_ + 10s, now_);
  EXPECT_TRUE(task->rights->node(Level::read));
  EXPECT_FALSE(task->rights->is_management());
  for (const char* path : {"nomad/jobs", "nomad/jobs/web", "nomad/jobs/web/g", "nomad/jobs/web/g/t"})
    EXPECT_TRUE(task->rights->variable(path, "default", Access::read)) << path;
  for (const char* path : {"nomad/jobs/db", "nomad/jobs/web/other", "nomad/jobs/web/g/t/x", "apps"})
    EXPECT_FALSE(task->rights->variable(path, "default", Access::read)) << path;
  EXPECT_FALSE(task->rights->variable("nomad/jobs/web", "other", Access::read));
  EXPECT_FALSE(task->rights->variable("nomad/jobs/web", "default", Access::write));
  EXPECT_THROW(identities_.again(tables_, task, now_ + 10s), Error) << "it expires";
  allocation.client_status = model::ClientStatus::complete;
  put(tables::PutAllocation{allocation});
  EXPECT_THROW(identities_.again(tables_, task, now_), Error);
}

TEST_F(IdentitiesTest, ATaskWhoseNameIsAPatternReadsNothingOfOthers) {
  model::Allocation allocation;
  allocation.id = "a1";
  put(tables::PutAllocation{allocation});
  const auto task = identities_.of_workload(tables_, {"default", "*", "g", "t", "a1"}, now_ + 10s, now_);
  EXPECT_FALSE(task->rights->variable("nomad/jobs/web", "default", Access::read));
}

TEST_F(IdentitiesTest, TasksHaveThePoliciesThatNameThem) {
  const auto for_job = [&](const std::string& name, model::JobAcl job) {
    put(tables::PutAclPolicy{{name, "", "node { policy = \"read\" }", std::move(job), 0, 0}});
  };
  for_job("job", {"default", "web", "", ""});
  for_job("group", {"default", "web", "front", ""});
  for_job("task", {"default", "web", "front", "nginx"});
  for_job("other", {"other", "web", "", ""});
  for_job("whole", {"third", "", "", ""});
  const std::vector<std::string> all{"group", "job", "task"}, two{"group", "job"}, one{"job"};
  EXPECT_EQ(policies_of_workload(tables_, "default", "web", "front", "nginx"), all);
  EXPECT_EQ(policies_of_workload(tables_, "default", "web", "front", "php"), two);
  EXPECT_EQ(policies_of_workload(tables_, "default", "web", "back", "nginx"), one);
  EXPECT_EQ(policies_of_workload(tables_, "third", "any", "g", "t"), std::vector<std::string>{"whole"})
      << "one of a namespace alone is for all of its jobs";
}

}  // namespace
}  // namespace underway::acl
