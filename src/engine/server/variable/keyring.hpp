#pragma once
/// @file
/// The server's root keys: under one of them variables are sealed, and by it the tokens of tasks are signed, with an
/// RSA key that was made with it (RS256), or with the one of Ed25519 that follows from it (EdDSA); root keys of before
/// there was RSA have that alone. They lie in a directory of mode 0700, one file each, wrapped by `wrapping.key`. Where
/// a site keeps that file elsewhere (a systemd credential, a TPM), somebody who takes the server's disk along opens no
/// key, and so no variable. No key is ever in the store.

#include <algorithm>

#include "base/clock.hpp"
#include "crypto/seal.hpp"
#include "crypto/token_key.hpp"
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
  /// Reads the keys of `directory`, and makes the first. Empty: keys in memory only, for tests; the first is without
  /// RSA, which takes long to make. `wrapping_key`: a file of 32 bytes; empty: `wrapping.key` in the directory, made
  /// when it is missing.
  /// Throws Error(denied) naming a file that does not open; exhausted and others from the disk. Blocks: yes (disk, and
  /// up to 300 ms of computing when it makes the first).
  Keyring(std::string directory, std::string wrapping_key, TimePoint now);

  /// Oldest first.
  const std::vector<RootKey>& keys() const { return keys_; }
  const std::string& active_id() const { return ring_.active_id(); }
  const RootKey& active() const { return *std::ranges::find(keys_, active_id(), &RootKey::id); }
  /// What a new key signs with by RS256: made beside the loop (crypto::PrivateKey::generate_rsa). None: by EdDSA alone.
  using Rsa = std::optional<crypto::PrivateKey>;
  /// Makes a key and activates it; returns its id. Blocks: yes (disk).
  std::string rotate(TimePoint now, const Rsa& rsa);
  /// Makes a key that becomes active at `at`; returns its id. Blocks: yes (disk).
  std::string prepublish(TimePoint now, TimePoint at, const Rsa& rsa);
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

  /// With which algorithm the active key signs where nobody asks for one: "RS256", which is also the default, "EdDSA".
  void prefer(std::string algorithm) { preferred_ = std::move(algorithm); }
  /// What the active key signs with: by `algorithm`; empty: as preferred; by EdDSA when it has no other.
  const crypto::TokenKey& signing(std::string_view algorithm = {}) const;
  /// Of all keys: a token outlives the rotation after it. The reference is good until a key comes or goes.
  const std::vector<crypto::IssuerKey>& verifying() const { return verifying_; }
  /// The same as others fetch it: {"keys": [...]}.
  boost::json::object jwks() const;

 private:
  /// By the active key: what was made at random, and what follows from the root key.
  struct Signers {
    std::optional<crypto::TokenKey> rs256;
    crypto::TokenKey eddsa;
  };
  void add(crypto::SealingKey key, RootKey what, const Rsa& rsa);
  void list_verifying();
  void activate(const std::string& id);
  void write(const crypto::SealingKey& key, const RootKey& what, std::string rsa_wrapped) const;
  std::string make_key(TimePoint now, const Rsa& rsa, std::int64_t publish_time = 0);
  std::string wrap_rsa(const std::string& id, const crypto::Secret& pem) const;
  std::string wrapped_rsa(const std::string& id) const;
  Rsa unwrap_rsa(const std::string& id, const std::string& wrapped) const;
  void load(const std::string& id);
  std::string file_of(const std::string& id) const { return directory_ + "/" + id + ".key"; }

  std::string directory_;
  crypto::SealingKey wrapping_;
  crypto::Keyring ring_;
  std::vector<RootKey> keys_;
  std::map<std::string, Signers> signers_;  ///< by root key
  std::vector<crypto::IssuerKey> verifying_;
  std::string preferred_ = "RS256";
};

}  // namespace underway::server
