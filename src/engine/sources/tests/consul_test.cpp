// Consul, played by answers that version 1.8.7 gave (`consul agent -dev`, one service with a TTL check, some keys; what
// only counts, as indexes do, is each test's own).
#include "sources/consul.hpp"
#include "fake_environment.hpp"
#include "sources/paths.hpp"

namespace underway::sources {
namespace {

using gotemplate::ForeignKind;
using gotemplate::ForeignQuery;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

http::Response indexed(std::string body, std::uint64_t index, int status = 200) {
  auto response = http::json(std::move(body), status);
  response.headers.set("X-Consul-Index", std::to_string(index));
  return response;
}

constexpr const char* kHealth =
    R"([{"Node":{"ID":"ce28a2b5-759a-11b6-402a-8ab84925fd54","Node":"host1","Address":"127.0.0.1","Datacenter":"dc1",
  "TaggedAddresses":{"lan":"127.0.0.1","lan_ipv4":"127.0.0.1","wan":"127.0.0.1","wan_ipv4":"127.0.0.1"},
  "Meta":{"consul-network-segment":""},"CreateIndex":11,"ModifyIndex":12},
 "Service":{"ID":"web-1","Service":"web","Tags":["v2","primary"],"Address":"","Meta":{"version":"2"},"Port":8080,
  "Weights":{"Passing":1,"Warning":1},"EnableTagOverride":false,"Proxy":{"MeshGateway":{},"Expose":{}},"Connect":{},
  "CreateIndex":14,"ModifyIndex":14},
 "Checks":[{"Node":"host1","CheckID":"serfHealth","Name":"Serf Health Status","Status":"passing","Notes":"",
   "Output":"Agent alive and reachable","ServiceID":"","ServiceName":"","ServiceTags":[],"Type":"","Definition":{},
   "CreateIndex":11,"ModifyIndex":11},
  {"Node":"host1","CheckID":"service:web-1","Name":"Service 'web' check","Status":"warning","Notes":"n","Output":"",
   "ServiceID":"web-1","ServiceName":"web","ServiceTags":["v2","primary"],"Type":"ttl","Definition":{},
   "CreateIndex":14,"ModifyIndex":14}]}])";

class ConsulTest : public ::testing::Test {
 protected:
  ConsulTest() {
    auto fake = std::make_unique<FakeEnvironment>();
    environment = fake.get();
    ConsulSettings settings;
    settings.access.token_file = "/token";
    consul = std::make_unique<Consul>(environment->loop.executor(), std::move(fake), settings);
  }
  ~ConsulTest() override {
    token.reset();
    environment->loop.run_until_done(consul->stop());
    environment->settle();
  }
  gotemplate::ForeignReply watch(const ForeignQuery& query) {
    token = consul->watch({query}, [this] { ++changes; });
    environment->settle();
    return consul->find(query);
  }

  FakeEnvironment* environment;
  std::unique_ptr<Consul> consul;
  std::shared_ptr<void> token;
  int changes = 0;
};

TEST_F(ConsulTest, InstancesHaveTheWorstOfTheirChecks) {
  const ForeignQuery query{
      .kind = ForeignKind::service, .name = "web", .datacenter = "dc1", .near = "_agent", .passing = false};
  environment->answers["GET /v1/health/service/web?dc=dc1&near=_agent"] = {indexed(kHealth, 14)};
  const auto reply = watch(query);
  ASSERT_TRUE(reply.answer);
  ASSERT_EQ(reply.answer->instances.size(), 1U);
  const auto& instance = reply.answer->instances[0];
  EXPECT_EQ(instance.node, "host1");
  EXPECT_EQ(instance.address, "127.0.0.1");  // the service has none of its own
  EXPECT_EQ(instance.port, 8080);
  EXPECT_EQ(instance.status, "warning");
  EXPECT_EQ(instance.meta.at("version"), "2");
  EXPECT_THAT(instance.tags, ElementsAre("primary", "v2"));
  EXPECT_EQ(instance.checks.size(), 2U);
  EXPECT_EQ(environment->header("/v1/health", "X-Consul-Token"), "site-token");
}

TEST_F(ConsulTest, AKeyIsFollowedByItsIndex) {
  const ForeignQuery query{.kind = ForeignKind::key, .name = "app/x"};
  const char* first = R"([{"LockIndex":0,"Key":"app/x","Flags":7,"Value":"b25l","CreateIndex":20,"ModifyIndex":20}])";
  const char* second = R"([{"LockIndex":0,"Key":"app/x","Flags":7,"Value":"dHdv","CreateIndex":20,"ModifyIndex":31}])";
  environment->answers["GET /v1/kv/app/x"] = {indexed(first, 20), indexed(first, 20), indexed(second, 31),
                                              indexed("", 5, 404)};
  EXPECT_EQ(watch(query).answer->pairs.at(0).value, "one");
  EXPECT_EQ(changes, 1);
  environment->pass(1s);
  EXPECT_EQ(environment->asked("index=20&wait=60s"), 1U);
  environment->changed.notify_all();  // its time is over, and nothing has changed
  environment->settle();
  EXPECT_EQ(changes, 1);
  environment->pass(1s);
  environment->changed.notify_all();
  environment->settle();
  EXPECT_EQ(changes, 2);
  EXPECT_EQ(consul->find(query).answer->pairs.at(0).value, "two");
  environment->pass(1s);
  environment->changed.notify_all();
  environment->settle();
  EXPECT_EQ(consul->find(query).answer->pairs.size(), 0U);
  environment->pass(1s);  // its index has gone back: from the beginning
  EXPECT_EQ(environment->requests.back().target, "/v1/kv/app/x");
}

TEST_F(ConsulTest, WhileItIsDownTheReasonIsToldAndWhatWasKnownStays) {
  const ForeignQuery query{.kind = ForeignKind::keys, .name = "app"};
  environment->down = "Connection refused";
  EXPECT_THAT(watch(query).why, HasSubstr("cannot connect to http://there: Connection refused"));
  EXPECT_EQ(changes, 1);
  environment->pass(2s);
  EXPECT_EQ(changes, 1);  // the same reason again is no news
  environment->down.clear();
  environment->answers["GET /v1/kv/app/?recurse=true"] = {
      indexed(R"([{"LockIndex":0,"Key":"app/x","Flags":0,"Value":"b25l","CreateIndex":20,"ModifyIndex":20},
                  {"LockIndex":0,"Key":"app/y/","Flags":0,"Value":null,"CreateIndex":21,"ModifyIndex":21}])",
              21)};
  environment->pass(1min);
  EXPECT_EQ(changes, 2);
  EXPECT_EQ(consul->find(query).answer->pairs.size(), 2U);
  environment->down = "Connection refused";
  environment->changed.notify_all();
  environment->pass(1min);
  EXPECT_EQ(consul->find(query).answer->pairs.size(), 2U);
  EXPECT_EQ(changes, 2);
}

TEST_F(ConsulTest, ServicesAreSorted) {
  environment->answers["GET /v1/catalog/services"] = {indexed(R"({"consul":[],"web":["v2","primary"]})", 3)};
  const auto reply = watch({.kind = ForeignKind::services});
  ASSERT_TRUE(reply.answer);
  EXPECT_EQ(reply.answer->services.at(0).name, "consul");
  EXPECT_THAT(reply.answer->services.at(1).tags, ElementsAre("primary", "v2"));
}

TEST_F(ConsulTest, ARefusalAndNonsenseAreReasons) {
  const ForeignQuery query{.kind = ForeignKind::key, .name = "app/x"};
  environment->answers["GET /v1/kv/app/x"] = {indexed("Permission denied", 0, 403), indexed("<html>", 1),
                                              indexed("{}", 1)};
  EXPECT_THAT(watch(query).why, HasSubstr("Consul answers 403: Permission denied"));
  environment->pass(1s);
  EXPECT_THAT(consul->find(query).why, HasSubstr("JSON"));
  environment->pass(1min);
  EXPECT_THAT(consul->find(query).why, HasSubstr("it is no list"));
}

TEST_F(ConsulTest, WhatNobodyAsksAnyMoreIsForgotten) {
  const ForeignQuery query{.kind = ForeignKind::key, .name = "app/x"};
  environment->answers["GET /v1/kv/app/x"] = {indexed(R"([{"Key":"app/x","Value":"b25l"}])", 20)};
  EXPECT_TRUE(watch(query).answer);
  token.reset();
  environment->settle();
  EXPECT_FALSE(consul->find(query).answer);
  const auto asked = environment->requests.size();
  environment->pass(1h);
  EXPECT_EQ(environment->requests.size(), asked);
}

TEST(Paths, DoNotLeadElsewhere) {
  EXPECT_EQ(url_path("app/a b/ü?x#y"), "app/a%20b/%C3%BC%3Fx%23y");
  for (const char* bad : {"../agent/self", "a/../b", "a//b", "a/.", "a\nb", ""})
    EXPECT_THROW(url_path(bad), Error) << bad;
}

}  // namespace
}  // namespace underway::sources
