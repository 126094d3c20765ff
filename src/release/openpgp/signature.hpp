#pragma once
/// @file
/// What a signature turned out to be, and of whose key.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace underway::openpgp {

/// The first thing that is wrong with a signature, in this order from the last to the first.
enum class Standing {
  good,
  expired,      ///< it says itself until when it holds
  expired_key,  ///< the key that made it, or the one that this belongs to
  future,       ///< of a moment that has not come, or before its key was made
  revoked_key,  ///< by its owner, for whatever reason
  bad,          ///< it is not of these bytes
  unknown_key,  ///< no key of the keyring made it
  weak_digest,  ///< SHA-1, MD5 and all that is not SHA-256, SHA-384 or SHA-512
  unusable,     ///< of a kind that gpg does not understand, or that is no signature of bytes or text
};
/// "expired_key".
std::string_view to_string(Standing standing);

struct Signature {
  Standing standing = Standing::unusable;
  /// Why it is not good, in words: "the key 6C5C… expired on 2024-01-01T00:00:00Z". Empty when it is good.
  std::string problem;
  std::string key_id;       ///< 16 upper-case hexadecimal digits, as the signature says; empty when it does not
  std::string fingerprint;  ///< of the key that made it, which may be a subkey; empty when it is unknown
  std::string primary;      ///< fingerprint of the key that this belongs to
  std::string user_id;      ///< of that key: "Ops <ops@example.com>"
  std::optional<TimePoint> created;
  std::optional<TimePoint> expires;      ///< nothing: never
  std::optional<TimePoint> key_expires;  ///< the earlier end of the two keys; nothing: never, or unknown

  bool good() const { return standing == Standing::good; }
};

/// What was signed, and by whom. At least one signature is good.
struct Verified {
  std::string content;  ///< of a text that is signed in the clear; else empty
  std::vector<Signature> signatures;
};

}  // namespace underway::openpgp
