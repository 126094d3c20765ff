#pragma once
/// @file
/// Debian's packages: a tree made by mmdebstrap, and further packages put into a tree by apt from outside of it.

#include "imagebuild/definition.hpp"
#include "oci/root.hpp"

namespace underway::imagebuild {

/// Where apt gets packages from: lines of sources.list(5). `public_only` leaves out what lies on this machine: nothing
/// of how it was built stays in an image.
std::vector<std::string> sources(const Definition& definition, bool public_only = false);

/// A tree of `from debian` with the definition's packages, at `path`. Needs root. `created`: seconds since the epoch.
/// Errors: invalid with mmdebstrap's last lines. Blocks: yes.
void make_debian(const Definition& definition, const std::string& path, std::int64_t created);

/// Installs the definition's packages into a tree that has dpkg. Its own /dev and /proc are mounted meanwhile, so the
/// caller is in a mount namespace of its own; `work` is for apt's files.
/// Errors: unsupported without dpkg in it; invalid with apt's last lines. Blocks: yes.
void add_packages(const Definition& definition, const oci::Root& root, const std::string& work, std::int64_t created);

}  // namespace underway::imagebuild
