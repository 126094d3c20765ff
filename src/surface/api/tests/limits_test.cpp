// How much one caller may ask, and how much a request may hold.
#include "access.hpp"

namespace underway::api::testing {
namespace {

using namespace std::chrono_literals;

TEST(Limiter, LetsABurstThroughAndThenTheRate) {
  VirtualClock clock;
  Limiter limiter({10, 5, 0}, clock);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(limiter.admit("a").refused) << i;
  const auto refused = limiter.admit("a");
  EXPECT_TRUE(refused.refused);
  EXPECT_GT(*refused.retry_after, Duration{0});
  EXPECT_LE(*refused.retry_after, 100ms);
  EXPECT_FALSE(limiter.admit("b").refused) << "each caller has its own";
  clock.advance(100ms);
  EXPECT_FALSE(limiter.admit("a").refused);
  EXPECT_TRUE(limiter.admit("a").refused);
}

TEST(Limiter, CountsWhatIsUnderWay) {
  VirtualClock clock;
  Limiter limiter({0, 0, 2}, clock);
  const auto first = limiter.admit("a");
  auto second = limiter.admit("a");
  EXPECT_TRUE(limiter.admit("a").refused);
  second = {};
  EXPECT_FALSE(limiter.admit("a").refused);
}

TEST(Limiter, RemembersABoundedNumberOfCallers) {
  VirtualClock clock;
  Limiter limiter({1, 1, 0}, clock);
  for (std::size_t i = 0; i < Limiter::kMostCallers + 100; ++i) limiter.admit(std::to_string(i));
  EXPECT_LE(limiter.callers(), Limiter::kMostCallers);
}

TEST(Limiter, WithoutLimitsKeepsNothing) {
  VirtualClock clock;
  Limiter limiter({}, clock);
  EXPECT_FALSE(limiter.admit("a").refused);
  EXPECT_EQ(limiter.callers(), 0u);
}

class LimitsTest : public AccessTest {
 protected:
  LimitsTest() : AccessTest({.acl = true, .limits = {1, 3, 0}}) {}
};

TEST_F(LimitsTest, TooManyRequestsAreAnswered429WithWhenToComeBack) {
  make_token("user", "node { policy = \"read\" }");
  world.token = "user";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status("GET", "/v1/nodes"), 200);
  const auto refused = world.get("/v1/nodes");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.find("Retry-After"), "1");
  world.clock.advance(1s);
  EXPECT_EQ(status("GET", "/v1/nodes"), 200);
}

TEST_F(LimitsTest, TryingManyTokensGainsNothing) {
  for (int i = 0; i < 3; ++i) {
    world.token = fmt::format("guess{}", i);
    EXPECT_EQ(status("GET", "/v1/nodes"), 403);
  }
  world.token = "another";
  EXPECT_EQ(status("GET", "/v1/nodes"), 429);
  world.token.clear();
  EXPECT_EQ(status("GET", "/v1/status/leader"), 429) << "nor does no token";
  make_token("user", "node { policy = \"read\" }");
  world.token = "user";
  EXPECT_EQ(status("GET", "/v1/nodes"), 200) << "who has one is not kept out by those who guess";
}

TEST_F(LimitsTest, AnotherPortIsNoOtherCaller) {
  for (int port = 1; port <= 3; ++port) {
    world.peer.address = fmt::format("192.0.2.7:{}", port);
    EXPECT_EQ(status("GET", "/v1/status/leader"), 200);
  }
  world.peer.address = "192.0.2.7:9";
  EXPECT_EQ(status("GET", "/v1/status/leader"), 429);
  world.peer.address = "192.0.2.8:9";
  EXPECT_EQ(status("GET", "/v1/status/leader"), 200);
}

TEST_F(LimitsTest, RootAtTheSocketIsNeverKeptOut) {
  world.peer = {.address = "unix", .uid = 0};
  for (int i = 0; i < 50; ++i) EXPECT_EQ(status("GET", "/v1/nodes"), 200);
}

TEST_F(AccessTest, OneCallerDoesNotTakeAllSessionsOfANode) {
  world.peer = {.address = "unix", .uid = 0};
  world.link(1);
  ASSERT_EQ(world.run(make_job("web")).status, 200);
  const std::string target =
      "/v1/client/allocation/" + world.allocation_of("web") + "/exec?task=t&command=%5B%22sh%22%5D";
  world.peer = {.address = "192.0.2.7:4000"};
  make_token("greedy", "");
  make_token("other", "");
  world.token = "greedy";
  std::vector<http::Response> held;
  for (int i = 0; i < 64; ++i) {
    held.push_back(world.get(target));
    ASSERT_TRUE(held.back().upgrade) << i << ": " << held.back().body;
  }
  const auto refused = world.get(target);
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("too many sessions"), std::string::npos) << refused.body;
  world.token = "other";
  EXPECT_TRUE(world.get(target).upgrade) << "another caller is not kept out";
  held.pop_back();
  world.token = "greedy";
  EXPECT_TRUE(world.get(target).upgrade) << "one has ended";
}

TEST(Bodies, EveryRouteHasALimitThatFitsWhatItReads) {
  World world;
  for (const auto& route : world.routes) {
    SCOPED_TRACE(route.methods + " " + route.pattern);
    EXPECT_GT(route.traits.body_limit, 0u);
    for (const auto& method : split(route.methods, '|')) {
      std::string target;
      for (const auto& segment : split(route.pattern, '/')) {
        if (!segment.empty()) target += "/" + (segment[0] == ':' || segment[0] == '*' ? "x" : segment);
      }
      EXPECT_EQ(world.router.body_limit(method, target, 1), route.traits.body_limit);
      // What is taken piece by piece is held by the disk.
      if (!world.router.streams_body(method, target)) EXPECT_LE(route.traits.body_limit, kClusterBodyLimit);
    }
  }
}

TEST(Bodies, ThatAreTooDeepTooWideOrNoJsonAreRefusedByName) {
  World world;
  struct Case {
    const char* name;
    std::string target, body;
  };
  const std::string deep = std::string(2000, '[') + std::string(2000, ']');
  std::string links;
  for (int i = 0; i < 300; ++i) links += fmt::format("{}\"p{}\"", i == 0 ? "" : ",", i);
  const std::vector<Case> cases = {
      {"nested too deep", "/v1/jobs", "{\"Job\":" + deep + "}"},
      {"no JSON", "/v1/jobs", "{\"Job\":"},
      {"no object", "/v1/jobs", "[]"},
      {"more tasks than a job has", "/v1/jobs",
       [] {
         auto job = make_job("wide");
         job.groups[0].count = 2'000'000;
         return World::job_body(job);
       }()},
      {"too many users", "/v1/namespace", "{\"Name\":\"n\",\"AllowedUsers\":[" + links + "]}"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto response = world.put(c.target, c.body);
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_FALSE(response.body.empty());
  }
}

}  // namespace
}  // namespace underway::api::testing
