#pragma once
/// @file
/// Follows a cluster until every host runs and every allocation is healthy: what `up` and `apply` show.

#include "cli/command.hpp"
#include "cli/terminal.hpp"
#include "sdk/client.hpp"

namespace underway::cli {

/// One line per host pool and per service, with a bar.
std::vector<std::string> progress_lines(const wire::Status& status);

/// Returns when the cluster has settled after `index`, and meanwhile says what needs somebody. Throws timeout naming
/// what is missing, before `patience` is over if all that can be up is up (cli/impact/standstill.hpp).
void follow_until_settled(sdk::Client& client, const std::string& cluster, Duration patience);

/// What needs somebody, and the last lines that failing tasks wrote: for whoever waits in vain.
void show_failures(sdk::Client& client, const wire::Status& status);

/// `own`, and the flags of every command that changes a cluster: -detach, -timeout, -no-wait, and those of variables.
std::vector<Flag> change_flags(std::vector<Flag> own);

/// How long to follow, by -timeout; absent with -detach. Throws invalid when it is no duration.
std::optional<Duration> patience_of(const Arguments& arguments);

/// The end of `up` and `apply`: follows until the cluster has settled, and says that it `is_now`.
void follow_change(sdk::Client& client, const std::string& cluster, std::optional<Duration> patience,
                   std::string_view is_now);

/// Returns when the cluster is gone.
void follow_until_gone(sdk::Client& client, const std::string& cluster, Duration patience);

}  // namespace underway::cli
