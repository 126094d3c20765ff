#pragma once
/// @file
/// Tokens that others have signed: JWTs (RFC 7519) of identity providers, and the keys that verify them, from a key set
/// (JWKS, RFC 7517) or in PEM. Signatures are RS*, PS*, ES* (RFC 7518) and EdDSA (RFC 8037). What an algorithm needs of
/// a key is checked: a token chooses no other way to be verified than its key allows, and there is no `none` and no
/// HMAC.

#include <boost/json/object.hpp>

#include <memory>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "crypto/key.hpp"

struct evp_pkey_st;

namespace underway::crypto {

/// The algorithms that can be verified: "RS256", …, "EdDSA".
std::span<const std::string_view> signing_algorithms();

/// A public key of an issuer.
struct IssuerKey {
  std::string id;         ///< `kid`; may be empty
  std::string algorithm;  ///< the only one that it is for; empty: any that fits its kind
  std::shared_ptr<evp_pkey_st> key;
};

/// The keys of a JWKS that can verify tokens: others, those for encryption and those that are too weak (RSA below 2048
/// bits) are passed over. Throws Error(invalid): no JWKS, or one of more than 256 keys.
std::vector<IssuerKey> parse_issuer_keys(std::string_view jwks);
/// A public key, or the one of a certificate. Throws Error(invalid).
IssuerKey issuer_key_from_pem(std::string_view pem);

/// Whether it is a signature of `message` by `key`, in the algorithm that the key is for.
bool is_signed_by(const IssuerKey& key, std::string_view message, std::string_view signature);

struct ForeignTokenHead {
  std::string algorithm, key_id;
};
/// What a token says of itself before it is verified: to find out with which keys. Throws Error(denied).
ForeignTokenHead head_of(std::string_view token);

/// How far clocks may differ. 0: Nomad's defaults, as given; negative: not at all.
struct Leeways {
  Duration expiration{0};  ///< how long a token lives that does not say when it expires: 150 s
  Duration not_before{0};  ///< how long before its other times one is valid that does not say since when: 150 s
  Duration clock_skew{0};  ///< 60 s
};

struct ForeignTokenExpectation {
  TimePoint now;
  std::vector<std::string> algorithms;      ///< empty: RS256
  std::string issuer = {};                  ///< empty: any
  std::vector<std::string> audiences = {};  ///< one of them; empty: any
  Leeways leeways = {};
};

/// The claims of a genuine token. Keys are tried by its `kid`, or all when it names none. Throws Error(denied) saying
/// why it is not: no token, an algorithm that is not allowed, a key that is not among `keys`, a signature that does not
/// fit, expired (when), not yet valid, without any time, of another issuer or for another audience.
boost::json::object verify_foreign_token(std::string_view token, std::span<const IssuerKey> keys,
                                         const ForeignTokenExpectation& expected);

/// A token signed by a key of one's own, for those who verify as above: `algorithm` is one of signing_algorithms() that
/// fits the key. Throws Error(invalid).
std::string sign_token(const PrivateKey& key, std::string_view algorithm, boost::json::object header,
                       const boost::json::object& claims);
/// SHA-1 and SHA-256 of the first certificate of a PEM, in base64url: `x5t` and `x5t#S256`. Throws Error(invalid).
std::string certificate_thumbprint(std::string_view pem, bool sha256);

}  // namespace underway::crypto
