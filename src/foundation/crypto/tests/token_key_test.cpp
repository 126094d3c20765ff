#include "crypto/token_key.hpp"

#include <unistd.h>
#include <boost/json/serialize.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "crypto/digest.hpp"
#include "testing.hpp"

namespace underway::crypto {
namespace {

using testing::HasSubstr;

std::int64_t at_seconds(TimePoint time) { return unix_nanos(time) / 1'000'000'000; }

/// To make one takes some hundred milliseconds: it serves all tests.
const TokenKey& rsa_key() {
  static const TokenKey key = TokenKey::rs256(PrivateKey::generate_rsa());
  return key;
}
const TokenKey& ed25519_key() {
  static const TokenKey key = TokenKey::eddsa(SigningKey::generate());
  return key;
}

struct TokenKeyTest : ::testing::Test {
  boost::json::object claims = {{"sub", "global:default:web:web:server"},
                                {"aud", {"nomadproject.io", "vault"}},
                                {"nbf", at_seconds(kNow)},
                                {"exp", at_seconds(kNow + 1h)}};
  std::vector<IssuerKey> keys = {rsa_key().verifying(), ed25519_key().verifying()};
  std::string why(const std::string& token, JwtExpectation expected = {.now = kNow}) const {
    return failure_of([&] { verify_jwt(token, keys, expected); });
  }
};

boost::json::object head_of_token(const std::string& token) {
  return boost::json::parse(base64url_decode(token.substr(0, token.find('.')))).as_object();
}

TEST_F(TokenKeyTest, SignsByEitherAlgorithmAndVerifiesBoth) {
  for (const auto* key : {&rsa_key(), &ed25519_key()}) {
    SCOPED_TRACE(key->algorithm());
    const std::string token = key->sign(claims);
    EXPECT_EQ(verify_jwt(token, keys, {.now = kNow, .audience = "vault"}), claims);
    const auto head = head_of_token(token);
    EXPECT_EQ(head.at("alg").as_string(), key->algorithm());
    EXPECT_EQ(head.at("kid").as_string(), key->id());
    EXPECT_THAT(why(token, {.now = kNow + 2h}), HasSubstr("it expired at"));
    EXPECT_THAT(why(token, {.now = kNow, .audience = "consul"}), HasSubstr("not for the audience 'consul'"));
  }
  EXPECT_EQ(rsa_key().algorithm(), "RS256");
  EXPECT_EQ(ed25519_key().algorithm(), "EdDSA");
}

TEST_F(TokenKeyTest, IsAJwkThatOthersRead) {
  const auto& jwk = rsa_key().jwk();
  EXPECT_EQ(jwk.at("kty").as_string(), "RSA");
  EXPECT_EQ(jwk.at("alg").as_string(), "RS256");
  EXPECT_EQ(jwk.at("use").as_string(), "sig");
  EXPECT_EQ(jwk.at("e").as_string(), "AQAB");
  const std::string modulus = base64url_decode(std::string_view(jwk.at("n").as_string()));
  ASSERT_EQ(modulus.size(), 256U) << "2048 bits, without a leading zero";
  EXPECT_GE(static_cast<unsigned char>(modulus[0]), 0x80);
  EXPECT_EQ(jwk.at("kid").as_string(), rsa_key().id());
  // As strangers verify: by the key set alone, with the other half of this library.
  const auto issued =
      parse_issuer_keys(boost::json::serialize(boost::json::object{{"keys", {jwk, ed25519_key().jwk()}}}));
  ASSERT_EQ(issued.size(), 2U);
  for (const auto* key : {&rsa_key(), &ed25519_key()}) {
    const ForeignTokenExpectation expected{.now = kNow, .algorithms = {key->algorithm()}};
    EXPECT_EQ(verify_foreign_token(key->sign(claims), issued, expected), claims);
  }
}

TEST_F(TokenKeyTest, HasTheThumbprintOfRfc7638) {
  // Section 3.1: its key set, and what it says that is.
  const auto published = parse_issuer_keys(
      R"({"keys":[{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB"}]})");
  ASSERT_EQ(published.size(), 1U);
  EXPECT_EQ(rsa_thumbprint(published[0]), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

TEST_F(TokenKeyTest, RefusesAnAlgorithmThatIsNotItsKeys) {
  const std::string token = rsa_key().sign(claims);
  const std::size_t dot = token.find('.');
  const auto forged = [&](const char* algorithm, const std::string& id) {
    const auto head = boost::json::serialize(boost::json::object{{"alg", algorithm}, {"kid", id}});
    return base64url_encode(head) + token.substr(dot);
  };
  EXPECT_THAT(why(forged("EdDSA", rsa_key().id())), HasSubstr("signed with 'EdDSA' and not with RS256"));
  EXPECT_THAT(why(forged("HS256", rsa_key().id())), HasSubstr("signed with 'HS256'"));
  EXPECT_THAT(why(forged("none", rsa_key().id())), HasSubstr("signed with 'none'"));
  EXPECT_THAT(why(forged("RS256", ed25519_key().id())), HasSubstr("signed with 'RS256' and not with EdDSA"));
  EXPECT_THAT(why(forged("RS256", "other")), HasSubstr("its key 'other' is not known here"));
  EXPECT_THAT(why(forged("RS256", rsa_key().id())), HasSubstr("its signature does not fit")) << "its head was changed";
  boost::json::object greedy = claims;
  greedy["sub"] = "another";
  EXPECT_THAT(
      why(token.substr(0, dot + 1) + base64url_encode(boost::json::serialize(greedy)) + token.substr(token.rfind('.'))),
      HasSubstr("its signature does not fit"));
}

TEST_F(TokenKeyTest, TakesNoKeyThatIsTooWeak) {
  EXPECT_THAT(failure_of([] { TokenKey::rs256(PrivateKey::generate()); }), HasSubstr("cannot sign as 'RS256'"));
}

TEST_F(TokenKeyTest, IsKeptAsItsPem) {
  const TokenKey again = TokenKey::rs256(PrivateKey::from_pem(rsa_key().pem().bytes()));
  EXPECT_EQ(again.id(), rsa_key().id());
  EXPECT_EQ(verify_jwt(again.sign(claims), keys, {.now = kNow}), claims);
  EXPECT_TRUE(ed25519_key().pem().empty()) << "it follows from the root key";
}

/// Somebody else's program: it gets the public key, the signed text and the signature, and no word of ours.
TEST_F(TokenKeyTest, IsVerifiedByOpenSSLsOwnCommand) {
  if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no openssl command here";
  char name[] = "/tmp/underway-token-XXXXXX";
  const std::string directory = ::mkdtemp(name);
  const auto write = [&](const char* file, std::string_view bytes) {
    std::ofstream(directory + "/" + file, std::ios::binary) << bytes;
  };
  const std::string token = rsa_key().sign(claims);
  const std::size_t last = token.rfind('.');
  write("key.pem", rsa_key().pem().bytes());
  write("signed", token.substr(0, last));
  write("signature", base64url_decode(token.substr(last + 1)));
  const auto run = [&](const std::string& arguments) {
    return std::system(("cd " + directory + " && openssl " + arguments + " >/dev/null 2>&1").c_str());
  };
  EXPECT_EQ(run("pkey -in key.pem -pubout -out public.pem"), 0);
  EXPECT_EQ(run("dgst -sha256 -verify public.pem -signature signature signed"), 0);
  write("signed", token.substr(0, last) + " ");
  EXPECT_NE(run("dgst -sha256 -verify public.pem -signature signature signed"), 0) << "it was changed";
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace underway::crypto
