#pragma once
/// @file
/// From a directory to an image: the last step of every build. The same directory gives the same bytes, whenever and
/// wherever it is packed, by one version of mkfs.erofs.

#include "image/image_file.hpp"
#include "image/key.hpp"

#include <optional>

namespace underway::image {

struct PackOptions {
  /// Files belong to root:root, whoever owns them in the directory: for who packs without being root.
  bool all_root = false;
  /// Bytes that the file may have; 0: any number.
  std::int64_t size_limit = 0;
  /// Signs the image.
  const PrivateKeyFile* key = nullptr;
};

struct Packed {
  std::string digest;  ///< "sha256:…"
  std::int64_t size = 0;
  Manifest manifest;  ///< with what packing found out
};

/// Packs `directory` into the file `out`, which appears whole or not at all. Of `manifest`, payload and files are
/// filled in. Every file gets the date manifest.created.
/// Errors: invalid with all problems of the manifest; too_large, naming the largest files; not_found without
/// mkfs.erofs. Blocks: yes.
Packed pack(const std::string& directory, Manifest manifest, const std::string& out, const PackOptions& options = {});

/// Adds a signature, or replaces the one by the same key. The file is replaced as a whole.
/// Errors: as ImageFile::open; denied when the payload is not the manifest's: a signature would hide that.
void sign_image(const std::string& path, const PrivateKeyFile& key);

}  // namespace underway::image
