// Who gets to see the secret of a token.
#include <gmock/gmock.h>

#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text(const boost::json::value& value, const char* key) {
  return std::string(std::string_view(value.at(key).as_string()));
}

class TokenSecrets : public AccessTest {
 protected:
  explicit TokenSecrets(bool readable = false) : AccessTest({.acl = true, .readable_token_secrets = readable}) {
    make_token("boss", "");
    make_token("anna", "namespace \"default\" { policy = \"read\" }");
    world.token = "boss";
  }
  struct Made {
    std::string accessor, secret;
  };
  Made make(std::string body = R"({"Name": "ci", "Type": "client", "Policies": ["anna"]})") {
    const auto made = json::parse(world.put("/v1/acl/token", std::move(body)).body);
    return {std::string(made.at("AccessorID").as_string()), std::string(made.at("SecretID").as_string())};
  }
  std::string read(const std::string& accessor) { return world.get("/v1/acl/token/" + accessor).body; }
  /// Everything that the store holds.
  std::string stored() {
    std::string out;
    for (const auto& kv : world.store.range(store::KeyRange::prefix("")).key_values) out += kv.value;
    return out;
  }
};

TEST_F(TokenSecrets, OfClientTokensCanBeBroughtAlong) {
  const std::string accessor = "b306571d-a3fa-42d2-ac5b-bbe49d8c3c7f", secret = "c28ba0f6-ab8d-4e4d-b9f0-7f9f5d1c2e3a";
  const auto upload = [&](const std::string& type, const std::string& by) {
    return world.put("/v1/acl/token/" + accessor, fmt::format(R"({{"SecretID": "{}", "Name": "moved", "Type": "{}",
        "Policies": {}}})",
                                                              by, type, type == "client" ? R"(["anna"])" : "[]"));
  };
  const auto management = upload("management", secret);
  EXPECT_EQ(management.status, 400);
  EXPECT_THAT(management.body, HasSubstr("cannot upload management tokens"));
  EXPECT_EQ(upload("client", "short").status, 400);
  const auto made = upload("client", secret);
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(text(json::parse(made.body), "AccessorID"), accessor);
  EXPECT_EQ(text(json::parse(made.body), "SecretID"), secret);
  // It is there now: another secret changes nothing, and is not told as its own.
  const std::string other = "00000000-ab8d-4e4d-b9f0-7f9f5d1c2e3a";
  EXPECT_THAT(upload("client", other).body, Not(HasSubstr(other)));
  world.token = secret;
  EXPECT_EQ(text(world.read("/v1/acl/token/self"), "AccessorID"), accessor);
  world.token = other;
  EXPECT_EQ(status("GET", "/v1/acl/token/self"), 403);
  // Nor can a token be made over the secret of another.
  world.token = "boss";
  EXPECT_EQ(
      world
          .put("/v1/acl/token/a306571d-a3fa-42d2-ac5b-bbe49d8c3c7f",
               fmt::format(R"({{"SecretID": "{}", "Name": "x", "Type": "client", "Policies": ["anna"]}})", secret))
          .status,
      409);
}

class ReadableTokenSecrets : public TokenSecrets {
 protected:
  ReadableTokenSecrets() : TokenSecrets(true) {}
};

TEST_F(TokenSecrets, AreToldOnceAndKeptAsTheirHash) {
  const auto made = make();
  EXPECT_THAT(read(made.accessor), Not(HasSubstr(made.secret)));
  EXPECT_THAT(stored(), Not(HasSubstr(made.secret)));
}

TEST_F(TokenSecrets, AreToldToWhoShowsThem) {
  const auto made = make();
  world.token = made.secret;
  EXPECT_EQ(text(world.read("/v1/acl/token/self"), "SecretID"), made.secret);
}

TEST_F(TokenSecrets, ComeFromNoClient) {
  const auto made =
      make(R"({"Name": "x", "Type": "management", "SecretHash": "h", "Sealed": "AAAA", "SealedBy": "k"})");
  world.token = made.secret;
  const auto self = world.get("/v1/acl/token/self");
  EXPECT_EQ(self.status, 200);
  for (const char* kept : {"SecretHash", "Sealed"}) EXPECT_THAT(self.body, Not(HasSubstr(kept)));
  EXPECT_THAT(stored(), Not(HasSubstr("AAAA")));
}

TEST_F(ReadableTokenSecrets, AreReadAgainByManagementAlone) {
  const auto made = make();
  EXPECT_EQ(text(json::parse(read(made.accessor)), "SecretID"), made.secret);
  EXPECT_THAT(world.get("/v1/acl/tokens").body, Not(HasSubstr(made.secret))) << "lists are looked at over shoulders";
  EXPECT_THAT(stored(), Not(HasSubstr(made.secret))) << "it is sealed";
  EXPECT_THAT(read("accessor-of-boss"), Not(HasSubstr("SecretID"))) << "that one was made before";
  world.token = "anna";
  EXPECT_EQ(status("GET", "/v1/acl/token/" + made.accessor), 403);
  EXPECT_THAT(read("accessor-of-anna"), Not(HasSubstr("SecretID")));
}

TEST_F(ReadableTokenSecrets, SurviveAChangeOfTheTokenAndOfTheRootKey) {
  const auto made = make();
  const std::string target = "/v1/acl/token/" + made.accessor;
  ASSERT_EQ(world.put(target, R"({"Name": "renamed", "Type": "client", "Policies": ["anna"]})").status, 200);
  const std::string old = world.server.keyring().active_id();
  ASSERT_EQ(world.put("/v1/operator/keyring/rotate", "").status, 200);
  const auto refused = world.send("DELETE", "/v1/operator/keyring/key/" + old);
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("the secret of token " + made.accessor));
  EXPECT_EQ(world.send("DELETE", "/v1/operator/keyring/key/" + old + "?force=true").status, 200) << "nothing is lost";
  EXPECT_EQ(text(json::parse(read(made.accessor)), "SecretID"), made.secret);
  EXPECT_EQ(text(json::parse(read(made.accessor)), "Name"), "renamed");
}

TEST_F(ReadableTokenSecrets, CountForTheFirstTokenToo) {
  const auto made = json::parse(world.send("POST", "/v1/acl/bootstrap").body);
  const auto again = json::parse(read(std::string(made.at("AccessorID").as_string())));
  EXPECT_EQ(text(again, "SecretID"), text(made, "SecretID"));
}

}  // namespace
}  // namespace underway::api::testing
