#pragma once
/// @file
/// Running restic, and what its words mean.

#include "overlay/backup/backup.hpp"

namespace underway::overlay {

/// Its output. `cwd`: where relative paths begin.
std::string run_restic(const Repository& repository, const std::vector<std::string>& arguments,
                       const std::string& cwd = "/");
/// What an operator is told of a failure. Pure.
Error restic_error(const Repository& repository, const std::string& command, const std::string& words);
/// `restic snapshots --json`. Errors: internal when it is not what restic says.
std::vector<Backup> parse_backups(std::string_view text);

}  // namespace underway::overlay
