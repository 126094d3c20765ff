#pragma once
/// @file
/// Which host somebody means.

#include <string>

#include "sdk/client.hpp"

namespace underway::cli {

/// The host of that name; with several clusters "CLUSTER/HOST" tells which. Errors: not_found, conflict.
model::Host find_host(sdk::Client& client, const std::string& name);

}  // namespace underway::cli
