#pragma once
/// @file
/// The tree at the bottom of an image.

#include "image/manifest.hpp"
#include "imagebuild/build.hpp"
#include "os/mount.hpp"

namespace underway::imagebuild {

struct BaseTree {
  std::string path;
  /// Of `from image`: what the image below says of itself.
  std::optional<image::Manifest> below = {};
  /// Where no database in the tree tells them.
  std::vector<image::Package> packages = {};
  /// Keep the tree there; taken down from the last to the first.
  std::vector<os::Mount> mounts = {};

  ~BaseTree() {
    while (!mounts.empty()) mounts.pop_back();
  }
};

/// Makes the tree at `<work>/root`. `created` is of those bases that say nothing of dates. Errors: see build().
std::unique_ptr<BaseTree> make_base_tree(const Definition& definition, const BuildOptions& options,
                                         const std::string& work, std::int64_t created);

/// When the image that a definition is built upon was made; nothing for other bases.
std::optional<std::int64_t> created_below(const Definition& definition);

}  // namespace underway::imagebuild
