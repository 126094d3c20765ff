#pragma once
/// @file
/// Keys that sign images, and those that are trusted. A public key travels as a small JSON file (or as a record of the
/// cluster); a private one is a file that only its owner may read, and never an argument.

#include "base/clock.hpp"
#include "base/json/describe.hpp"
#include "crypto/sign.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace underway::image {

struct TrustedKey {
  std::string id;    ///< crypto::VerifyingKey::id()
  std::string name;  ///< for people: "operations"
  crypto::VerifyingKey key;
  TimePoint expires = TimePoint::max();
  std::optional<TimePoint> revoked = {};
  std::string reason = {};  ///< why it was revoked
};

/// A trusted key as it is written in a file and in a record.
struct KeyRecord {
  std::string name;
  std::string id;
  std::string key;           ///< base64url
  std::int64_t expires = 0;  ///< nanoseconds since the epoch; 0: never
  std::int64_t revoked = 0;  ///< 0: not
  std::string reason;
};
const describe::Structure& description(describe::Tag<KeyRecord>);

/// Throws Error(invalid): no such key, or an id that is not the key's.
TrustedKey to_trusted(const KeyRecord& record);
KeyRecord to_record(const TrustedKey& key);

std::string write_public_key(const TrustedKey& key);
/// Throws Error(invalid).
TrustedKey parse_public_key(std::string_view text);
/// Every *.pub of a directory, by name; a directory that is not there holds none. Throws Error(invalid) naming the file
/// that is none.
std::vector<TrustedKey> read_trusted_keys(const std::string& directory);

/// Writes a new private key; the file must not exist, and is made with mode 0600. Returns its public half.
TrustedKey generate_key(const std::string& path, const std::string& name, TimePoint expires);

/// A private key with what its public half is called.
struct PrivateKeyFile {
  std::string name;
  TimePoint expires = TimePoint::max();
  crypto::SigningKey key;
};
/// Throws Error(denied) when others than its owner can read the file.
PrivateKeyFile read_private_key(const std::string& path);

/// Why a key may not be used at `now`: "key 'ops' (2Bf…) expired at …"; nothing when it may.
std::optional<std::string> unusable(const TrustedKey& key, TimePoint now);

}  // namespace underway::image
