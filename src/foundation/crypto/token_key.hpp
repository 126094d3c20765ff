#pragma once
/// @file
/// What signs the tokens of tasks: an RSA key (RS256, RFC 7518), which every consumer of tokens takes, or one of
/// Ed25519 (EdDSA, RFC 8037), which is small and fast; and how others verify them, by the JWK of its public half
/// (RFC 7517). Its id is the thumbprint of that (RFC 7638).

#include "crypto/foreign_token.hpp"
#include "crypto/sign.hpp"

namespace underway::crypto {

/// Copies share the key; any thread may sign.
class TokenKey {
 public:
  static TokenKey eddsa(const SigningKey& key);
  /// Throws Error(invalid) for a key that is not of RSA, or below 2048 bits.
  static TokenKey rs256(const PrivateKey& key);

  /// "RS256", "EdDSA".
  const std::string& algorithm() const { return verifying_.algorithm; }
  const std::string& id() const { return verifying_.id; }
  /// "header.claims.signature", with `kid` in its header. By RSA it computes for about a millisecond.
  std::string sign(const boost::json::object& claims) const;
  /// The public half, with `kid`, `alg` and `use`.
  const boost::json::object& jwk() const { return jwk_; }
  const IssuerKey& verifying() const { return verifying_; }
  /// Of RSA alone: PKCS #8.
  Secret pem() const;

 private:
  std::shared_ptr<const SigningKey> ed_;
  std::shared_ptr<const PrivateKey> rsa_;
  IssuerKey verifying_;
  boost::json::object jwk_;
};

/// The id of an RSA key that is known by its public half (RFC 7638). Throws Error(internal) for others.
std::string rsa_thumbprint(const IssuerKey& key);

/// The claims of a genuine token of ours. Throws Error(denied) saying why it is not: a key that is not among `keys`,
/// another algorithm than that key's, a signature that does not fit, expired (when), not yet valid, other issuer or
/// audience.
boost::json::object verify_jwt(std::string_view token, std::span<const IssuerKey> keys, const JwtExpectation& expected);

}  // namespace underway::crypto
