#include "tests/access.hpp"

#include <gtest/gtest.h>

namespace underway::api::testing {
namespace {

class SearchTest : public ::testing::Test {
 protected:
  SearchTest() {
    world.join(make_node(1));
    auto job = make_job("web-shop");
    job.groups[0].name = "front";
    job.groups[0].tasks[0].name = "nginx";
    job.groups[0].tasks[0].config = boost::json::object{{"command", "/bin/nginx-run"}};
    job.groups[0].tasks[0].services.emplace_back().name = "shop-http";
    world.run(job);
    world.run(make_job("db"));
    world.put("/v1/var/shop/key", R"({"Items":{"k":"v"}})");
  }
  boost::json::value prefix(const std::string& text, const std::string& context = "all") {
    return json::parse(world.put("/v1/search", fmt::format(R"({{"Prefix":"{}","Context":"{}"}})", text, context)).body);
  }
  boost::json::value fuzzy(const std::string& text, const std::string& context = "all") {
    return json::parse(
        world.put("/v1/search/fuzzy", fmt::format(R"({{"Text":"{}","Context":"{}"}})", text, context)).body);
  }
  static std::vector<std::string> ids(const boost::json::value& list) {
    std::vector<std::string> out;
    for (const auto& element : list.as_array())
      out.emplace_back(element.is_string() ? element.as_string() : element.at("ID").as_string());
    return out;
  }
  using Names = std::vector<std::string>;
  World world;
};

TEST_F(SearchTest, FindsIdsByTheirBeginningInEveryContext) {
  const auto found = prefix("");
  const auto& matches = found.at("Matches");
  EXPECT_EQ(ids(matches.at("jobs")), (Names{"db", "web-shop"}));
  EXPECT_EQ(ids(matches.at("nodes")), (Names{uuid(1)}));
  EXPECT_EQ(matches.at("allocs").as_array().size(), 2u);
  EXPECT_EQ(matches.at("evals").as_array().size(), 2u);
  EXPECT_EQ(ids(matches.at("namespaces")), (Names{"default"}));
  EXPECT_EQ(ids(matches.at("vars")), (Names{"shop/key"}));
  EXPECT_EQ(ids(matches.at("node_pools")), (Names{"all", "default"}));
  for (const char* empty : {"plugins", "volumes", "quotas", "scaling_policy"}) {
    SCOPED_TRACE(empty);
    EXPECT_TRUE(matches.at(empty).is_null());
    EXPECT_FALSE(found.at("Truncations").at(empty).as_bool());
  }
  EXPECT_GT(found.at("Index").as_int64(), 1);
}

TEST_F(SearchTest, LooksIntoOneContextOnRequest) {
  const auto found = prefix("we", "jobs");
  EXPECT_EQ(found.at("Matches").as_object().size(), 1u);
  EXPECT_EQ(ids(found.at("Matches").at("jobs")), (Names{"web-shop"}));
  EXPECT_TRUE(prefix("", "deployments").at("Matches").as_object().contains("deployment"));
  EXPECT_EQ(world.put("/v1/search", R"({"Prefix":"","Context":"ships"})").status, 400);
}

TEST_F(SearchTest, FindsNamesByAnyPartWithWhereTheyAre) {
  const auto found = fuzzy("SHOP").at("Matches");
  EXPECT_EQ(json::encode(std::vector<std::string>{}), "[]");
  EXPECT_EQ(found.at("jobs"), json::parse(R"([{"ID":"web-shop","Scope":["default","web-shop"]}])"));
  EXPECT_EQ(found.at("services"),
            json::parse(R"([{"ID":"shop-http","Scope":["default","web-shop","front","nginx"]}])"));
  EXPECT_EQ(ids(found.at("allocs")), (Names{"web-shop.front[0]"}));
  const auto nginx = fuzzy("nginx").at("Matches");
  EXPECT_EQ(nginx.at("tasks"), json::parse(R"([{"ID":"nginx","Scope":["default","web-shop","front"]}])"));
  EXPECT_EQ(nginx.at("commands"),
            json::parse(R"([{"ID":"/bin/nginx-run","Scope":["default","web-shop","front","nginx"]}])"));
  EXPECT_EQ(ids(fuzzy("fron").at("Matches").at("groups")), (Names{"front"}));
  EXPECT_EQ(fuzzy("c1").at("Matches").at("nodes"),
            json::parse(fmt::format(R"([{{"ID":"c1","Scope":["{}"]}}])", uuid(1))));
  // Only a beginning finds what has no name.
  EXPECT_EQ(ids(fuzzy("shop/").at("Matches").at("vars")), (Names{"shop/key"}));
  EXPECT_TRUE(fuzzy("key").at("Matches").at("vars").as_array().empty());
}

TEST_F(SearchTest, ByNameAsksForTwoCharactersAndIsCut) {
  const auto short_one = world.put("/v1/search/fuzzy", R"({"Text":"x"})");
  EXPECT_EQ(short_one.status, 400);
  EXPECT_EQ(short_one.body, "fuzzy search query must be at least 2 characters, got 1");
  for (int i = 0; i < 103; ++i) world.run(make_job(fmt::format("many{:03}", i)));
  const auto found = fuzzy("any", "jobs");
  EXPECT_EQ(found.at("Matches").at("jobs").as_array().size(), 100u);
  EXPECT_TRUE(found.at("Truncations").at("jobs").as_bool());
}

TEST_F(SearchTest, PutsNamesThatBeginWithTheTextFirst) {
  world.run(make_job("a-db"));
  EXPECT_EQ(ids(fuzzy("db", "jobs").at("Matches").at("jobs")), (Names{"db", "a-db"}));
}

class SearchWithRights : public AccessTest {};

TEST_F(SearchWithRights, LeavesOutWhatMayNotBeSeen) {
  make_token("root", "");
  make_token("lister", R"(namespace "default" { capabilities = ["list-jobs"] })");
  world.token = "root";
  world.join(make_node(1));
  world.run(make_job("web"));
  world.token = "lister";
  const auto all = json::parse(world.put("/v1/search", R"({"Prefix":""})").body).at("Matches");
  EXPECT_EQ(all.at("jobs").as_array().size(), 1u);
  EXPECT_FALSE(all.as_object().contains("nodes"));
  EXPECT_FALSE(all.as_object().contains("allocs"));
  EXPECT_EQ(world.put("/v1/search", R"({"Prefix":"","Context":"nodes"})").status, 403);
  const auto parts = json::parse(world.put("/v1/search/fuzzy", R"({"Text":"sleep"})").body).at("Matches");
  EXPECT_FALSE(parts.as_object().contains("commands"));
  world.token = "";
  EXPECT_EQ(world.put("/v1/search", R"({"Prefix":""})").status, 403);
}

}  // namespace
}  // namespace underway::api::testing
