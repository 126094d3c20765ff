#include "crypto/token_key.hpp"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <boost/json/serialize.hpp>

#include <algorithm>

#include "base/json/json_member.hpp"
#include "crypto/detail/jwt.hpp"
#include "crypto/detail/openssl.hpp"
#include "crypto/digest.hpp"

namespace underway::crypto {
namespace {

constexpr const char* kRs256 = "RS256";
constexpr const char* kEdDsa = "EdDSA";
constexpr int kLeastBits = 2048;

using Number = detail::Owned<BIGNUM, &BN_free>;

/// A number of a public key as a JWK has it: big-endian, without leading zeros, in base64url.
std::string number_of(EVP_PKEY* key, const char* name) {
  BIGNUM* raw = nullptr;
  if (::EVP_PKEY_get_bn_param(key, name, &raw) != 1) throw detail::failure("cannot read an RSA key");
  const Number number(raw);
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number.get())), '\0');
  ::BN_bn2bin(number.get(), detail::bytes_of(bytes));
  return base64url_encode(bytes);
}

/// RFC 7638: the required members in the order of their names, without blanks.
std::string thumbprint(std::string_view n, std::string_view e) {
  return base64url_encode(sha256(fmt::format(R"({{"e":"{}","kty":"RSA","n":"{}"}})", e, n)));
}

}  // namespace

std::string rsa_thumbprint(const IssuerKey& key) {
  return thumbprint(number_of(key.key.get(), OSSL_PKEY_PARAM_RSA_N), number_of(key.key.get(), OSSL_PKEY_PARAM_RSA_E));
}

TokenKey TokenKey::eddsa(const SigningKey& key) {
  TokenKey out;
  out.ed_ = std::make_shared<const SigningKey>(key);
  out.jwk_ = to_jwk(key.verifying());
  const auto& bytes = key.verifying().bytes;
  detail::Key half(::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, detail::bytes_of(bytes), bytes.size()));
  if (half == nullptr) throw detail::failure("cannot use a signing key");
  out.verifying_ = {key.verifying().id(), kEdDsa, std::shared_ptr<evp_pkey_st>(half.release(), &::EVP_PKEY_free)};
  return out;
}

TokenKey TokenKey::rs256(const PrivateKey& key) {
  EVP_PKEY* native = key.native();
  if (::EVP_PKEY_is_a(native, "RSA") != 1 || ::EVP_PKEY_get_bits(native) < kLeastBits)
    throw Error(Code::invalid, "the key cannot sign as 'RS256'").because("RSA of 2048 bits on can");
  const std::string n = number_of(native, OSSL_PKEY_PARAM_RSA_N), e = number_of(native, OSSL_PKEY_PARAM_RSA_E);
  std::string id = thumbprint(n, e);
  TokenKey out;
  out.rsa_ = std::make_shared<const PrivateKey>(key);
  out.jwk_ = {{"kty", "RSA"}, {"n", n}, {"e", e}, {"kid", id}, {"alg", kRs256}, {"use", "sig"}};
  // It verifies as well: the private key holds the public one, and never leaves this object.
  out.verifying_ = {std::move(id), kRs256, std::shared_ptr<evp_pkey_st>(out.rsa_, native)};
  return out;
}

std::string TokenKey::sign(const boost::json::object& claims) const {
  return ed_ ? sign_jwt(*ed_, claims) : sign_token(*rsa_, kRs256, {{"kid", id()}}, claims);
}

Secret TokenKey::pem() const { return rsa_ ? rsa_->pem() : Secret(); }

boost::json::object verify_jwt(std::string_view token, std::span<const IssuerKey> keys,
                               const JwtExpectation& expected) {
  auto parts = detail::take_jwt_apart(token, detail::kOwnTokenLimit);
  const std::string algorithm = json::text_at(parts.header, "alg"), id = json::text_at(parts.header, "kid");
  if (parts.header.contains("crit")) throw detail::refused_token("its header has critical extensions");
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const auto& candidate) { return candidate.id == id; });
  if (key == keys.end()) throw detail::refused_token(fmt::format("its key '{}' is not known here", id));
  // The key says how it is verified; a token that says another way was not made by it.
  if (key->algorithm != algorithm)
    throw detail::refused_token(fmt::format("it is signed with '{}' and not with {}", algorithm, key->algorithm));
  if (!is_signed_by(*key, parts.signed_part, parts.signature))
    throw detail::refused_token("its signature does not fit");
  detail::check_claims(parts.claims, expected);
  return std::move(parts.claims);
}

}  // namespace underway::crypto
