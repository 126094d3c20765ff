#include <gtest/gtest.h>

#include "api/testing/world.hpp"

namespace underway::api::testing {
namespace {

const std::string kTarget = "/v1/var/nomad/jobs/web";

std::string body(const std::string& value, const std::string& more = {}) {
  return "{\"Items\":{\"password\":\"" + value + "\"}" + more + "}";
}

std::string text(const boost::json::value& value) { return std::string(std::string_view(value.as_string())); }

std::string index_of(const boost::json::value& variable) {
  return std::to_string(variable.at("ModifyIndex").to_number<std::int64_t>());
}

TEST(Variable, IsWrittenReadListedAndDeleted) {
  World world;
  const auto response = world.put(kTarget, body("hunter2"));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(text(json::parse(response.body).at("Items").at("password")), "hunter2");
  const auto read = world.read(kTarget);
  EXPECT_EQ(text(read.at("Path")), "nomad/jobs/web");
  EXPECT_EQ(text(read.at("Namespace")), "default");
  EXPECT_EQ(text(read.at("Items").at("password")), "hunter2");
  const auto list = world.get("/v1/vars?prefix=nomad/jobs");
  EXPECT_EQ(json::parse(list.body).as_array().size(), 1U);
  EXPECT_EQ(list.body.find("hunter2"), std::string::npos);
  EXPECT_EQ(world.read("/v1/vars?prefix=other").as_array().size(), 0U);
  EXPECT_EQ(world.send("DELETE", kTarget).status, 204);
  const auto gone = world.get(kTarget);
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.body, "variable not found");
}

TEST(Variable, WrittenWithAnOldIndexIsAConflictThatShowsTheOther) {
  World world;
  const auto first = json::parse(world.put(kTarget + "?cas=0", body("first")).body);
  ASSERT_EQ(world.put(kTarget + "?cas=" + index_of(first), body("second")).status, 200);
  const auto late = world.put(kTarget + "?cas=" + index_of(first), body("late"));
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(text(json::parse(late.body).at("Items").at("password")), "second");
  EXPECT_EQ(world.put(kTarget + "?cas=0", body("new")).status, 409);
  EXPECT_EQ(world.send("DELETE", kTarget + "?cas=1").status, 409);
  EXPECT_EQ(world.put(kTarget + "?cas=minus", body("x")).status, 400);
}

TEST(Variable, IsOfOneNamespace) {
  World world;
  world.put(kTarget + "?namespace=a", body("in a"));
  world.put(kTarget, body("in b", ",\"Namespace\":\"b\""));
  EXPECT_EQ(world.get(kTarget).status, 404);
  EXPECT_EQ(text(world.read(kTarget + "?namespace=b").at("Items").at("password")), "in b");
  EXPECT_EQ(world.read("/v1/vars?namespace=*").as_array().size(), 2U);
  EXPECT_EQ(world.read("/v1/vars?namespace=a").as_array().size(), 1U);
  EXPECT_EQ(world.put(kTarget + "?namespace=*", body("x")).status, 400);
}

TEST(Variable, IsRefusedInWordsThatDoNotQuoteIt) {
  World world;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {kTarget, "{}"},
      {kTarget, "{\"Items\":{}}"},
      {kTarget, "{\"Items\":[\"hunter2\"]}"},
      {kTarget, "{\"Items\":{\"password\":{\"hunter2\":1}}}"},
      {kTarget, "{\"Items\":{\"password\":\"hunter2\"}"},
      {kTarget, body("hunter2", ",\"Path\":\"another\"")},
      {"/v1/var/nomad/other", body("hunter2")},
      {"/v1/var/a%20b", body("hunter2")}};
  for (const auto& [target, sent] : cases) {
    SCOPED_TRACE(sent);
    const auto response = world.put(target, sent);
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_EQ(response.body.find("hunter2"), std::string::npos) << response.body;
  }
  EXPECT_EQ(world.read("/v1/vars").as_array().size(), 0U);
}

TEST(Variable, IsWaitedForByABlockingQuery) {
  World world;
  const auto first = json::parse(world.put(kTarget, body("one")).body);
  std::optional<http::Response> seen;
  const auto wait = [&]() -> async::awaitable<void> {
    seen = co_await world.router.handle(World::request("GET", kTarget + "?wait=1m&index=" + index_of(first)));
  };
  async::TaskGroup group(world.loop.executor(), "reader");
  group.spawn("wait", wait());
  world.put("/v1/var/other", body("x"));
  EXPECT_FALSE(seen);
  world.put(kTarget, body("two"));
  world.loop.run_until_done(group.wait());
  ASSERT_TRUE(seen);
  EXPECT_EQ(text(json::parse(seen->body).at("Items").at("password")), "two");
}

TEST(Variable, IsLockedRenewedWrittenByItsHolderAndReleased) {
  World world;
  const auto held = world.put(kTarget + "?lock-acquire", "{\"Lock\":{\"TTL\":\"20s\",\"LockDelay\":\"10s\"}}");
  ASSERT_EQ(held.status, 200) << held.body;
  const auto lock = json::parse(held.body).at("Lock");
  EXPECT_EQ(text(lock.at("TTL")), "20s");
  const std::string mine = ",\"Lock\":{\"ID\":\"" + text(lock.at("ID")) + "\"}";
  const std::string only = "{" + mine.substr(1) + "}";
  EXPECT_EQ(world.put(kTarget, body("stranger")).status, 409);
  EXPECT_EQ(world.put(kTarget + "?lock-acquire", "{\"Lock\":{}}").status, 409);
  EXPECT_EQ(world.put(kTarget + "?lock-renew", only).status, 200);
  EXPECT_EQ(world.put(kTarget, body("holder", mine)).status, 200);
  EXPECT_EQ(world.put(kTarget + "?lock-release", "{\"Lock\":{\"ID\":\"guess\"}}").status, 409);
  for (const auto& target : {kTarget, std::string("/v1/vars")})
    EXPECT_EQ(world.get(target).body.find(text(lock.at("ID"))), std::string::npos) << target;
  EXPECT_EQ(world.put(kTarget + "?lock-release", only).status, 200);
  EXPECT_EQ(world.put(kTarget, body("anyone")).status, 200);
}

TEST(Variables, ComeInPages) {
  World world;
  for (const char* name : {"a", "b", "c"}) world.put(std::string("/v1/var/") + name, body("x"));
  const auto first = world.get("/v1/vars?per_page=2");
  EXPECT_EQ(json::parse(first.body).as_array().size(), 2U);
  const auto next = std::string(first.headers.find("X-Nomad-NextToken").value_or(""));
  EXPECT_EQ(world.read("/v1/vars?per_page=2&next_token=" + next).as_array().size(), 1U);
}

TEST(RootKeys, AreListedRotatedAndRemovedWhenNothingIsUnderThem) {
  World world;
  world.put(kTarget, body("hunter2"));
  const auto before = world.read("/v1/operator/keyring/keys").as_array();
  ASSERT_EQ(before.size(), 1U);
  const std::string old = text(before[0].at("KeyID"));
  EXPECT_EQ(world.put("/v1/operator/keyring/rotate", "").status, 200);
  EXPECT_EQ(world.send("DELETE", "/v1/operator/keyring/key/" + old).status, 409);
  EXPECT_EQ(world.put("/v1/operator/keyring/rotate?full=true", "").status, 200);
  EXPECT_EQ(world.send("DELETE", "/v1/operator/keyring/key/" + old).status, 200);
  EXPECT_EQ(world.send("DELETE", "/v1/operator/keyring/key/" + old).status, 404);
  // A key that others shall know before it is used.
  const std::string at = std::to_string(unix_nanos(world.clock.now() + std::chrono::hours(1)));
  const auto waiting = json::parse(world.put("/v1/operator/keyring/rotate?publish_time=" + at, "").body).at("Key");
  EXPECT_EQ(waiting.at("State").as_string(), "prepublished");
  EXPECT_EQ(std::to_string(waiting.at("PublishTime").as_int64()), at);
  for (const auto& wrong :
       {std::string("publish_time=1"), std::string("publish_time=soon"), "full=true&publish_time=" + at})
    EXPECT_EQ(world.put("/v1/operator/keyring/rotate?" + wrong, "").status, 400) << wrong;
  EXPECT_EQ(text(world.read(kTarget).at("Items").at("password")), "hunter2");
}

TEST(WellKnown, KeysVerifyAndDiscoveryNeedsAnIssuer) {
  World world;
  const auto keys = world.read("/.well-known/jwks.json").at("keys").as_array();
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(text(keys[0].at("kty")), "OKP");
  EXPECT_EQ(world.get("/.well-known/openid-configuration").status, 404);
}

TEST(WellKnown, ARotatedKeyVerifiesByRs256) {
  World world;
  EXPECT_EQ(world.put("/v1/operator/keyring/rotate", "").status, 200);
  const auto keys = world.read("/.well-known/jwks.json").at("keys").as_array();
  ASSERT_EQ(keys.size(), 3U) << "of the old root key and both of the new one";
  const auto& first = keys[0].as_object();
  for (const auto& [name, value] :
       {std::pair("kty", "RSA"), std::pair("alg", "RS256"), std::pair("use", "sig"), std::pair("e", "AQAB")})
    EXPECT_EQ(text(first.at(name)), value) << name;
  EXPECT_EQ(text(first.at("kid")), world.server.keyring().signing().id());
  const std::int64_t now = unix_nanos(world.clock.now()) / 1'000'000'000;
  const std::string token =
      world.server.keyring().signing().sign({{"sub", "t"}, {"iat", now}, {"nbf", now}, {"exp", now + 3600}});
  const auto issued = crypto::parse_issuer_keys(world.get("/.well-known/jwks.json").body);
  EXPECT_EQ(text(crypto::verify_foreign_token(token, issued, {.now = world.clock.now()}).at("sub")), "t");
}

TEST(WellKnown, DiscoverySaysWhereTheKeysAreAndHowTheySign) {
  auto how = World::options();
  how.oidc_issuer = "https://mgmt:4646";
  World world({}, std::move(how));
  const auto found = world.read("/.well-known/openid-configuration");
  EXPECT_EQ(text(found.at("issuer")), "https://mgmt:4646");
  EXPECT_EQ(text(found.at("jwks_uri")), "https://mgmt:4646/.well-known/jwks.json");
  EXPECT_EQ(boost::json::serialize(found.at("id_token_signing_alg_values_supported")), R"(["RS256","EdDSA"])");
  EXPECT_EQ(boost::json::serialize(found.at("response_types_supported")), R"(["code"])");
  EXPECT_EQ(boost::json::serialize(found.at("subject_types_supported")), R"(["public"])");
}

}  // namespace
}  // namespace underway::api::testing
