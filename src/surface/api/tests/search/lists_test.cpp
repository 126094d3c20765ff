// What every list can: filter expressions, pages in order of coming into being, and the parameters of single lists.
#include "tests/access.hpp"

#include <gtest/gtest.h>

namespace underway::api::testing {
namespace {

class ListsTest : public ::testing::Test {
 protected:
  ListsTest() {
    world.join(make_node(1));
    world.join(make_node(2));
    for (const char* id : {"web", "db", "api"}) {
      auto job = make_job(id);
      job.meta["team"] = id == std::string("db") ? "storage" : "front";
      world.run(job);
    }
  }
  /// The values of `key` in the list at `path`, filtered.
  std::vector<std::string> filtered(const std::string& path, const std::string& expression, const char* key = "ID") {
    const char glue = path.find('?') == std::string::npos ? '?' : '&';
    const auto list = world.read(path + glue + "filter=" + http::percent_encode(expression));
    std::vector<std::string> out;
    for (const auto& element : list.as_array()) out.emplace_back(element.at(key).as_string());
    return out;
  }
  using Names = std::vector<std::string>;
  World world;
};

TEST_F(ListsTest, OfJobsAreFilteredByTheWholeJob) {
  EXPECT_EQ(filtered("/v1/jobs", R"(Meta.team == "front")"), (Names{"api", "web"}));
  EXPECT_EQ(filtered("/v1/jobs", R"(ID matches "^[dw]" and Type == service)"), (Names{"db", "web"}));
  EXPECT_EQ(filtered("/v1/jobs", R"(any TaskGroups as g { any g.Tasks as t { t.Driver == raw_exec } })").size(), 3u);
  EXPECT_EQ(filtered("/v1/jobs?prefix=w", R"(Status != dead)"), (Names{"web"}));
  EXPECT_EQ(filtered("/v1/jobs", "  ").size(), 3u);
}

TEST_F(ListsTest, AreFilteredBeforeTheyAreCutIntoPages) {
  const std::string query = "/v1/jobs?per_page=1&filter=" + http::percent_encode("Meta.team == front");
  const auto first = world.get(query);
  EXPECT_EQ(json::parse(first.body).at(0).at("ID").as_string(), "api");
  const auto token = header(first, "X-Nomad-NextToken");
  EXPECT_EQ(token, "default.web");
  const auto second = world.get(query + "&next_token=" + token);
  EXPECT_EQ(json::parse(second.body).at(0).at("ID").as_string(), "web");
  EXPECT_EQ(header(second, "X-Nomad-NextToken"), "");
}

TEST_F(ListsTest, OfEveryKindCanBeFiltered) {
  EXPECT_EQ(filtered("/v1/nodes", fmt::format("ID == \"{}\"", uuid(2))), (Names{uuid(2)}));
  EXPECT_EQ(filtered("/v1/nodes", "Attributes.nothing is empty and Status == ready").size(), 2u);
  EXPECT_EQ(filtered("/v1/allocations", "JobID == db", "JobID"), (Names{"db"}));
  EXPECT_EQ(filtered("/v1/allocations", "Job.Meta.team == storage", "JobID"), (Names{"db"}));
  EXPECT_EQ(filtered("/v1/evaluations", R"(JobID == db and TriggeredBy == "job-register")", "JobID"), (Names{"db"}));
  EXPECT_EQ(filtered("/v1/deployments", "JobID == nobody"), Names{});
  EXPECT_EQ(filtered("/v1/namespaces", "Name != other", "Name"), (Names{"default"}));
  EXPECT_EQ(world.put("/v1/var/a/b", R"({"Items":{"k":"v"}})").status, 200);
  EXPECT_EQ(filtered("/v1/vars", R"(Path matches "^a/")", "Path"), (Names{"a/b"}));
  // What is secret is not there to be guessed at.
  const auto guess = world.get("/v1/vars?filter=" + http::percent_encode("Items.k == v"));
  EXPECT_EQ(guess.status, 400);
}

TEST_F(ListsTest, RefuseWhatCannotBeReadAsNomadWordsIt) {
  const auto unreadable = world.get("/v1/jobs?filter=NotValid");
  EXPECT_EQ(unreadable.status, 400);
  EXPECT_EQ(unreadable.body.find("failed to read filter expression: 1:9 (8): no match found, expected "), 0u);
  const auto unknown = world.get("/v1/jobs?filter=" + http::percent_encode("Nothing == 1"));
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.body,
            "failed to read result page: error finding value in datum: /Nothing at part 0: couldn't find key: struct "
            "field with name \"Nothing\"");
  const auto costly = world.get("/v1/evaluations?filter=" + std::string(20'000, 'a'));
  EXPECT_EQ(costly.status, 400);
}

TEST_F(ListsTest, OfWhatComesIntoBeingHaveNomadsTokens) {
  const auto page = world.get("/v1/evaluations?per_page=1");
  const auto rows = world.read("/v1/evaluations").as_array();
  const auto& second = rows.at(1);
  EXPECT_EQ(header(page, "X-Nomad-NextToken"),
            fmt::format("{}.{}", second.at("CreateIndex").as_int64(), std::string(second.at("ID").as_string())));
  const auto next = world.read("/v1/evaluations?per_page=1&next_token=" + header(page, "X-Nomad-NextToken"));
  EXPECT_EQ(next.at(0).at("ID"), second.at("ID"));
  // The index alone is a place as well; something else is none.
  const auto begin = std::to_string(second.at("CreateIndex").as_int64());
  EXPECT_EQ(world.read("/v1/evaluations?per_page=1&next_token=" + begin).at(0).at("ID"), second.at("ID"));
  EXPECT_EQ(world.get("/v1/evaluations?per_page=1&next_token=default.web").status, 400);
  // By a prefix of the id, they are in order of ids.
  const auto prefixed = world.get("/v1/allocations?prefix=0&per_page=1");
  EXPECT_EQ(header(prefixed, "X-Nomad-NextToken").find('.'), std::string::npos);
}

TEST_F(ListsTest, TellMoreOrLessOnRequest) {
  EXPECT_FALSE(world.read("/v1/jobs").at(0).as_object().contains("Meta"));
  EXPECT_EQ(world.read("/v1/jobs?meta=true").at(0).at("Meta").at("team").as_string(), "front");
  EXPECT_FALSE(world.read("/v1/allocations").at(0).as_object().contains("AllocatedResources"));
  EXPECT_TRUE(world.read("/v1/allocations?resources=true").at(0).at("AllocatedResources").at("Tasks").is_object());
  world.update(uuid(1), report(world.allocation_of("web"), model::ClientStatus::running, true));
  EXPECT_TRUE(world.read("/v1/allocations").at(0).at("TaskStates").is_object());
  EXPECT_TRUE(world.read("/v1/allocations?task_states=false").at(0).at("TaskStates").is_null());
}

TEST(ListsOfAJob, LeaveOutWhatAnEarlierJobOfThatNameLeft) {
  World world;
  world.join(make_node(1));
  world.run(make_job("web"));
  world.update(uuid(1), report(world.allocation_of("web"), model::ClientStatus::running, true));
  world.send("DELETE", "/v1/job/web?purge=true");
  world.run(make_job("web"));
  EXPECT_EQ(world.read("/v1/job/web/allocations").as_array().size(), 1u);
  EXPECT_EQ(world.read("/v1/job/web/allocations?all=true").as_array().size(), 2u);
}

class ListsWithRights : public AccessTest {};

TEST_F(ListsWithRights, DoNotTellThroughAFilterWhatTheyDoNotShow) {
  make_token("root", "");
  make_token("lister", R"(namespace "default" { capabilities = ["list-jobs"] })");
  auto job = make_job("web");
  job.groups[0].tasks[0].env["PASSWORD"] = "pearl";
  world.token = "root";
  world.run(job);
  const std::string guess = "/v1/jobs?filter=" + http::percent_encode("TaskGroups.0.Tasks.0.Env.PASSWORD == pearl");
  EXPECT_EQ(world.read(guess).as_array().size(), 1u);
  world.token = "lister";
  EXPECT_EQ(world.get(guess).status, 400);
  EXPECT_EQ(world.read("/v1/jobs?filter=" + http::percent_encode("Status != dead")).as_array().size(), 1u);
}

}  // namespace
}  // namespace underway::api::testing
