#pragma once
/// @file
/// Sealing: AES-256-GCM (NIST SP 800-38D). What is sealed can neither be read nor changed without its key, and opens
/// only in the context it was sealed for: a variable's bytes moved to another path do not open there.
///
/// Nonces are random, so one key seals at most 2^32 messages (SP 800-38D, section 8.3): rotate root keys long before.

#include <map>
#include <optional>

#include "base/random.hpp"
#include "crypto/secret.hpp"

namespace underway::crypto {

/// A key with the id under which sealed bytes name it.
struct SealingKey {
  std::string id;
  Secret bytes;  ///< 32
};

SealingKey make_sealing_key(IdSource& ids);
/// A key for one purpose, from a key for many (HKDF-SHA-256, RFC 5869); 32 bytes. Its id is `from`'s.
SealingKey derive_key(const SealingKey& from, std::string_view purpose);

struct Sealed {
  std::string key_id;
  std::string bytes;  ///< nonce (12), ciphertext, tag (16): binary
};

/// `context` is not stored: who opens must name the same.
Sealed seal(const SealingKey& key, std::string_view plain, std::string_view context);
/// Throws Error(denied): another key, another context, or changed bytes; which of these cannot be told.
Secret open(const SealingKey& key, const Sealed& sealed, std::string_view context);

/// A key sealed by another: how root keys are kept and handed on.
Sealed wrap(const SealingKey& by, const SealingKey& key);
SealingKey unwrap(const SealingKey& by, std::string id, const Sealed& wrapped);

/// The keys in use: one seals, all open. Rotation adds a key and activates it; old ones stay until nothing names them.
class Keyring {
 public:
  /// Replaces a key of the same id. The first one is active.
  void add(SealingKey key);
  /// Throws Error(not_found).
  void activate(const std::string& id);
  /// Refused for the active key: Error(conflict). Nothing happens when there is none of that id.
  void remove(const std::string& id);

  bool empty() const { return keys_.empty(); }
  const std::string& active_id() const { return active_; }
  const SealingKey* find(const std::string& id) const;
  std::vector<std::string> ids() const;

  /// Throws Error(not_found) when there is no key.
  Sealed seal(std::string_view plain, std::string_view context) const;
  /// Throws Error(not_found) when its key is not here, and as crypto::open.
  Secret open(const Sealed& sealed, std::string_view context) const;

 private:
  std::map<std::string, SealingKey> keys_;
  std::string active_;
};

/// AES-256-GCM itself, for whoever must choose the nonce: returns ciphertext and tag. Never use a nonce twice with a
/// key.
std::string gcm_encrypt(std::string_view key, std::string_view nonce, std::string_view plain,
                        std::string_view associated);
/// Nothing when the tag does not fit.
std::optional<Secret> gcm_decrypt(std::string_view key, std::string_view nonce, std::string_view cipher_and_tag,
                                  std::string_view associated);

}  // namespace underway::crypto
