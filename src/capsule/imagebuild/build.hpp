#pragma once
/// @file
/// From a definition to an image file. The same definition and the same sources give the same bytes, whenever and
/// wherever it is built, by one version of the tools.

#include "image/key.hpp"
#include "image/pack.hpp"
#include "imagebuild/definition.hpp"

#include <functional>
#include <optional>

namespace underway::imagebuild {

struct BuildOptions {
  /// The file to make; empty: "<name>-<version>.capsule" in the working directory.
  std::string out;
  /// Where trees are made meanwhile; a directory of its own in it is removed at the end.
  std::string work = "/var/tmp";
  /// Signs the image; images to build upon may be signed by it too.
  const image::PrivateKeyFile* key = nullptr;
  /// Whose images may be built upon.
  std::vector<image::TrustedKey> trusted = {};
  TimePoint now = {};
  /// SOURCE_DATE_EPOCH, seconds; the definition's `created` is stronger.
  std::optional<std::int64_t> source_date_epoch = {};
  /// What archives may unpack to together, in bytes.
  std::int64_t unpack_limit = std::int64_t{32} << 30;
  /// Told what is being done: "packages".
  std::function<void(const std::string&)> progress = {};
};

struct Built {
  std::string path;
  image::Packed image;
};

/// Builds. Mounts are made in a namespace of its own, so none is left behind whatever happens.
/// Errors: denied when the base image cannot be trusted, when an archive would leave the tree, or when root is needed;
/// invalid, not_found and unsupported as the definition's parts have it. Nothing is left when it fails. Blocks: yes
/// (minutes).
Built build(const Definition& definition, const BuildOptions& options);

}  // namespace underway::imagebuild
