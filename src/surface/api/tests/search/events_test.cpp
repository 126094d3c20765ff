#include <gtest/gtest.h>

#include "acl/login.hpp"
#include "api/search/event_body.hpp"
#include "api/testing/world.hpp"
#include "api/tests/access.hpp"
#include "async/group.hpp"
#include "harness/places.hpp"
#include "tables/host_volumes.hpp"
#include "tables/node_pools.hpp"
#include "tests/golden.hpp"

namespace underway::api::testing {
namespace {

/// A client that reads when the test lets it.
class FakeBody final : public http::BodyWriter {
 public:
  http::awaitable<void> write(std::string data) override {
    text += data;
    while (stuck) co_await unstuck.wait();
  }
  std::vector<boost::json::value> lines() const {
    std::vector<boost::json::value> out;
    for (const auto& line : split(text, '\n')) {
      if (!line.empty()) out.push_back(json::parse(line));
    }
    return out;
  }
  /// "Topic Type Key" of every event.
  std::vector<std::string> events() const {
    std::vector<std::string> out;
    for (const auto& line : lines()) {
      const auto* events = line.as_object().if_contains("Events");
      if (events == nullptr) continue;
      for (const auto& event : events->as_array())
        out.push_back(fmt::format("{} {} {}", std::string_view(event.at("Topic").as_string()),
                                  std::string_view(event.at("Type").as_string()),
                                  std::string_view(event.at("Key").as_string())));
    }
    return out;
  }
  std::string text;
  bool stuck = false;
  async::Event unstuck;
};

class EventStream : public ::testing::Test {
 protected:
  explicit EventStream() : tasks(world.loop.executor(), "test") {}
  ~EventStream() override { world.loop.run_until_done(tasks.stop()); }
  /// Follows from now until the end of the test.
  http::Response follow(const std::string& target, FakeBody& body) {
    auto response = world.get(target);
    EXPECT_EQ(response.status, 200) << response.body;
    responses.push_back(std::make_unique<http::Response>(response));
    tasks.spawn("stream", run(*responses.back(), body));
    settle();
    return response;
  }
  http::awaitable<void> run(http::Response& response, FakeBody& body) {
    co_await response.stream(body);
    ++ended;
  }
  void settle() {
    world.loop.context().restart();
    world.loop.context().poll();
  }
  World world;
  async::TaskGroup tasks;
  std::vector<std::unique_ptr<http::Response>> responses;
  int ended = 0;
};

TEST_F(EventStream, IsAsNomadWritesIt) {
  world.join(make_node(1));
  world.run(make_job("web"));
  FakeBody body;
  follow("/v1/event/stream?topic=Job&topic=Node", body);
  std::string pretty;
  for (const auto& line : body.lines()) pretty += json::pretty(line) + "\n";
  expect_golden(test_dir() + "/golden/event_stream.txt", pretty);
}

TEST_F(EventStream, TellsWhatIsKeptThenAHeartbeatThenWhatHappens) {
  world.join(make_node(1));
  FakeBody body;
  const auto response = follow("/v1/event/stream", body);
  EXPECT_EQ(response.headers.find("X-Nomad-Index"), std::to_string(world.tables().revision()));
  EXPECT_EQ(body.events(), std::vector<std::string>{"Node NodeRegistration " + uuid(1)});
  EXPECT_TRUE(body.text.ends_with("\n{}\n")) << body.text;
  world.run(make_job("web"));
  settle();
  EXPECT_GT(body.events().size(), 3u);
  EXPECT_EQ(ended, 0);
}

TEST_F(EventStream, IsFilteredByTopicKeyAndNamespace) {
  world.join(make_node(1));
  world.run(make_job("web"));
  auto other = make_job("other");
  other.ns = "elsewhere";
  ASSERT_EQ(world.put("/v1/namespace", R"({"Name":"elsewhere"})").status, 200);
  ASSERT_EQ(world.put("/v1/jobs?namespace=elsewhere", World::job_body(other)).status, 200);
  const std::string alloc = world.allocation_of("web");
  struct Case {
    const char* name;
    std::string query;
    std::function<bool(const std::string&)> right;
  };
  const auto about = [](const std::string& word) {
    return [word](const std::string& event) { return event.find(word) != std::string::npos; };
  };
  const std::vector<Case> cases = {
      {"a topic", "topic=Node", about("Node ")},
      {"two topics", "topic=Job&topic=Node", [&](const auto& e) { return about("Job ")(e) || about("Node ")(e); }},
      {"a topic and any key", "topic=Job:*", about("Job ")},
      {"a job", "topic=Job:web", about(" web")},
      {"what belongs to a job", "topic=Allocation:web", about(alloc)},
      {"an allocation by its id", "topic=Allocation:" + alloc, about(alloc)},
      {"anything about a job", "topic=*:web", about("")},
      {"a node by its name", "topic=Node:c1", about(uuid(1))},
      {"a topic that is silent, and one that is not", "topic=CSIVolume&topic=Job", about("Job ")},
      {"another namespace", "namespace=elsewhere&topic=Job", about("other")}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    FakeBody body;
    follow("/v1/event/stream?" + c.query, body);
    EXPECT_FALSE(body.events().empty());
    for (const auto& event : body.events()) EXPECT_TRUE(c.right(event)) << event;
    tasks.cancel();
    settle();
  }
  FakeBody all;
  follow("/v1/event/stream?namespace=*&topic=Job", all);
  EXPECT_GE(all.events().size(), 2u);
  FakeBody none;
  follow("/v1/event/stream?topic=Job:we", none);
  EXPECT_TRUE(none.events().empty()) << "a key is no prefix";
  EXPECT_EQ(none.text, "{}\n");
}

TEST_F(EventStream, GoesOnFromAnIndex) {
  world.join(make_node(1));
  world.join(make_node(2));
  const auto index = world.tables().find_node(uuid(2))->create_index;
  FakeBody body;
  follow("/v1/event/stream?topic=Node&index=" + std::to_string(index), body);
  EXPECT_EQ(body.events(), std::vector<std::string>{"Node NodeRegistration " + uuid(2)});
  FakeBody later;
  follow("/v1/event/stream?topic=Node&index=" + std::to_string(index + 1), later);
  EXPECT_TRUE(later.events().empty());
  world.join(make_node(3));
  settle();
  EXPECT_EQ(later.events(), std::vector<std::string>{"Node NodeRegistration " + uuid(3)});
}

TEST_F(EventStream, RefusesWhatItDoesNotUnderstand) {
  for (const auto& [query, text] : {std::pair{"topic=Jobs", "did you mean Job?"},
                                    {"topic=Job:", "Invalid key value pair"},
                                    {"topic=Banana", "there is no topic 'Banana'"},
                                    {"index=x", "no whole number"},
                                    {"index=-1", "no whole number"}}) {
    const auto response = world.get(std::string("/v1/event/stream?") + query);
    EXPECT_EQ(response.status, 400) << query;
    EXPECT_NE(response.body.find(text), std::string::npos) << response.body;
  }
}

TEST_F(EventStream, EndsForAReaderThatFellBehindWithAWord) {
  FakeBody slow, quick;
  follow("/v1/event/stream?topic=Node", slow);
  follow("/v1/event/stream?topic=Node", quick);
  slow.stuck = true;
  std::vector<tables::Change> many;
  const auto put_many = [](const tables::Tables&, const server::Context&) {
    server::Decision<server::Nothing> decision;
    for (int i = 1; i <= 5000; ++i) decision.changes.push_back(tables::PutNode{make_node(i)});
    return decision;
  };
  for (int i = 0; i < 4; ++i) world.apply(put_many);
  settle();
  EXPECT_EQ(ended, 0) << "it has not noticed: it does not read";
  slow.stuck = false;
  slow.unstuck.notify_all();
  settle();
  EXPECT_EQ(ended, 1);
  const auto lines = slow.lines();
  EXPECT_NE(std::string_view(lines.back().at("Error").as_string()).find("too slow"), std::string_view::npos);
  EXPECT_EQ(quick.events().size(), 20'000u) << "the others are told everything";
  for (const auto& line : quick.lines()) {
    if (const auto* events = line.as_object().if_contains("Events"))
      EXPECT_LE(events->as_array().size(), kEventsPerLine);
  }
}

TEST_F(EventStream, SaysAfterARestartFromWhereItIsWhole) {
  world.join(make_node(1));
  server::Server again(world.loop.executor(), world.store, world.clock, world.ids, World::options());
  Api api{again, world.api.agent, world.clock};
  http::Router router;
  add_routes(router, api);
  const auto response = world.loop.run_until_done(router.handle(World::request("GET", "/v1/event/stream?index=1")));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.find("X-Underway-Complete-From"), std::to_string(world.store.revision() + 1));
  FakeBody body;
  responses.push_back(std::make_unique<http::Response>(response));
  tasks.spawn("stream", run(*responses.back(), body));
  settle();
  EXPECT_EQ(body.text, "{}\n") << "what was is not told again";
  world.loop.run_until_done(tasks.stop());
  world.loop.run_until_done(again.stop());
}

TEST_F(EventStream, TellsManyTheSameWithoutLosingAnything) {
  std::vector<std::unique_ptr<FakeBody>> bodies;
  for (int i = 0; i < 40; ++i) {
    bodies.push_back(std::make_unique<FakeBody>());
    follow("/v1/event/stream?topic=Evaluation&index=999999", *bodies.back());
  }
  for (int i = 0; i < 50; ++i) world.run(make_job(fmt::format("job-{:02}", i)));
  const auto told_all = [&] {
    return std::all_of(bodies.begin(), bodies.end(), [&](const auto& body) {
      return body->text.size() == bodies.front()->text.size() && body->events().size() >= 50;
    });
  };
  server::testing::run_until(world.loop, told_all);
  for (const auto& body : bodies) EXPECT_EQ(body->events(), bodies.front()->events());
  world.loop.run_until_done(tasks.stop());
}

/// A world with ACL, and readers with tokens.
class EventAccess : public AccessTest {
 protected:
  explicit EventAccess() : tasks(world.loop.executor(), "test") { make_token("root", ""); }
  ~EventAccess() override { world.loop.run_until_done(tasks.stop()); }
  /// What there is to tell whoever has the token.
  std::string told(const std::string& token, const std::string& query) {
    world.token = token;
    auto response = world.get("/v1/event/stream?" + query);
    EXPECT_EQ(response.status, 200) << response.body;
    FakeBody body;
    tasks.spawn("stream", response.stream(body));
    world.loop.context().restart();
    world.loop.context().poll();
    tasks.cancel();
    world.loop.context().poll();
    return join(body.events(), "\n");
  }
  async::TaskGroup tasks;
};

model::HostVolume volume_of(const std::string& ns, const std::string& id) {
  model::HostVolume volume;
  volume.ns = ns;
  volume.id = id;
  volume.name = "data";
  volume.node_id = uuid(1);
  volume.deleting = true;
  return volume;
}

TEST_F(EventAccess, OfVolumesIsGivenToThoseWhoMayReadThem) {
  put(tables::Put<model::Namespace>{{.name = "physics"}});
  put(tables::put_record(volume_of("default", uuid(7))));
  put(tables::put_record(volume_of("physics", uuid(8))));
  const auto index = world.tables().revision();
  put(tables::delete_record<model::HostVolume>(uuid(8)));
  make_token("reader", R"(namespace "physics" { capabilities = ["host-volume-read"] })");
  make_token("jobs", R"(namespace "*" { capabilities = ["read-job"] })");
  const std::string ours = "HostVolume HostVolumeRegistered " + uuid(7);
  const std::string theirs = "HostVolume HostVolumeRegistered " + uuid(8);
  const std::string gone = "HostVolume HostVolumeDeleted " + uuid(8);
  EXPECT_EQ(told("root", "topic=HostVolume"), ours) << "of the default namespace";
  EXPECT_EQ(told("root", "topic=HostVolume&namespace=physics"), theirs + "\n" + gone);
  EXPECT_EQ(told("root", "topic=HostVolume&namespace=*"), ours + "\n" + theirs + "\n" + gone);
  EXPECT_EQ(told("root", "topic=HostVolume&namespace=*&index=" + std::to_string(index)), theirs + "\n" + gone);
  EXPECT_EQ(told("root", "topic=HostVolume:" + uuid(7) + "&namespace=*"), ours);
  EXPECT_EQ(told("root", "topic=HostVolume:data"), ours);
  EXPECT_EQ(told("root", "topic=HostVolume:" + uuid(2) + "&namespace=*"), "") << "another node";
  EXPECT_EQ(told("reader", "topic=HostVolume&namespace=*"), theirs + "\n" + gone);
  EXPECT_EQ(told("jobs", "topic=HostVolume&namespace=*"), "");
}

TEST_F(EventAccess, OfPoolsAndRightsIsGivenToThoseWhoMayReadThem) {
  model::NodePool pool;
  pool.name = "gpu";
  put(tables::put_record(pool));
  make_token("pools", R"(node_pool "gpu" { policy = "read" })");
  make_token("jobs", R"(namespace "*" { policy = "write" })");
  EXPECT_EQ(told("pools", "topic=NodePool&topic=ACLToken&topic=ACLPolicy"), "NodePool NodePoolUpserted gpu");
  EXPECT_EQ(told("jobs", "topic=NodePool&topic=ACLToken&topic=ACLPolicy"), "");
  EXPECT_EQ(told("root", "topic=ACLToken:accessor-of-jobs"), "ACLToken ACLTokenUpserted accessor-of-jobs");
  EXPECT_EQ(told("root", "topic=ACLPolicy"), "ACLPolicy ACLPolicyUpserted pools\nACLPolicy ACLPolicyUpserted jobs");
}

TEST_F(EventAccess, TellsNoSecretsAndNothingOfOursAlone) {
  model::AuthMethod method;
  method.name = "site";
  method.sealed = "c2VjcmV0";
  put(tables::put_record(method));
  put(tables::put_record(volume_of("default", uuid(7))));
  world.token = "root";
  const auto text_of = [&](const std::string& topic) {
    EventTexts texts;
    std::string text;
    const auto all = [&](const server::Event& event) { return describe::spell(event.topic) == topic; };
    auto reader = world.api.server.events().read_from(0);
    while (const auto batch = reader.next()) append_event_lines(text, batch, all, texts);
    return text;
  };
  const std::string token = text_of("ACLToken"), site = text_of("ACLAuthMethod"), volume = text_of("HostVolume");
  EXPECT_NE(token.find(R"("Payload":{"ACLToken":{)"), std::string::npos) << token;
  EXPECT_EQ(token.find("Secret"), std::string::npos) << token;
  EXPECT_NE(site.find(R"("Payload":{"AuthMethod":{)"), std::string::npos) << site;
  EXPECT_EQ(site.find("c2VjcmV0"), std::string::npos) << site;
  EXPECT_NE(volume.find(R"("Payload":{"Volume":{)"), std::string::npos) << volume;
  EXPECT_EQ(volume.find("Deleting"), std::string::npos) << volume;
}

}  // namespace
}  // namespace underway::api::testing
