#pragma once
/// @file
/// What the commands about snapshots and backups of a capsule share. They work on the node that holds its overlay, as
/// root, and need no server: what is to be restored may be the server's own database.

#include "cli/command.hpp"
#include "overlay/shelf.hpp"

namespace underway::cli {

/// `flags` and those that say which capsule, and where.
std::vector<Flag> with_capsule_flags(std::vector<Flag> flags);
/// `flags`, those, and those that say where its backups are.
std::vector<Flag> with_backup_flags(std::vector<Flag> flags);

/// Of the capsule that is the first argument.
overlay::Shelf shelf_of(const Arguments& arguments);
/// "default/slurm-services".
std::string capsule_of(const Arguments& arguments);
/// Throws invalid when nothing says where.
overlay::Repository repository_of(const Arguments& arguments);
/// -keep-last and the like.
overlay::Retention retention_of(const Arguments& arguments);
/// -at. Throws invalid.
TimePoint time_of(const std::string& text);
void print_drill(const overlay::Drill& drill);

}  // namespace underway::cli
