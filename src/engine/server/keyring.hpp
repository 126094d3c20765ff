#pragma once
/// @file
/// The server's root keys: under one of them variables are sealed, and of each follows the key that signs the tokens of
/// tasks. They lie in a directory of mode 0700, one file each, wrapped by `wrapping.key`; a site that keeps that file
/// elsewhere (a systemd credential, a TPM) has a data directory that says nothing to a thief. The store never sees a
/// key.

#include <algorithm>

#include "base/clock.hpp"
#include "crypto/seal.hpp"
#include "crypto/sign.hpp"
#include "snapshot/metadata.hpp"

namespace underway::server {

struct RootKey {
  std::string id;
  bool active = false;            ///< seals and signs; the others only open and verify
  std::int64_t create_time = 0;   ///< ns since the epoch
  std::int64_t publish_time = 0;  ///< when a prepublished key becomes, or became, active; 0: at once
  bool prepublished = false;      ///< waits for that: others know it before it signs

  std::int64_t active_since() const { return std::max(create_time, publish_time); }
};

class Keyring {
 public:
  /// Reads the keys of `directory`, and makes the first. Empty: keys in memory only, for tests. `wrapping_key`: a file
  /// of 32 bytes; empty: `wrapping.key` in the directory, made when it is missing.
  /// Throws Error(denied) naming a file that does not open; exhausted and others from the disk. Blocks: yes (disk).
  Keyring(std::string directory, std::string wrapping_key, TimePoint now);

  /// Oldest first.
  const std::vector<RootKey>& keys() const { return keys_; }
  const std::string& active_id() const { return ring_.active_id(); }
  const RootKey& active() const { return *std::ranges::find(keys_, active_id(), &RootKey::id); }
  /// Makes a key and activates it; returns its id. Blocks: yes (disk).
  std::string rotate(TimePoint now);
  /// Makes a key that becomes active at `at`; returns its id. Blocks: yes (disk).
  std::string prepublish(TimePoint now, TimePoint at);
  /// Activates the keys whose time has come, in its order; the id of the last, empty when there is none.
  /// Blocks: yes (disk).
  std::string promote(TimePoint now);
  /// The one that promote activates next; null when none waits.
  const RootKey* next_prepublished() const;
  /// Throws Error(not_found); conflict for the active key. Whether something is sealed under it is the caller's to
  /// know. Blocks: yes (disk).
  void remove(const std::string& id);

  /// As they lie in the directory; none of a keyring that is in memory only.
  std::vector<snapshot::WrappedKey> wrapped() const;
  /// Those of them that are not here, opened. Throws Error(denied) when another wrapping key has sealed one of them.
  std::vector<snapshot::WrappedKey> missing(const std::vector<snapshot::WrappedKey>& keys) const;
  /// Adds keys that missing() has returned. None of them becomes active. Blocks: yes (disk).
  void adopt(const std::vector<snapshot::WrappedKey>& keys);

  /// See crypto::Keyring.
  crypto::Sealed seal(std::string_view plain, std::string_view context) const { return ring_.seal(plain, context); }
  crypto::Secret open(const crypto::Sealed& sealed, std::string_view context) const {
    return ring_.open(sealed, context);
  }

  /// Signs with what follows from the active key.
  const crypto::SigningKey& signing() const { return signing_.at(active_id()); }
  /// Of all keys: a token outlives the rotation after it.
  std::vector<crypto::VerifyingKey> verifying() const;

 private:
  void add(crypto::SealingKey key, RootKey what);
  void activate(const std::string& id);
  void write(const crypto::SealingKey& key, const RootKey& what) const;
  std::string make_key(TimePoint now, std::int64_t publish_time = 0);
  void load(const std::string& id);
  std::string file_of(const std::string& id) const { return directory_ + "/" + id + ".key"; }

  std::string directory_;
  crypto::SealingKey wrapping_;
  crypto::Keyring ring_;
  std::vector<RootKey> keys_;
  std::map<std::string, crypto::SigningKey> signing_;  ///< by root key
};

}  // namespace underway::server
