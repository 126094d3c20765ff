#pragma once
/// @file
/// A tree of RPM packages, made by dnf.

#include "imagebuild/definition.hpp"
#include "oci/root.hpp"

namespace underway::imagebuild {

/// The arguments of dnf for a definition that is built `from rpm`, without the program's name.
std::vector<std::string> dnf_arguments(const Definition& definition, const std::string& tree);

/// Installs the definition's packages at `tree` and returns what is installed. rpm's database holds the time of the
/// installation and cannot be the same twice: it is removed, and the image's manifest has the list. Needs root.
/// Errors: unsupported without dnf; invalid with its last lines. Blocks: yes.
std::vector<image::Package> make_rpm(const Definition& definition, const std::string& tree, std::int64_t created);

}  // namespace underway::imagebuild
