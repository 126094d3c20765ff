#pragma once
/// @file
/// One pull, from the reference to layers in the store and a record of the image.

#include <functional>

#include "oci/registry/pull_request.hpp"

namespace underway::oci::pull {

/// Returns the digest of the manifest. `say` is called from several threads, one at a time. Errors: as Store::pull.
std::string pull(const PullRequest& request, const std::function<void(const Progress&)>& say);

}  // namespace underway::oci::pull
