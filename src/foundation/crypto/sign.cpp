#include "crypto/sign.hpp"

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "crypto/detail/jwt.hpp"
#include "crypto/detail/openssl.hpp"
#include "crypto/digest.hpp"

namespace underway::crypto {
namespace {

constexpr std::size_t kSeedSize = 32;
constexpr std::size_t kSignatureSize = 64;
constexpr std::size_t kKeysLimit = 256;

using json::text_at;

detail::Key public_key(const VerifyingKey& key) {
  return detail::Key(
      ::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, detail::bytes_of(key.bytes), key.bytes.size()));
}

}  // namespace

std::string VerifyingKey::id() const {
  // RFC 7638: the required members in the order of their names, without blanks.
  return base64url_encode(sha256(fmt::format(R"({{"crv":"Ed25519","kty":"OKP","x":"{}"}})", base64url_encode(bytes))));
}

SigningKey::SigningKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {
  verifying_.bytes.resize(kSeedSize);
  std::size_t size = kSeedSize;
  if (::EVP_PKEY_get_raw_public_key(key_.get(), detail::bytes_of(verifying_.bytes), &size) != 1) {
    throw detail::failure("cannot use a signing key");
  }
}

SigningKey SigningKey::generate() { return from_seed(Secret::random(kSeedSize)); }

SigningKey SigningKey::from_seed(const Secret& seed) {
  detail::Key key(
      ::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, detail::bytes_of(seed.bytes()), seed.size()));
  if (key == nullptr) throw Error(Code::invalid, "cannot use a signing key").because(detail::reason());
  return SigningKey(std::shared_ptr<evp_pkey_st>(key.release(), &::EVP_PKEY_free));
}

Secret SigningKey::seed() const {
  std::string out(kSeedSize, '\0');
  std::size_t size = out.size();
  if (::EVP_PKEY_get_raw_private_key(key_.get(), detail::bytes_of(out), &size) != 1) {
    throw detail::failure("cannot read a signing key");
  }
  return Secret::take(std::move(out));
}

std::string SigningKey::sign(std::string_view message) const {
  const detail::DigestContext context(::EVP_MD_CTX_new());
  std::string out(kSignatureSize, '\0');
  std::size_t size = out.size();
  const bool done =
      context != nullptr && ::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
      ::EVP_DigestSign(context.get(), detail::bytes_of(out), &size, detail::bytes_of(message), message.size()) == 1;
  if (!done) throw detail::failure("cannot sign");
  return out;
}

bool verify(const VerifyingKey& key, std::string_view message, std::string_view signature) {
  const detail::Key native = public_key(key);
  const detail::DigestContext context(::EVP_MD_CTX_new());
  const bool genuine = native != nullptr && context != nullptr &&
                       ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, native.get()) == 1 &&
                       ::EVP_DigestVerify(context.get(), detail::bytes_of(signature), signature.size(),
                                          detail::bytes_of(message), message.size()) == 1;
  if (!genuine) detail::reason();
  return genuine;
}

std::string sign_jwt(const SigningKey& key, const boost::json::object& claims) {
  const boost::json::object header = {{"alg", "EdDSA"}, {"kid", key.verifying().id()}, {"typ", "JWT"}};
  std::string token =
      base64url_encode(boost::json::serialize(header)) + "." + base64url_encode(boost::json::serialize(claims));
  token += "." + base64url_encode(key.sign(token));
  return token;
}

boost::json::object verify_jwt(std::string_view token, std::span<const VerifyingKey> keys,
                               const JwtExpectation& expected) {
  auto parts = detail::take_jwt_apart(token, detail::kOwnTokenLimit);
  if (const std::string algorithm = text_at(parts.header, "alg"); algorithm != "EdDSA") {
    throw detail::refused_token(fmt::format("it is signed with '{}' and not with EdDSA", algorithm));
  }
  if (parts.header.contains("crit")) throw detail::refused_token("its header has critical extensions");
  const std::string id = text_at(parts.header, "kid");
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const auto& candidate) { return candidate.id() == id; });
  if (key == keys.end()) throw detail::refused_token(fmt::format("its key '{}' is not known here", id));
  if (!verify(*key, parts.signed_part, parts.signature)) throw detail::refused_token("its signature does not fit");
  detail::check_claims(parts.claims, expected);
  return std::move(parts.claims);
}

boost::json::object to_jwk(const VerifyingKey& key) {
  return {{"kty", "OKP"},    {"crv", "Ed25519"}, {"x", base64url_encode(key.bytes)},
          {"kid", key.id()}, {"alg", "EdDSA"},   {"use", "sig"}};
}

boost::json::object to_jwks(std::span<const VerifyingKey> keys) {
  boost::json::array list;
  for (const auto& key : keys) list.push_back(to_jwk(key));
  return {{"keys", std::move(list)}};
}

std::vector<VerifyingKey> parse_jwks(std::string_view text) {
  const boost::json::value parsed = json::parse(text);
  const auto* object = parsed.if_object();
  const auto* list = object == nullptr ? nullptr : object->if_contains("keys");
  if (list == nullptr || !list->is_array()) throw Error(Code::invalid, "the key set has no list 'keys'");
  if (list->as_array().size() > kKeysLimit) throw Error(Code::invalid, "the key set has more than 256 keys");
  std::vector<VerifyingKey> keys;
  for (const auto& encoded : list->as_array()) {
    const auto* jwk = encoded.if_object();
    if (jwk == nullptr || text_at(*jwk, "kty") != "OKP" || text_at(*jwk, "crv") != "Ed25519") continue;
    VerifyingKey key{.bytes = base64url_decode(text_at(*jwk, "x"))};
    if (key.bytes.size() != kSeedSize) throw Error(Code::invalid, "an Ed25519 key of the set has not 32 bytes");
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace underway::crypto
