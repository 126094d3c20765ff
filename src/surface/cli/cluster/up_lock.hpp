#pragma once
/// @file
/// Two people who change the same cluster at once: the second waits, and is told for whom.

#include "os/file.hpp"

namespace underway::cli {

/// Locks <state>/up.lock. Throws conflict naming the holder when it is taken and `wait` is false.
os::FileLock lock_changes(const std::string& state_directory, const std::string& holder, bool wait);

}  // namespace underway::cli
