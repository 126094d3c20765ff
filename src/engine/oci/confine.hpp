#pragma once
/// @file
/// A process that reads what strangers packed gives up what it does not need.

#include <string>

namespace underway::oci {

/// From now on this thread, and what it starts, makes, changes and removes files below `directory` alone (landlock(7));
/// what is open already stays so. Modes, owners and attributes are not covered. Needs PR_SET_NO_NEW_PRIVS or root.
/// False when the kernel cannot (before Linux 5.19, or built without it).
bool write_only_below(const std::string& directory);

}  // namespace underway::oci
