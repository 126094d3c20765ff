#include "crypto/foreign_token.hpp"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "crypto/detail/jwt.hpp"
#include "crypto/detail/openssl.hpp"
#include "crypto/digest.hpp"

namespace underway::crypto {
namespace {

using detail::refused_token;
using json::text_at;

constexpr std::size_t kTokenLimit = 64U << 10;
constexpr std::size_t kForeignKeysLimit = 256;
constexpr int kLeastRsaBits = 2048;
constexpr int kMostRsaBits = 16384;  // what one verification may cost
constexpr Duration kDefaultLeeway = std::chrono::seconds(150);
constexpr Duration kDefaultSkew = std::chrono::seconds(60);

enum class Scheme { rsa, rsa_pss, ecdsa, eddsa };

struct Algorithm {
  std::string_view name;
  Scheme scheme;
  const char* digest;      ///< null: the scheme has its own
  const char* curve;       ///< of ecdsa: the group's name
  std::size_t coordinate;  ///< of ecdsa: bytes of r and of s
};
constexpr std::array<Algorithm, 10> kAlgorithms = {{{"RS256", Scheme::rsa, "SHA256", nullptr, 0},
                                                    {"RS384", Scheme::rsa, "SHA384", nullptr, 0},
                                                    {"RS512", Scheme::rsa, "SHA512", nullptr, 0},
                                                    {"PS256", Scheme::rsa_pss, "SHA256", nullptr, 0},
                                                    {"PS384", Scheme::rsa_pss, "SHA384", nullptr, 0},
                                                    {"PS512", Scheme::rsa_pss, "SHA512", nullptr, 0},
                                                    {"ES256", Scheme::ecdsa, "SHA256", "prime256v1", 32},
                                                    {"ES384", Scheme::ecdsa, "SHA384", "secp384r1", 48},
                                                    {"ES512", Scheme::ecdsa, "SHA512", "secp521r1", 66},
                                                    {"EdDSA", Scheme::eddsa, nullptr, nullptr, 0}}};

const Algorithm* find_algorithm(std::string_view name) {
  const auto found =
      std::find_if(kAlgorithms.begin(), kAlgorithms.end(), [&](const auto& a) { return a.name == name; });
  return found == kAlgorithms.end() ? nullptr : &*found;
}

bool is_of_curve(EVP_PKEY* key, const char* curve) {
  char name[64] = {};
  std::size_t size = 0;
  return ::EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, &size) == 1 &&
         std::string_view(name, size) == curve;
}

/// A key is for one kind of signature: whoever signs cannot make us take it for another.
bool fits(EVP_PKEY* key, const Algorithm& algorithm) {
  switch (algorithm.scheme) {
    case Scheme::rsa:
      return ::EVP_PKEY_is_a(key, "RSA") == 1;
    case Scheme::rsa_pss:
      return ::EVP_PKEY_is_a(key, "RSA") == 1 || ::EVP_PKEY_is_a(key, "RSA-PSS") == 1;
    case Scheme::ecdsa:
      return ::EVP_PKEY_is_a(key, "EC") == 1 && is_of_curve(key, algorithm.curve);
    case Scheme::eddsa:
      return ::EVP_PKEY_is_a(key, "ED25519") == 1;
  }
  return false;
}

bool is_usable(EVP_PKEY* key) {
  if (key == nullptr) return false;
  if (::EVP_PKEY_is_a(key, "RSA") == 1 || ::EVP_PKEY_is_a(key, "RSA-PSS") == 1) {
    const int bits = ::EVP_PKEY_get_bits(key);
    return bits >= kLeastRsaBits && bits <= kMostRsaBits;
  }
  return std::any_of(kAlgorithms.begin(), kAlgorithms.end(), [&](const auto& a) { return fits(key, a); });
}

using Number = detail::Owned<BIGNUM, &BN_free>;
using ParamBuilder = detail::Owned<OSSL_PARAM_BLD, &OSSL_PARAM_BLD_free>;
using Params = detail::Owned<OSSL_PARAM, &OSSL_PARAM_free>;
using EcSignature = detail::Owned<ECDSA_SIG, &ECDSA_SIG_free>;

Number number_of(std::string_view bytes) {
  return Number(::BN_bin2bn(detail::bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

detail::Key from_params(const char* kind, const ParamBuilder& builder) {
  const Params params(::OSSL_PARAM_BLD_to_param(builder.get()));
  const detail::KeyContext context(::EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  const bool made = params && context && ::EVP_PKEY_fromdata_init(context.get()) == 1 &&
                    ::EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
  if (!made) detail::reason();
  return detail::Key(key);
}

detail::Key rsa_key(const boost::json::object& jwk) {
  const std::string modulus = base64url_decode(text_at(jwk, "n")), exponent = base64url_decode(text_at(jwk, "e"));
  if (modulus.empty() || modulus.size() > kMostRsaBits / 8 + 1 || exponent.empty() || exponent.size() > 8) return {};
  const Number n = number_of(modulus), e = number_of(exponent);
  const ParamBuilder builder(::OSSL_PARAM_BLD_new());
  const bool pushed = builder && n && e &&
                      ::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) == 1 &&
                      ::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) == 1;
  return pushed ? from_params("RSA", builder) : detail::Key();
}

detail::Key ec_key(const boost::json::object& jwk) {
  const std::string curve = text_at(jwk, "crv");
  const char* group = curve == "P-256"   ? "prime256v1"
                      : curve == "P-384" ? "secp384r1"
                      : curve == "P-521" ? "secp521r1"
                                         : nullptr;
  if (group == nullptr) return {};
  const std::size_t size = curve == "P-256" ? 32 : curve == "P-384" ? 48 : 66;
  const std::string x = base64url_decode(text_at(jwk, "x")), y = base64url_decode(text_at(jwk, "y"));
  if (x.size() != size || y.size() != size) return {};
  const std::string point = "\x04" + x + y;  // uncompressed: SEC 1, section 2.3.3
  const ParamBuilder builder(::OSSL_PARAM_BLD_new());
  const bool pushed =
      builder && ::OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
      ::OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) == 1;
  return pushed ? from_params("EC", builder) : detail::Key();
}

detail::Key ed_key(const boost::json::object& jwk) {
  const std::string bytes = base64url_decode(text_at(jwk, "x"));
  if (text_at(jwk, "crv") != "Ed25519" || bytes.size() != 32) return {};
  return detail::Key(::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, detail::bytes_of(bytes), bytes.size()));
}

/// Null for what cannot be used here.
detail::Key key_of(const boost::json::object& jwk) {
  const std::string kind = text_at(jwk, "kty");
  if (kind == "RSA") return rsa_key(jwk);
  if (kind == "EC") return ec_key(jwk);
  if (kind == "OKP") return ed_key(jwk);
  return {};
}

/// r and s side by side (RFC 7518, section 3.4) as the DER that OpenSSL has.
std::string to_der(std::string_view signature, std::size_t coordinate) {
  if (signature.size() != 2 * coordinate) return {};
  const EcSignature pair(::ECDSA_SIG_new());
  Number r = number_of(signature.substr(0, coordinate)), s = number_of(signature.substr(coordinate));
  if (!pair || !r || !s || ::ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return {};
  std::ignore = r.release();  // the pair's now
  std::ignore = s.release();
  unsigned char* der = nullptr;
  const int size = ::i2d_ECDSA_SIG(pair.get(), &der);
  std::string out(reinterpret_cast<const char*>(der), size > 0 ? static_cast<std::size_t>(size) : 0);
  ::OPENSSL_free(der);
  return out;
}

std::string from_der(std::string_view der, std::size_t coordinate) {
  const unsigned char* at = detail::bytes_of(der);
  const EcSignature pair(::d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  if (!pair) throw detail::failure("cannot sign a token");
  std::string out(2 * coordinate, '\0');
  const int size = static_cast<int>(coordinate);
  ::BN_bn2binpad(::ECDSA_SIG_get0_r(pair.get()), detail::bytes_of(out), size);
  ::BN_bn2binpad(::ECDSA_SIG_get0_s(pair.get()), detail::bytes_of(out) + coordinate, size);
  return out;
}

/// RFC 7518, section 3.5: MGF1 with the digest of the signature, and a salt as long as it.
bool set_padding(EVP_PKEY_CTX* context, const Algorithm& algorithm) {
  if (algorithm.scheme == Scheme::rsa) return ::EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1;
  if (algorithm.scheme != Scheme::rsa_pss) return true;
  return ::EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         ::EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

bool is_signed_by(EVP_PKEY* key, const Algorithm& algorithm, std::string_view message, std::string_view signature) {
  std::string der;
  if (algorithm.scheme == Scheme::ecdsa) {
    der = to_der(signature, algorithm.coordinate);
    if (der.empty()) return false;
    signature = der;
  }
  const detail::DigestContext context(::EVP_MD_CTX_new());
  EVP_PKEY_CTX* of_key = nullptr;
  const bool genuine =
      context &&
      ::EVP_DigestVerifyInit_ex(context.get(), &of_key, algorithm.digest, nullptr, nullptr, key, nullptr) == 1 &&
      set_padding(of_key, algorithm) &&
      ::EVP_DigestVerify(context.get(), detail::bytes_of(signature), signature.size(), detail::bytes_of(message),
                         message.size()) == 1;
  if (!genuine) detail::reason();
  return genuine;
}

/// 0: the default; negative: none.
Duration leeway(Duration wanted, Duration otherwise) {
  if (wanted < Duration{0}) return Duration{0};
  return wanted == Duration{0} ? otherwise : wanted;
}

/// A token that lacks one of its times has it from the others, so that none is valid for ever.
void check_times(const boost::json::object& claims, const ForeignTokenExpectation& expected) {
  const auto issued = detail::time_of(claims, "iat"), starts = detail::time_of(claims, "nbf"),
             ends = detail::time_of(claims, "exp");
  if (!issued && !starts && !ends) throw refused_token("it has neither 'iat' nor 'nbf' nor 'exp'");
  const auto& leeways = expected.leeways;
  const Duration skew = leeway(leeways.clock_skew, kDefaultSkew);
  const TimePoint until = ends ? *ends
                               : std::max(issued.value_or(TimePoint{}), starts.value_or(TimePoint{})) +
                                     leeway(leeways.expiration, kDefaultLeeway);
  const TimePoint since = starts ? *starts : issued ? *issued : *ends - leeway(leeways.not_before, kDefaultLeeway);
  if (expected.now >= until + skew) throw refused_token(fmt::format("it expired at {}", format_time(until)));
  if (expected.now + skew < since) throw refused_token(fmt::format("it is valid from {} only", format_time(since)));
  if (issued && expected.now + skew < *issued)
    throw refused_token(fmt::format("it was issued at {}, which is to come", format_time(*issued)));
}

void check_claims(const boost::json::object& claims, const ForeignTokenExpectation& expected) {
  check_times(claims, expected);
  if (!expected.issuer.empty() && text_at(claims, "iss") != expected.issuer)
    throw refused_token(fmt::format("its issuer is '{}' and not '{}'", text_at(claims, "iss"), expected.issuer));
  const auto& audiences = expected.audiences;
  const bool meant = audiences.empty() || std::any_of(audiences.begin(), audiences.end(), [&](const auto& audience) {
                       return detail::names_audience(claims, audience);
                     });
  if (!meant) throw refused_token("it is for another audience");
}

const Algorithm& allowed_algorithm(const std::string& name, const ForeignTokenExpectation& expected) {
  const auto& allowed = expected.algorithms;
  const bool listed =
      allowed.empty() ? name == "RS256" : std::find(allowed.begin(), allowed.end(), name) != allowed.end();
  const Algorithm* algorithm = listed ? find_algorithm(name) : nullptr;
  if (algorithm == nullptr) throw refused_token(fmt::format("it is signed with '{}', which is not allowed here", name));
  return *algorithm;
}

bool may_verify(const IssuerKey& key, const std::string& id, const Algorithm& algorithm) {
  if (!id.empty() && !key.id.empty() && key.id != id) return false;
  if (!key.algorithm.empty() && key.algorithm != algorithm.name) return false;
  return fits(key.key.get(), algorithm);
}

}  // namespace

std::span<const std::string_view> signing_algorithms() {
  static const auto names = [] {
    std::array<std::string_view, kAlgorithms.size()> out;
    std::transform(kAlgorithms.begin(), kAlgorithms.end(), out.begin(), [](const auto& a) { return a.name; });
    return out;
  }();
  return names;
}

std::vector<IssuerKey> parse_issuer_keys(std::string_view jwks) {
  const boost::json::value parsed = json::parse(jwks);
  const auto* object = parsed.if_object();
  const auto* list = object == nullptr ? nullptr : object->if_contains("keys");
  if (list == nullptr || !list->is_array()) throw Error(Code::invalid, "the key set has no list 'keys'");
  if (list->as_array().size() > kForeignKeysLimit)
    throw Error(Code::invalid, fmt::format("the key set has more than {} keys", kForeignKeysLimit));
  std::vector<IssuerKey> keys;
  for (const auto& encoded : list->as_array()) {
    const auto* jwk = encoded.if_object();
    if (jwk == nullptr) continue;
    if (const std::string use = text_at(*jwk, "use"); !use.empty() && use != "sig") continue;
    detail::Key key = key_of(*jwk);
    if (!is_usable(key.get())) continue;
    keys.push_back({text_at(*jwk, "kid"), text_at(*jwk, "alg"), detail::shared(std::move(key))});
  }
  return keys;
}

IssuerKey issuer_key_from_pem(std::string_view pem) {
  detail::Key key;
  if (pem.find("-----BEGIN CERTIFICATE-----") != std::string_view::npos)
    key.reset(::X509_get_pubkey(detail::read_certificates(pem).front().get()));
  else
    key.reset(::PEM_read_bio_PUBKEY(detail::memory(pem).get(), nullptr, nullptr, nullptr));
  if (!key) throw Error(Code::invalid, "a public key cannot be read").because(detail::reason());
  if (!is_usable(key.get()))
    throw Error(Code::invalid, "a public key cannot be used")
        .because("RSA of 2048 bits on, P-256/384/521, Ed25519 can");
  return {{}, {}, detail::shared(std::move(key))};
}

bool is_signed_by(const IssuerKey& key, std::string_view message, std::string_view signature) {
  const Algorithm* algorithm = find_algorithm(key.algorithm);
  return algorithm != nullptr && fits(key.key.get(), *algorithm) &&
         is_signed_by(key.key.get(), *algorithm, message, signature);
}

ForeignTokenHead head_of(std::string_view token) {
  const auto parts = detail::take_jwt_apart(token, kTokenLimit);
  return {text_at(parts.header, "alg"), text_at(parts.header, "kid")};
}

boost::json::object verify_foreign_token(std::string_view token, std::span<const IssuerKey> keys,
                                         const ForeignTokenExpectation& expected) {
  auto parts = detail::take_jwt_apart(token, kTokenLimit);
  if (parts.header.contains("crit")) throw refused_token("its header has critical extensions");
  const Algorithm& algorithm = allowed_algorithm(text_at(parts.header, "alg"), expected);
  const std::string id = text_at(parts.header, "kid");
  bool tried = false;
  for (const auto& key : keys) {
    if (!may_verify(key, id, algorithm)) continue;
    tried = true;
    if (!is_signed_by(key.key.get(), algorithm, parts.signed_part, parts.signature)) continue;
    check_claims(parts.claims, expected);
    return std::move(parts.claims);
  }
  if (!tried) throw refused_token(fmt::format("no key is known that signs '{}' as '{}'", algorithm.name, id));
  throw refused_token("its signature does not fit");
}

std::string sign_token(const PrivateKey& key, std::string_view algorithm_name, boost::json::object header,
                       const boost::json::object& claims) {
  const Algorithm* algorithm = find_algorithm(algorithm_name);
  if (algorithm == nullptr || !fits(key.native(), *algorithm))
    throw Error(Code::invalid, fmt::format("the key cannot sign as '{}'", algorithm_name));
  header["alg"] = algorithm->name;
  header["typ"] = "JWT";
  std::string token =
      base64url_encode(boost::json::serialize(header)) + "." + base64url_encode(boost::json::serialize(claims));
  const detail::DigestContext context(::EVP_MD_CTX_new());
  EVP_PKEY_CTX* of_key = nullptr;
  std::size_t size = 0;
  const bool begun =
      context &&
      ::EVP_DigestSignInit_ex(context.get(), &of_key, algorithm->digest, nullptr, nullptr, key.native(), nullptr) ==
          1 &&
      set_padding(of_key, *algorithm) &&
      ::EVP_DigestSign(context.get(), nullptr, &size, detail::bytes_of(std::string_view(token)), token.size()) == 1;
  std::string signature(size, '\0');
  if (!begun || ::EVP_DigestSign(context.get(), detail::bytes_of(signature), &size,
                                 detail::bytes_of(std::string_view(token)), token.size()) != 1)
    throw detail::failure("cannot sign a token");
  signature.resize(size);
  if (algorithm->scheme == Scheme::ecdsa) signature = from_der(signature, algorithm->coordinate);
  return token + "." + base64url_encode(signature);
}

std::string certificate_thumbprint(std::string_view pem, bool sha256) {
  const auto certificates = detail::read_certificates(pem);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  if (::X509_digest(certificates.front().get(), sha256 ? ::EVP_sha256() : ::EVP_sha1(), bytes.data(), &size) != 1)
    throw detail::failure("cannot digest a certificate");
  return base64url_encode({reinterpret_cast<const char*>(bytes.data()), size});
}

}  // namespace underway::crypto
