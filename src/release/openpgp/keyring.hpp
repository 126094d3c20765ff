#pragma once
/// @file
/// Whose signatures are believed: the keys of some files, and no others. gpg verifies (gpgme; a process for each call,
/// in a home of its own, and no agent); what is a signature at all, which digests are good and what time it is, is
/// decided here.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "openpgp/signature.hpp"

namespace underway::openpgp {

/// A part of a key that has a fingerprint.
struct KeyPart {
  std::string fingerprint;  ///< 40 upper-case hexadecimal digits
  TimePoint created;
  std::optional<TimePoint> expires;  ///< nothing: never
  bool revoked = false;
};

struct Key {
  KeyPart primary;
  std::vector<KeyPart> subkeys;
  std::string user_id;  ///< the first: "Ops <ops@example.com>"
};

/// Whose clock is ahead of ours by less is believed (apt.conf(5), Acquire::Max-FutureTime).
inline constexpr Duration kClockTolerance = std::chrono::seconds(10);
/// Bytes of the largest file of keys: Debian's has 56 KiB.
inline constexpr std::size_t kLargestKeys = std::size_t{4} << 20;
/// Bytes of the largest thing that has a signature beside it.
inline constexpr std::size_t kLargestSigned = std::size_t{1} << 30;

/// Blocks: yes, a few milliseconds for each call (gpg is started). Thread: any, also several at once with the same one:
/// nothing in it changes, and gpg only reads its home.
class Keyring {
 public:
  /// Of texts with public keys, each armored or binary, with one key or several. `directory` is for keyrings alone: it
  /// is made with mode 0700, and each set of keys has a home of gpg in it, named by the digest of the texts. A home
  /// appears by rename(2), and another process with the same keys uses the same one. Errors: invalid for a text without
  /// keys, with a key that gpg does not take, or with a secret key; too_large; denied for a directory that others may
  /// enter; unsupported without gpg.
  static Keyring of_texts(const std::string& directory, std::span<const std::string> texts);
  /// The same of files.
  static Keyring of_files(const std::string& directory, std::span<const std::string> paths);

  const std::vector<Key>& keys() const { return keys_; }
  /// Whose home is in use: for those who remove the others.
  const std::string& home() const { return home_; }

  /// Takes a text apart that is signed in the clear. Errors: as split_clearsigned and the other verify_….
  Verified verify_clearsigned(std::string_view text, TimePoint now) const;
  /// `signature` is armored or binary, and may hold several. One of text (type 0x01) is taken only where it can be of
  /// no other bytes (is_canonical_text). Errors: denied when none is good, with the reason for each; invalid for what
  /// is no signature; too_large.
  Verified verify_detached(std::string_view bytes, std::string_view signature, TimePoint now) const;

 private:
  std::vector<Signature> examine(std::string_view bytes, std::string_view signatures, TimePoint now) const;
  Verified require_good(std::string content, std::vector<Signature> signatures) const;

  std::string home_;
  std::vector<Key> keys_;
};

}  // namespace underway::openpgp
