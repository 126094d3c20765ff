#pragma once
/// @file
/// A key of ours to sign with, in a directory that is a home of gpg. It has no passphrase: who may read the directory
/// (0700; the secret is a file of mode 0600 in it) may sign, and nobody has to be there when a repository is published
/// at night.

#include <optional>
#include <string>
#include <string_view>

#include "crypto/secret.hpp"
#include "openpgp/keyring.hpp"

namespace underway::openpgp {

enum class Algorithm {
  ed25519,  ///< Debian 9 and EL 8 and later
  rsa4096,  ///< everything
};

struct NewKey {
  std::string user_id;  ///< "Underway releases <releases@example.com>"
  Algorithm algorithm = Algorithm::ed25519;
  std::optional<Duration> valid_for;  ///< nothing: it never expires
};

/// Blocks: yes; each call that needs the secret starts gpg and a gpg-agent, which ends with it (about 50 ms; making an
/// rsa4096 key takes seconds). Thread: any. A lock on the directory (flock(2)) lets one after the other use the secret,
/// of this and other processes; whoever reads key() and public_key() waits for nobody.
///
/// The same key, text and moment give the same bytes: neither kind of signature has anything random in it.
class SigningKey {
 public:
  /// Makes a key in a directory that is empty or not there. What is made is on disk when this returns; after a failure
  /// the directory is as it was. Errors: conflict for a directory with something in it; invalid for a user id with
  /// control characters or "<>" amiss.
  static SigningKey create(const std::string& directory, const NewKey& key, TimePoint now);
  /// Takes one secret key, armored or binary, as `gpg --export-secret-keys` writes it.
  /// Errors: as create; invalid for one that has a passphrase, cannot sign, or has expired; or several.
  static SigningKey import(const std::string& directory, const crypto::Secret& secret_key, TimePoint now);
  /// Errors: not_found; denied for a directory that others may enter.
  static SigningKey open(const std::string& directory);

  const Key& key() const { return key_; }
  /// For Signed-By, gpgkey= and Keyring: armored.
  const std::string& public_key() const { return public_key_; }

  /// A text with its signature of `at`, as InRelease is (SHA-512). Errors: as check_clearsignable; denied when the key
  /// has expired by then, was revoked, or was made later.
  std::string clearsign(std::string_view text, TimePoint at) const;
  /// A signature of bytes, armored, as Release.gpg and repomd.xml.asc are. Errors: as clearsign.
  std::string detach_sign(std::string_view bytes, TimePoint at) const;

 private:
  explicit SigningKey(std::string directory) : directory_(std::move(directory)) {}
  void load();
  void check_usable(TimePoint at) const;
  std::string sign(std::string_view bytes, TimePoint at, bool clear) const;

  std::string directory_;
  Key key_;
  std::string public_key_;
};

}  // namespace underway::openpgp
