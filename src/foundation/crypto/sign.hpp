#pragma once
/// @file
/// Ed25519 signatures (RFC 8032), and tokens signed with them: JWT (RFC 7519) with the algorithm EdDSA (RFC 8037), and
/// the key set (JWKS, RFC 7517) with which others verify them.

#include <boost/json/object.hpp>

#include <memory>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "crypto/secret.hpp"

struct evp_pkey_st;

namespace underway::crypto {

/// The public half: 32 bytes, and an id that follows from them (the JWK thumbprint, RFC 7638).
struct VerifyingKey {
  std::string bytes;
  std::string id() const;
  bool operator==(const VerifyingKey&) const = default;
};

class SigningKey {
 public:
  static SigningKey generate();
  /// From the 32 bytes that seed() gave. Throws Error(invalid).
  static SigningKey from_seed(const Secret& seed);

  Secret seed() const;
  const VerifyingKey& verifying() const { return verifying_; }
  /// 64 bytes.
  std::string sign(std::string_view message) const;

 private:
  SigningKey(std::shared_ptr<evp_pkey_st> key);
  std::shared_ptr<evp_pkey_st> key_;
  VerifyingKey verifying_;
};

bool verify(const VerifyingKey& key, std::string_view message, std::string_view signature);

/// "header.claims.signature", with `kid` in its header.
std::string sign_jwt(const SigningKey& key, const boost::json::object& claims);

struct JwtExpectation {
  TimePoint now;
  std::string issuer = {};                     ///< empty: any
  std::string audience = {};                   ///< empty: any
  Duration leeway = std::chrono::seconds(10);  ///< between clocks
};

/// The claims of a genuine token. Throws Error(denied) saying why it is not: no token, another algorithm than EdDSA, a
/// key that is not among `keys`, a signature that does not fit, expired (when), not yet valid, other issuer or
/// audience.
boost::json::object verify_jwt(std::string_view token, std::span<const VerifyingKey> keys,
                               const JwtExpectation& expected);

boost::json::object to_jwk(const VerifyingKey& key);
/// {"keys": [...]}: what `/.well-known/jwks.json` answers.
boost::json::object to_jwks(std::span<const VerifyingKey> keys);
/// The Ed25519 keys of a JWKS; others are passed over. Throws Error(invalid).
std::vector<VerifyingKey> parse_jwks(std::string_view text);

}  // namespace underway::crypto
