#pragma once
/// @file
/// A file of a publication.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "package/package.hpp"

namespace underway::publish {

struct File {
  std::string path;  ///< below the repository: "dists/bookworm/InRelease"
  std::uint64_t size = 0;
  package::Digest digest{};  ///< SHA-256
};

/// Takes each file as it is made. What it throws ends the publication.
using Keep = std::function<void(const File& file, std::string_view bytes)>;

/// Where a published package lies: a path of its digest and of its own name, so that what was fetched from there once
/// is what lies there for ever: "pool/2c/2cf2…/hello_2.10-3_amd64.deb".
std::string path_of(const package::Package& package);

}  // namespace underway::publish
