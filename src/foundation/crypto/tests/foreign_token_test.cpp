#include "crypto/foreign_token.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <boost/json/serialize.hpp>

#include "crypto/digest.hpp"
#include "crypto/sign.hpp"
#include "testing.hpp"

namespace underway::crypto {
namespace {

using testing::HasSubstr;

std::int64_t seconds(TimePoint time) { return unix_nanos(time) / 1'000'000'000; }

std::string pem_of(EVP_PKEY* key, bool is_public) {
  BIO* bio = ::BIO_new(::BIO_s_mem());
  if (is_public)
    ::PEM_write_bio_PUBKEY(bio, key);
  else
    ::PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long size = ::BIO_get_mem_data(bio, &text);
  std::string out(text, static_cast<std::size_t>(size));
  ::BIO_free(bio);
  return out;
}

/// Key pairs are dear: one of each kind serves all tests.
struct Pair {
  explicit Pair(EVP_PKEY* made) : priv(pem_of(made, false)), pub(pem_of(made, true)) { ::EVP_PKEY_free(made); }
  PrivateKey key() const { return PrivateKey::from_pem(priv); }
  std::string priv, pub;
};
const Pair& rsa() {
  static const Pair pair(::EVP_RSA_gen(2048));
  return pair;
}
const Pair& ec(const char* curve) {
  static std::map<std::string, Pair> pairs;
  return pairs.try_emplace(curve, ::EVP_EC_gen(curve)).first->second;
}
const Pair& ed() {
  static const Pair pair(::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  return pair;
}
const Pair& pair_for(std::string_view algorithm) {
  if (algorithm == "ES256") return ec("prime256v1");
  if (algorithm == "ES384") return ec("secp384r1");
  if (algorithm == "ES512") return ec("secp521r1");
  return algorithm == "EdDSA" ? ed() : rsa();
}

struct ForeignToken : ::testing::Test {
  boost::json::object claims = {{"sub", "ada"},         {"iss", "https://id.example"}, {"aud", {"underway", "other"}},
                                {"iat", seconds(kNow)}, {"nbf", seconds(kNow)},        {"exp", seconds(kNow + 1h)}};
  ForeignTokenExpectation expected{.now = kNow, .algorithms = {"RS256", "EdDSA", "ES256"}};

  std::string token(std::string_view algorithm = "EdDSA") const {
    return sign_token(pair_for(algorithm).key(), algorithm, {}, claims);
  }
  std::string why(const std::string& token, std::string_view pem) const {
    const std::vector keys{issuer_key_from_pem(pem)};
    return failure_of([&] { verify_foreign_token(token, keys, expected); });
  }
  std::string why() const { return why(token(), ed().pub); }
};

TEST_F(ForeignToken, IsVerifiedByEveryAlgorithm) {
  for (const auto algorithm : signing_algorithms()) {
    SCOPED_TRACE(algorithm);
    expected.algorithms = {std::string(algorithm)};
    EXPECT_EQ(why(token(algorithm), pair_for(algorithm).pub), "");
    std::string changed = token(algorithm);
    changed[changed.size() - 10] = changed[changed.size() - 10] == 'A' ? 'B' : 'A';
    EXPECT_THAT(why(changed, pair_for(algorithm).pub), HasSubstr("its signature does not fit"));
  }
}

TEST_F(ForeignToken, GivesThePublishedAnswers) {  // RFC 7515, appendix A.2 (RS256) and A.3 (ES256)
  const auto keys = parse_issuer_keys(R"({"keys": [
    {"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"},
    {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})");
  ASSERT_EQ(keys.size(), 2u);
  const std::string payload =
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
  const std::string es = "eyJhbGciOiJFUzI1NiJ9." + payload +
                         ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
  expected.now = TimePoint{std::chrono::seconds{1300819300}};
  EXPECT_EQ(verify_foreign_token(es, keys, expected).at("iss"), "joe");
}

TEST_F(ForeignToken, IsRefusedWhenItsAlgorithmIsNotAllowed) {
  EXPECT_THAT(why(token("ES384"), ec("secp384r1").pub), HasSubstr("'ES384', which is not allowed here"));
  const auto forged = [&](const char* header) {
    return base64url_encode(header) + "." + base64url_encode(boost::json::serialize(claims)) + ".";
  };
  for (const char* name : {"none", "None", "NONE", "", "HS256"}) {
    expected.algorithms = {"RS256", "none", "None", "NONE", "", "HS256"};
    EXPECT_THAT(why(forged(fmt::format(R"({{"alg":"{}"}})", name).c_str()), rsa().pub),
                HasSubstr("which is not allowed here"))
        << name;
  }
  EXPECT_THAT(why(forged("{}"), rsa().pub), HasSubstr("which is not allowed here"));
}

TEST_F(ForeignToken, CannotHaveAKeyTakenForAnother) {
  // HMAC with the text of the public key: the classic confusion.
  const std::string text =
      base64url_encode(R"({"alg":"HS256"})") + "." + base64url_encode(boost::json::serialize(claims));
  expected.algorithms = {"RS256", "HS256"};
  EXPECT_THAT(why(text + "." + base64url_encode(hmac_sha256(rsa().pub, text)), rsa().pub),
              HasSubstr("which is not allowed here"));
  // An algorithm of another kind of key, or of another curve.
  expected.algorithms = {"RS256", "ES256", "ES384", "EdDSA"};
  EXPECT_THAT(why(token("ES256"), rsa().pub), HasSubstr("no key is known"));
  EXPECT_THAT(why(token("ES384"), ec("prime256v1").pub), HasSubstr("no key is known"));
  // A key that its set reserves for one algorithm.
  auto key = issuer_key_from_pem(rsa().pub);
  key.algorithm = "RS512";
  const std::vector keys{key};
  EXPECT_THAT(failure_of([&] { verify_foreign_token(token("RS256"), keys, expected); }), HasSubstr("no key is known"));
}

TEST_F(ForeignToken, IsRefusedOutsideOfItsTime) {
  expected.now = kNow + 1h + 59s;
  EXPECT_EQ(why(), "");
  expected.now = kNow + 1h + 60s;
  EXPECT_THAT(why(), HasSubstr("it expired at"));
  expected.leeways.clock_skew = -1ns;
  expected.now = kNow + 1h;
  EXPECT_THAT(why(), HasSubstr("it expired at"));
  expected.now = kNow - 1s;
  EXPECT_THAT(why(), HasSubstr("it is valid from"));
  expected.now = kNow;
  EXPECT_EQ(why(), "");
  claims.erase("exp");
  claims.erase("nbf");
  expected.now = kNow + 149s;
  EXPECT_EQ(why(), "");
  expected.now = kNow + 150s;
  EXPECT_THAT(why(), HasSubstr("it expired at"));
  claims.erase("iat");
  EXPECT_THAT(why(), HasSubstr("neither 'iat' nor 'nbf' nor 'exp'"));
  for (const boost::json::value& time : {boost::json::value("soon"), boost::json::value(1e300)}) {
    claims["exp"] = time;
    EXPECT_THAT(why(), HasSubstr("its 'exp' is no"));
  }
}

TEST_F(ForeignToken, IsRefusedOfAnotherIssuerAndForAnotherAudience) {
  expected.issuer = "https://id.example";
  expected.audiences = {"cluster", "underway"};
  EXPECT_EQ(why(), "");
  claims["aud"] = "underway";
  EXPECT_EQ(why(), "");
  claims["aud"] = boost::json::array{"a", 1, nullptr};
  EXPECT_THAT(why(), HasSubstr("it is for another audience"));
  claims.erase("aud");
  EXPECT_THAT(why(), HasSubstr("it is for another audience"));
  claims["aud"] = "underway";
  claims["iss"] = "https://id.example.evil";
  EXPECT_THAT(why(), HasSubstr("its issuer is"));
}

TEST_F(ForeignToken, IsVerifiedByTheKeyThatItNames) {
  auto known = issuer_key_from_pem(ed().pub);
  known.id = "k1";
  const std::vector keys{known};
  const auto signed_with = [&](const char* id) { return sign_token(ed().key(), "EdDSA", {{"kid", id}}, claims); };
  EXPECT_NO_THROW(verify_foreign_token(signed_with("k1"), keys, expected));
  EXPECT_NO_THROW(verify_foreign_token(token(), keys, expected));
  EXPECT_THAT(failure_of([&] { verify_foreign_token(signed_with("k2"), keys, expected); }),
              HasSubstr("no key is known that signs 'EdDSA' as 'k2'"));
  EXPECT_EQ(head_of(signed_with("k2")).key_id, "k2");
}

TEST_F(ForeignToken, IsRefusedWhenItIsNoToken) {
  const std::string head = base64url_encode(R"({"alg":"EdDSA"})");
  EXPECT_THAT(why("", ed().pub), HasSubstr("three parts"));
  EXPECT_THAT(why("a.b", ed().pub), HasSubstr("three parts"));
  EXPECT_THAT(why(head + "." + base64url_encode("[]") + ".AA", ed().pub), HasSubstr("no JSON object"));
  EXPECT_THAT(why(head + "." + base64url_encode(std::string(100'000, ' ')) + ".AA", ed().pub),
              HasSubstr("longer than 64 KiB"));
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += R"({"a":)";
  EXPECT_THAT(why(head + "." + base64url_encode(deep) + ".AA", ed().pub), HasSubstr("denied"));
  EXPECT_THAT(why(base64url_encode(R"({"alg":"EdDSA","crit":["x"]})") + "." + base64url_encode("{}") + ".AA", ed().pub),
              HasSubstr("critical extensions"));
}

TEST(IssuerKeys, PassOverWhatCannotVerify) {
  const auto keys = parse_issuer_keys(R"({"keys": [
    {"kty":"oct","k":"AAAA"}, {"kty":"RSA","n":"AQAB","e":"AQAB"}, {"kty":"EC","crv":"P-256","x":"AA","y":"AA"},
    {"kty":"OKP","crv":"X25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}, 5, {},
    {"kty":"OKP","crv":"Ed25519","use":"enc","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
    {"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})");
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].id, "a");
  EXPECT_THAT(failure_of([] { parse_issuer_keys("[]"); }), HasSubstr("no list 'keys'"));
  std::string many = R"({"keys":[)";
  for (int i = 0; i < 300; ++i) many += i == 0 ? "{}" : ",{}";
  EXPECT_THAT(failure_of([&] { parse_issuer_keys(many + "]}"); }), HasSubstr("more than 256"));
}

TEST(IssuerKeys, AreReadFromPem) {
  EXPECT_THAT(failure_of([] { issuer_key_from_pem("nothing"); }), HasSubstr("cannot be read"));
  EVP_PKEY* weak = ::EVP_RSA_gen(1024);
  const std::string pem = pem_of(weak, true);
  ::EVP_PKEY_free(weak);
  EXPECT_THAT(failure_of([&] { issuer_key_from_pem(pem); }), HasSubstr("cannot be used"));
}

}  // namespace
}  // namespace underway::crypto
