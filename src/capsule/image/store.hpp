#pragma once
/// @file
/// Images by their digests, in a directory:
///
///     sha256/<hex>            whole images; nothing gets this name that was not verified
///     incoming/<hex>-<size>   what has arrived of one that is on its way; goes on after any crash where it ended
///
/// A file appears by rename(2) after it was flushed to disk, so a crash leaves a whole image or a part, never a broken
/// image. Every call may come from any thread and any process.

#include "image/verified.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace underway::image {

/// An image in a store.
struct StoredImage {
  std::string digest;
  std::string name, version, architecture, description;
  std::int64_t size = 0;          ///< bytes of the file
  std::int64_t created = 0;       ///< nanoseconds since the epoch
  std::int64_t added = 0;         ///< likewise
  std::vector<std::string> keys;  ///< ids of the keys that signed it
};
const describe::Structure& description(describe::Tag<StoredImage>);

/// What an image is asked for by: "sha256:…", "name" (the one added last) or "name:version".
struct Reference {
  std::string digest;  ///< or:
  std::string name, version;
};
/// Throws Error(invalid).
Reference parse_reference(const std::string& text);
/// Whether `text` is "sha256:" and 64 lower-case hexadecimal digits.
bool is_image_digest(std::string_view text);

/// An image that is on its way.
struct Incoming {
  std::string digest;
  std::int64_t size = 0;
};

class Store {
 public:
  /// Largest image that is taken: nothing can fill the disk by announcing more.
  static constexpr std::int64_t kLargest = std::int64_t{64} << 30;

  /// Makes the directory.
  explicit Store(std::string directory);

  const std::string& directory() const { return directory_; }
  std::string path_of(const std::string& digest) const;
  bool has(const std::string& digest) const;
  /// Newest first. What is no image any more is left out. Blocks: yes (reads the end of each).
  std::vector<StoredImage> list() const;
  /// Nothing when there is none that fits.
  std::optional<StoredImage> find(const Reference& reference) const;
  /// Throws Error(not_found) naming what there is.
  StoredImage get(const std::string& reference) const;
  /// Opened and verified. Throws as open_verified.
  VerifiedImage open(const std::string& digest, const std::vector<TrustedKey>& keys, TimePoint now) const;

  /// Copies a file into the store after verifying it. Returns its digest. Blocks: yes.
  std::string add(const std::string& path, const std::vector<TrustedKey>& keys, TimePoint now);

  /// Bytes that have arrived. Throws Error(invalid) for a digest that is none, too_large beyond kLargest.
  std::int64_t received(const Incoming& incoming) const;
  /// Adds bytes at `offset`; what is there already is skipped. Returns what has arrived.
  /// Errors: conflict when something between is missing; too_large beyond the announced size.
  std::int64_t append(const Incoming& incoming, std::int64_t offset, std::string_view bytes);
  /// Verifies what has arrived; it is an image of the store when this returns. What is refused is removed, so that the
  /// next try starts anew. Errors: conflict when bytes are missing; denied.
  VerifiedImage finish(const Incoming& incoming, const std::vector<TrustedKey>& keys, TimePoint now);
  /// Forgets what has arrived.
  void discard(const Incoming& incoming);

  /// Nothing happens when it is not there; who has it open keeps it.
  void remove(const std::string& digest);
  /// Removes every image that is not in `referenced`, and parts that nobody added to since `parts_before`. Returns the
  /// digests of what was removed.
  std::vector<std::string> collect(const std::set<std::string>& referenced, TimePoint parts_before);

 private:
  std::string part_of(const Incoming& incoming) const;
  std::string directory_;
};

}  // namespace underway::image
