#pragma once
/// @file
/// The file of an image, part by part:
///
///     offset     size                 part
///     0          payload              erofs (lz4), padded to a multiple of 4 KiB
///     payload    files                zstd of the list of files: JSON (file_list.hpp)
///     …          manifest             zstd of the manifest: JSON (manifest.hpp), whose bytes are what is signed
///     …          signatures           JSON: [{"Key":…,"Name":…,"Signature":…}, …]; empty: nobody signed
///     end - 96   96                   footer
///
/// The footer; numbers are little-endian:
///
///     offset  size  field
///     0       8     "UWCAPSUL"
///     8       4     version: 1
///     12      4     0
///     16      8     payload, bytes
///     24      8     files, bytes in the file
///     32      8     files, bytes unpacked
///     40      8     manifest, bytes in the file
///     48      8     manifest, bytes unpacked
///     56      8     signatures, bytes
///     64      32    SHA-256 of files, manifest, signatures (as they lie in the file) and of the footer's first 64
///     bytes
///
/// The file system lies at offset 0, so the kernel mounts the file itself. The digest in the footer tells damage from
/// forgery: a wrong one is damage, a right one proves nothing. Nothing that is read here is to be believed: see
/// verified.hpp.

#include "base/json/describe.hpp"
#include "image/file_list.hpp"
#include "image/manifest.hpp"
#include "os/fd.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace underway::image {

inline constexpr std::int64_t kFooterSize = 96;

/// The sizes of the parts, in bytes. `…_raw` is before compression.
struct Layout {
  std::int64_t payload = 0;
  std::int64_t files = 0, files_raw = 0;
  std::int64_t manifest = 0, manifest_raw = 0;
  std::int64_t signatures = 0;

  std::int64_t trailer() const { return files + manifest + signatures; }
  std::int64_t file() const { return payload + trailer() + kFooterSize; }
};

struct Footer {
  Layout layout;
  std::string digest;  ///< SHA-256 (binary) of the trailer and of the footer's sizes
};
std::string write_footer(const Layout& layout, std::string_view trailer);
/// Reads the last kFooterSize bytes of a file of `file_size` bytes. Throws Error(invalid) unless every size is within
/// its limit and together they are the file.
Footer parse_footer(std::string_view bytes, std::int64_t file_size);

struct Signature {
  std::string key;        ///< id of the key
  std::string name;       ///< what the signer calls it; for people only
  std::string signature;  ///< Ed25519, base64
};
const describe::Structure& description(describe::Tag<Signature>);

/// What is signed: these bytes and no others, so that a signature made for something else is none of an image.
std::string signed_message(std::string_view manifest_bytes);
/// "sha256:…" of the manifest's bytes: what an image is called by. Signatures do not change it.
std::string digest_of_manifest(std::string_view manifest_bytes);

/// An image file that is open and whole, as its footer tells; of whom it is, nobody knows yet.
class ImageFile {
 public:
  /// Errors: not_found; invalid when it is no image, or truncated, or its trailer is damaged.
  static ImageFile open(const std::string& path);
  /// `name` stands for the file in errors.
  static ImageFile of(os::Fd file, std::string name);

  const std::string& name() const { return name_; }
  const os::Fd& file() const { return file_; }
  const Layout& layout() const { return layout_; }
  /// The JSON whose bytes are signed.
  const std::string& manifest_bytes() const { return manifest_bytes_; }
  /// Throws Error(invalid).
  Manifest manifest() const;
  std::string digest() const { return digest_of_manifest(manifest_bytes_); }
  const std::vector<Signature>& signatures() const { return signatures_; }
  /// The list of files as it lies in the file, compressed.
  const std::string& files_packed() const { return files_packed_; }
  /// Read from the file and compared with the manifest's digest of it. Throws Error(invalid).
  std::vector<FileEntry> files(const Manifest& manifest) const;

 private:
  ImageFile(os::Fd file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  void read_trailer();

  os::Fd file_;
  std::string name_;
  Layout layout_;
  std::string files_packed_;
  std::string manifest_bytes_;
  std::vector<Signature> signatures_;
};

}  // namespace underway::image
