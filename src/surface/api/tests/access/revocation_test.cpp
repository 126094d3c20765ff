// What runs for long ends when its caller loses the right: blocking queries, logs that are followed, sessions.
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using async::awaitable;
using link::Stream;
using server::testing::run_until;

constexpr const char* kRules =
    "namespace \"default\" { capabilities = [\"read-job\", \"list-jobs\", \"read-logs\", "
    "\"alloc-exec\", \"alloc-node-exec\"] }";

class RevocationTest : public AccessTest {
 protected:
  RevocationTest() : node(world.link(1)), tasks(world.loop.executor(), "test") {
    make_token("boss", "");
    world.token = "boss";
    world.run(make_job("web"));
    run_until(world.loop, [&] { return !world.tables().allocations().empty(); });
    allocation = world.allocation_of("web");
    world.loop.run_until_done(async::sleep_for(std::chrono::milliseconds(20)));  // reports of the node
    make_token("user", kRules);
    world.token = "user";
    node.streams["logs"] = node.streams["exec"] = [this](boost::json::value, std::shared_ptr<Stream> stream) {
      return hold(std::move(stream));
    };
  }
  ~RevocationTest() override { world.loop.run_until_done(tasks.stop()); }

  /// Says something, and then nothing until it is broken off.
  awaitable<void> hold(std::shared_ptr<Stream> stream) {
    co_await stream->write("hello\n");
    try {
      while (co_await stream->read()) {
      }
    } catch (const Error&) {
      broken_off = true;
      throw;
    }
  }

  awaitable<void> ask(std::string target) {
    auto request = World::request("GET", target);
    request.headers.set("X-Nomad-Token", "user");
    answer = co_await world.router.handle(std::move(request));
  }
  /// Begins to wait for a change that does not come.
  void wait_for_jobs() {
    tasks.spawn("query", ask(fmt::format("/v1/jobs?index={}&wait=4m", world.tables().revision())));
    pass(std::chrono::milliseconds(30));
    ASSERT_FALSE(answer) << "the query was to wait: " << answer->body;
  }
  void pass(Duration span) { world.loop.run_until_done(async::sleep_for(span)); }
  bool soon(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!holds() && std::chrono::steady_clock::now() < deadline) pass(std::chrono::milliseconds(5));
    return holds();
  }

  struct Sink final : http::BodyWriter {
    std::string all;
    awaitable<void> write(std::string data) override {
      all += data;
      co_return;
    }
  };
  awaitable<void> follow(http::Response response) {
    try {
      co_await response.stream(sink);
    } catch (const Error& error) {
      failure = error.message();
    }
    response = {};  // the server lets go of it
    over = true;
  }
  void follow_logs() {
    auto response = world.get("/v1/client/fs/logs/" + allocation + "?task=t&follow=true&plain=true");
    ASSERT_EQ(response.status, 200) << response.body;
    tasks.spawn("follow", follow(std::move(response)));
    ASSERT_TRUE(soon([&] { return sink.all == "hello\n"; }));
  }

  FakeNode& node;
  async::TaskGroup tasks;
  std::string allocation;
  std::optional<http::Response> answer;
  Sink sink;
  bool over = false, broken_off = false;
  std::string failure;
};

TEST_F(RevocationTest, ABlockingQueryIsRefusedWhenTheTokenIsRevoked) {
  wait_for_jobs();
  revoke("user");
  ASSERT_TRUE(soon([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->status, 403);
  EXPECT_EQ(answer->body, acl::kTokenNotFound);
}

TEST_F(RevocationTest, ABlockingQueryIsRefusedWhenThePolicyChanges) {
  wait_for_jobs();
  set_rules("user", "namespace \"default\" { capabilities = [\"read-logs\"] }");
  ASSERT_TRUE(soon([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->status, 403);
}

TEST_F(RevocationTest, ABlockingQueryAnswersWithTheRightsThatAreLeft) {
  world.token = "boss";
  ASSERT_EQ(world.put("/v1/namespace", R"({"Name":"team"})").status, 200);
  set_rules("user", "namespace \"*\" { capabilities = [\"list-jobs\"] }");
  tasks.spawn("query", ask(fmt::format("/v1/jobs?namespace=*&index={}&wait=4m", world.tables().revision())));
  pass(std::chrono::milliseconds(30));
  set_rules("user", "namespace \"default\" { capabilities = [\"list-jobs\"] }");
  auto theirs = make_job("theirs");
  theirs.ns = "team";
  ASSERT_EQ(world.run(theirs).status, 200);
  ASSERT_TRUE(soon([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body.find("theirs"), std::string::npos) << answer->body;
}

TEST_F(RevocationTest, AChangeThatLeavesTheRightDisturbsNothing) {
  wait_for_jobs();
  set_rules("user", std::string(kRules) + "\nnode { policy = \"read\" }");
  set_rules("another", "node { policy = \"read\" }");
  pass(std::chrono::milliseconds(50));
  EXPECT_FALSE(answer);
  world.token = "boss";
  world.run(make_job("next"));
  ASSERT_TRUE(soon([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->status, 200);
}

TEST_F(RevocationTest, ABlockingQueryIsRefusedWhenTheTokenExpires) {
  make_token("user", kRules, world.clock.now() + std::chrono::milliseconds(100));
  wait_for_jobs();
  world.clock.advance(std::chrono::milliseconds(100));
  ASSERT_TRUE(soon([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->status, 403);
  EXPECT_EQ(answer->body, acl::kTokenExpired);
}

TEST_F(RevocationTest, ALogThatIsFollowedBreaksOffWithTheToken) {
  follow_logs();
  revoke("user");
  ASSERT_TRUE(soon([&] { return over; }));
  EXPECT_EQ(failure, acl::kTokenNotFound);
  EXPECT_TRUE(soon([&] { return broken_off; })) << "the node is told as well";
}

TEST_F(RevocationTest, EventsAreToldAsFarAsTheRightsThatAreLeftReach) {
  auto response = world.get("/v1/event/stream?topic=Job&topic=Node&namespace=*");
  ASSERT_EQ(response.status, 200) << response.body;
  tasks.spawn("follow", follow(std::move(response)));
  pass(std::chrono::milliseconds(20));
  EXPECT_EQ(sink.all.find("\"Topic\":\"Node\""), std::string::npos) << "it may not see nodes";
  world.token = "boss";
  ASSERT_EQ(world.run(make_job("first")).status, 200);
  ASSERT_TRUE(soon([&] { return sink.all.find("first") != std::string::npos; }));
  set_rules("user", "namespace \"other\" { policy = \"read\" }");
  pass(std::chrono::milliseconds(20));
  ASSERT_EQ(world.run(make_job("second")).status, 200);
  pass(std::chrono::milliseconds(50));
  EXPECT_EQ(sink.all.find("second"), std::string::npos);
  revoke("user");
  EXPECT_TRUE(soon([&] { return over; }));
}

TEST_F(RevocationTest, ALogThatIsFollowedGoesOnWhenTheTokenOfAnotherIsRevoked) {
  make_token("other", kRules);
  follow_logs();
  revoke("other");
  pass(std::chrono::milliseconds(50));
  EXPECT_FALSE(over);
}

TEST_F(RevocationTest, ASessionIsClosedWithTheReason) {
  const auto response = world.get("/v1/client/allocation/" + allocation + "/exec?task=t&command=[\"sh\"]");
  ASSERT_TRUE(response.upgrade) << response.status << response.body;
  const auto [socket, theirs] = link::FakeSocket::pair();
  tasks.spawn("session", response.upgrade(theirs));
  ASSERT_TRUE(world.loop.run_until_done(socket->read()));
  revoke("user");
  ASSERT_TRUE(soon([&ours = socket] { return !ours->is_open(); }));
  EXPECT_EQ(socket->close_code(), http::CloseCode::policy);
  EXPECT_EQ(socket->close_reason(), acl::kTokenNotFound);
  EXPECT_TRUE(soon([&] { return broken_off; })) << "the command ends on its node";
}

TEST_F(RevocationTest, ASessionIsClosedWhenWhatItsTaskNeedsIsTakenAway) {
  const auto response = world.get("/v1/client/allocation/" + allocation + "/exec?task=t&command=[\"sh\"]");
  ASSERT_TRUE(response.upgrade) << response.status << response.body;
  const auto [socket, theirs] = link::FakeSocket::pair();
  tasks.spawn("session", response.upgrade(theirs));
  ASSERT_TRUE(world.loop.run_until_done(socket->read()));
  set_rules("user", "namespace \"default\" { capabilities = [\"alloc-exec\"] }");
  ASSERT_TRUE(soon([&ours = socket] { return !ours->is_open(); }));
  EXPECT_EQ(socket->close_code(), http::CloseCode::policy);
}

TEST_F(RevocationTest, RootAtTheSocketIsNotWatched) {
  world.token.clear();
  world.peer = {.address = "unix", .uid = 0};
  follow_logs();
  revoke("boss");
  pass(std::chrono::milliseconds(50));
  EXPECT_FALSE(over);
}

}  // namespace
}  // namespace underway::api::testing
