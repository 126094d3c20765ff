#pragma once
/// @file
/// Versions of jobs as they are typed: a number, or the name of a tag.

#include "sdk/client.hpp"

namespace underway::cli {

/// The number, or that of the version which has the tag. Throws not_found.
std::int64_t resolve_version(sdk::Client& client, const std::string& job, const std::string& version_or_tag);

}  // namespace underway::cli
