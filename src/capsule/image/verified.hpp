#pragma once
/// @file
/// Verification: from a file of anybody to an image that may be mounted.

#include "image/image_file.hpp"
#include "image/key.hpp"

namespace underway::image {

/// An image of which every byte was verified. It holds the file open: mount "/proc/self/fd/<fd()>", never the path, and
/// what is mounted is what was verified, whatever happened to the path since.
class VerifiedImage {
 public:
  const Manifest& manifest() const { return manifest_; }
  /// "sha256:…" of the manifest's bytes.
  const std::string& digest() const { return digest_; }
  /// The open file, read-only; lives as long as this.
  int fd() const { return file_.file().get(); }
  const os::Fd& file() const { return file_.file(); }
  /// Whose signature was accepted.
  const TrustedKey& signer() const { return signer_; }
  /// Size of the file in bytes.
  std::int64_t size() const { return file_.layout().file(); }
  std::vector<FileEntry> files() const { return file_.files(manifest_); }

 private:
  friend VerifiedImage verify(ImageFile file, const std::vector<TrustedKey>& keys, TimePoint now);
  VerifiedImage(ImageFile file, Manifest manifest, TrustedKey signer)
      : file_(std::move(file)), manifest_(std::move(manifest)), digest_(file_.digest()), signer_(std::move(signer)) {}

  ImageFile file_;
  Manifest manifest_;
  std::string digest_;
  TrustedKey signer_;
};

/// Opens and verifies an image: its parts, a signature by one of `keys` that is good at `now`, and every chunk.
/// Errors: not_found; denied, saying which it is: no image, truncated, damaged (where), unsigned, no trusted key,
/// expired, revoked (when and why), the manifest of another image. Blocks: yes (reads the whole file, on all
/// processors).
VerifiedImage open_verified(const std::string& path, const std::vector<TrustedKey>& keys, TimePoint now);
/// The same for a file that is open already.
VerifiedImage verify(ImageFile file, const std::vector<TrustedKey>& keys, TimePoint now);

/// The parts of it, for `capsule verify` and `inspect`. Both throw Error(denied).
///
/// The key among `keys` whose signature over the manifest is good at `now`.
const TrustedKey& check_signatures(const ImageFile& file, const std::vector<TrustedKey>& keys, TimePoint now);
/// Whether the payload is what the manifest describes.
void check_payload(const ImageFile& file, const Manifest& manifest);

}  // namespace underway::image
