#pragma once
/// @file
/// Follows a cluster until every host runs and every allocation is healthy: what `up` and `apply` show.

#include "cli/terminal.hpp"
#include "sdk/client.hpp"

namespace underway::cli {

/// One line per host pool and per service, with a bar.
std::vector<std::string> progress_lines(const api::Status& status);

/// Returns when the cluster has settled after `index`. Throws timeout naming what is missing.
void follow_until_settled(sdk::Client& client, const std::string& cluster, Duration patience);

/// Returns when the cluster is gone.
void follow_until_gone(sdk::Client& client, const std::string& cluster, Duration patience);

}  // namespace underway::cli
