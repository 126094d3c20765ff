#include "migrate/inventory.hpp"

#include "fake_api.hpp"

namespace underway::migrate::testing {
namespace {

using ::testing::HasSubstr;

template <class Call>
Error refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::internal, "nothing was refused");
}

std::vector<std::string> names(const Inventory& inventory) {
  std::vector<std::string> out;
  for (const auto& object : inventory.objects)
    out.push_back(fmt::format("{} {}{}", word(object.kind), object.ns.empty() ? "" : object.ns + "/", object.name));
  return out;
}

TEST(Inventory, HasOneOfEverything) {
  auto api = small_nomad();
  const auto inventory = api.read();
  EXPECT_EQ(
      names(inventory),
      (std::vector<std::string>{
          "node pool gpu", "quota fair", "namespace default", "namespace hpc", "ACL policy ops", "ACL role operators",
          "auth method site", "binding rule site: role operators if ops in list.groups",
          "scheduler configuration scheduler", "variable hpc/nomad/jobs/munge", "job default/redis", "job hpc/munge"}));
  const auto* munge = inventory.find(Kind::job, "hpc", "munge");
  ASSERT_NE(munge, nullptr);
  ASSERT_TRUE(munge->submission);
  EXPECT_EQ(munge->submission->variable_flags.at("b"), "2");
  EXPECT_FALSE(inventory.find(Kind::job, "default", "redis")->submission) << "an older version, or too large a file";
}

TEST(Inventory, TellsThatTokensMustBeMadeAnew) {
  const auto inventory = small_nomad().read();
  ASSERT_EQ(inventory.gaps.size(), 3u);
  EXPECT_EQ(inventory.gaps[0].what, "token 'ci' (accessor 5f2c)");
  EXPECT_THAT(inventory.gaps[0].advice, HasSubstr("-policy 'ops'"));
  EXPECT_FALSE(inventory.gaps[0].unread);
}

TEST(Inventory, HasTheTokensThatCanBeTakenAlong) {
  Selection selection;
  selection.tokens = true;
  const auto inventory = small_nomad().read(selection);
  ASSERT_NE(inventory.find(Kind::token, "", "5f2c"), nullptr);
  EXPECT_EQ(inventory.find(Kind::token, "", "5f2c")->body.at("SecretID"), "lion-17");
  ASSERT_EQ(inventory.gaps.size(), 2u);
  EXPECT_EQ(inventory.gaps[0].what, "token 'boss' (accessor 77aa)");
  EXPECT_THAT(inventory.gaps[0].why, HasSubstr("management"));
  EXPECT_EQ(inventory.gaps[1].why, "it ends by itself");
}

TEST(Inventory, FollowsPagesAndNoticesOneThatComesTwice) {
  FakeApi api;
  api.answers["/v1/jobs?namespace=*"] = {200, "[" + stub("a") + "]", "default.b"};
  api.get("/v1/jobs?namespace=*&next_token=default.b", "[" + stub("b") + "]");
  api.get("/v1/job/a?namespace=default", nomad_job("a"));
  api.get("/v1/job/b?namespace=default", nomad_job("b"));
  EXPECT_EQ(names(api.read()), (std::vector<std::string>{"job default/a", "job default/b"}));
  api.answers["/v1/jobs?namespace=*&next_token=default.b"].next_token = "default.b";
  EXPECT_THAT(refusal([&] { api.read(); }).one_line(), HasSubstr("a page came twice"));
}

TEST(Inventory, RefusesWhatIsNoNomad) {
  struct Case {
    const char* name;
    std::string target, body;
    const char* expect;
  };
  const std::vector<Case> cases = {
      {"a page", "/v1/namespaces", "<html>sign in</html>", "/v1/namespaces"},
      {"no list", "/v1/namespaces", "{}", "is not a list"},
      {"a list of numbers", "/v1/namespaces", "[1]", "is not a list of objects"},
      {"one without a name", "/v1/namespaces", "[{}]", "one has no Name"},
      {"another job", "/v1/job/redis?namespace=default", nomad_job("other"), "the job that was asked for"},
      {"a job that is a list", "/v1/job/redis?namespace=default", "[]", "is not a job"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto api = small_nomad();
    api.get(c.target, c.body);
    EXPECT_THAT(refusal([&] { api.read(); }).text(), HasSubstr(c.expect));
  }
}

TEST(Inventory, SaysWhatItMayNotRead) {
  auto api = small_nomad();
  api.answers["/v1/acl/policies"] = {403, "Permission denied\x1b[2J", ""};
  api.answers["/v1/quotas"] = {501, "Nomad Enterprise only endpoint", ""};
  const auto inventory = api.read();
  ASSERT_EQ(inventory.gaps.size(), 4u) << "with three tokens";
  EXPECT_EQ(inventory.gaps[0].what, "every ACL policy");
  EXPECT_EQ(inventory.gaps[0].why, "the server answers 403: Permission denied?[2J");
  EXPECT_TRUE(inventory.gaps[0].unread);
  EXPECT_EQ(inventory.missing.count(Kind::quota), 1u);
}

TEST(Inventory, LeavesOutWhatJobsHaveStarted) {
  auto api = small_nomad();
  const std::string child = R"({"ID":"redis/periodic-17","ParentID":"redis","Namespace":"default","Status":"running"})";
  api.get("/v1/jobs?namespace=*", "[" + stub("redis") + "," + child + "]");
  api.get("/v1/job/redis/allocations?namespace=default",
          R"([{"ClientStatus":"complete"},{"ClientStatus":"running"},{"ClientStatus":"unknown"}])");
  const auto inventory = api.read({.only_jobs = true, .counts_allocations = true});
  EXPECT_EQ(names(inventory), (std::vector<std::string>{"namespace default", "job default/redis"}));
  EXPECT_EQ(inventory.objects.back().live, 3) << "two allocations, and a child";
}

TEST(Inventory, SelectsByNamespaceAndJob) {
  auto api = small_nomad();
  EXPECT_EQ(names(api.read({.namespaces = {"h*"}, .jobs = {"mun*"}, .only_jobs = true})),
            (std::vector<std::string>{"namespace hpc", "job hpc/munge"}));
}

}  // namespace
}  // namespace underway::migrate::testing
