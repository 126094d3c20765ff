#pragma once
/// @file
/// Access control lists of files (acl(5)), as far as a directory needs one that some users may pass through.

#include <sys/types.h>

#include <string>

namespace underway::os {

/// `user` may from now on reach what lies in `directory` (its "x"), beside whoever could before. Idempotent.
/// Errors: unsupported where the file system has no such lists. Blocks: yes (disk).
void let_pass(const std::string& directory, uid_t user);

}  // namespace underway::os
