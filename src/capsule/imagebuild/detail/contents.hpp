#pragma once
/// @file
/// What a definition adds to a tree and takes from it, and what is taken from every tree so that it can be built again
/// bit for bit and holds no secret.

#include "imagebuild/definition.hpp"
#include "oci/root.hpp"

namespace underway::imagebuild {

/// Directories, files, links of the definition, in this order.
void add_contents(const Definition& definition, const oci::Root& root);
/// Paths that the definition removes. Throws Error(not_found) for one without '*' that is not there.
void remove_contents(const Definition& definition, const oci::Root& root);

/// Removes what differs from build to build or must be unique to a host: caches, logs, machine-id, keys, backups of the
/// user database, compiled Python. `created`: seconds since the epoch, the date of passwords.
void clean(const oci::Root& root, std::int64_t created);

/// Packages that dpkg's database in the tree holds, by name; none without one.
std::vector<image::Package> installed_packages(const oci::Root& root);

}  // namespace underway::imagebuild
