#include "crypto/sign.hpp"

#include <boost/json/serialize.hpp>

#include "crypto/digest.hpp"
#include "testing.hpp"

namespace underway::crypto {
namespace {

using testing::HasSubstr;

std::int64_t after_seconds(TimePoint time) { return unix_nanos(time) / 1'000'000'000; }

/// RFC 8037, appendix A.1.
SigningKey published_key() {
  return SigningKey::from_seed(Secret(base64url_decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")));
}

struct SignTest : testing::Test {
  SigningKey key = SigningKey::generate();
  std::vector<VerifyingKey> keys = {published_key().verifying(), key.verifying()};
  boost::json::object claims = {{"sub", "global:default:web:web:server"},
                                {"iss", "https://mgmt:4646"},
                                {"aud", {"nomadproject.io", "vault"}},
                                {"nbf", after_seconds(kNow)},
                                {"exp", after_seconds(kNow + 1h)}};
  std::string why(const std::string& token, JwtExpectation expected = {.now = kNow}) const {
    return failure_of([&] { verify_jwt(token, keys, expected); });
  }
};

TEST(Ed25519, GivesThePublishedAnswers) {
  const SigningKey key = published_key();
  EXPECT_EQ(base64url_encode(key.verifying().bytes), "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
  EXPECT_EQ(key.verifying().id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");  // A.3
  const std::string message = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  EXPECT_EQ(base64url_encode(key.sign(message)),
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");  // A.4
  EXPECT_TRUE(verify(key.verifying(), message, key.sign(message)));
}

TEST(Ed25519, RefusesEveryFlippedBit) {
  const SigningKey key = published_key();
  const std::string signature = key.sign("manifest");
  for (std::size_t bit = 0; bit < signature.size() * 8; ++bit) {
    std::string changed = signature;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(verify(key.verifying(), "manifest", changed)) << bit;
  }
  EXPECT_FALSE(verify(key.verifying(), "manifesT", signature));
  EXPECT_FALSE(verify(SigningKey::generate().verifying(), "manifest", signature));
  EXPECT_FALSE(verify(key.verifying(), "manifest", ""));
  EXPECT_FALSE(verify({.bytes = "short"}, "manifest", signature));
}

TEST(Ed25519, IsKeptAsItsSeed) {
  const SigningKey key = SigningKey::generate();
  EXPECT_EQ(SigningKey::from_seed(key.seed()).verifying(), key.verifying());
  EXPECT_THAT(failure_of([] { SigningKey::from_seed(Secret("short")); }), HasSubstr("invalid: "));
}

TEST_F(SignTest, ATokenGoesThereAndBack) {
  const std::string token = sign_jwt(key, claims);
  EXPECT_EQ(verify_jwt(token, keys, {.now = kNow, .issuer = "https://mgmt:4646", .audience = "vault"}), claims);
  const auto head = base64url_decode(token.substr(0, token.find('.')));
  EXPECT_EQ(head, fmt::format(R"({{"alg":"EdDSA","kid":"{}","typ":"JWT"}})", key.verifying().id()));
}

TEST_F(SignTest, SaysWhyATokenIsRefused) {
  const std::string token = sign_jwt(key, claims);
  EXPECT_THAT(why(token, {.now = kNow + 1h + 11s}), HasSubstr("it expired at 2023-11-14T23:13:20Z"));
  EXPECT_EQ(why(token, {.now = kNow + 1h + 9s}), "");
  EXPECT_THAT(why(token, {.now = kNow - 11s}), HasSubstr("it is valid from 2023-11-14T22:13:20Z only"));
  EXPECT_THAT(why(token, {.now = kNow, .issuer = "other"}), HasSubstr("its issuer is 'https://mgmt:4646'"));
  EXPECT_THAT(why(token, {.now = kNow, .audience = "consul"}), HasSubstr("not for the audience 'consul'"));
  EXPECT_THAT(why(sign_jwt(SigningKey::generate(), claims)), HasSubstr("is not known here"));
}

TEST_F(SignTest, RefusesWhatWasNotSignedSo) {
  const std::string token = sign_jwt(key, claims);
  const std::size_t dot = token.find('.'), second = token.rfind('.');
  boost::json::object greedy = claims;
  greedy["sub"] = "another";
  const std::string forged = base64url_encode(boost::json::serialize(greedy));
  EXPECT_THAT(why(token.substr(0, dot + 1) + forged + token.substr(second)), HasSubstr("its signature does not fit"));
  const std::string none = base64url_encode(R"({"alg":"none"})");
  EXPECT_THAT(why(none + token.substr(dot, second + 1 - dot)), HasSubstr("signed with 'none'"));
  // A public key used as the secret of an HMAC: the classic confusion.
  const std::string hmac = base64url_encode(R"({"alg":"HS256"})") + token.substr(dot, second - dot);
  EXPECT_THAT(why(hmac + "." + base64url_encode(hmac_sha256(key.verifying().bytes, hmac))),
              HasSubstr("signed with 'HS256'"));
}

TEST_F(SignTest, RefusesWhatIsNoToken) {
  for (const std::string& token : {std::string(), std::string("a.b"), std::string("a.b.c"), std::string("..."),
                                   std::string(20'000, 'a'), base64url_encode("[]") + ".e30.AA"}) {
    EXPECT_THAT(why(token), HasSubstr("denied: the token is not valid")) << token.substr(0, 20);
  }
  EXPECT_THAT(why(sign_jwt(key, {{"exp", "soon"}})), HasSubstr("its 'exp' is no number"));
  EXPECT_THAT(why(sign_jwt(key, {{"exp", 1e300}})), HasSubstr("its 'exp' is no time"));
}

TEST_F(SignTest, AKeySetIsReadBack) {
  const std::string text = boost::json::serialize(to_jwks(keys));
  EXPECT_EQ(parse_jwks(text), keys);
  EXPECT_TRUE(parse_jwks(R"({"keys":[{"kty":"RSA","n":"AQ","e":"AQAB"}]})").empty());
  for (const char* wrong : {"[]", "{}", R"({"keys":{}})", R"({"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]})"}) {
    EXPECT_THAT(failure_of([&] { parse_jwks(wrong); }), HasSubstr("invalid: ")) << wrong;
  }
}

}  // namespace
}  // namespace underway::crypto
