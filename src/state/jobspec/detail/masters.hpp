#pragma once
/// @file
/// The bytes of masters, read beside a cluster's directory.

#include <filesystem>
#include <vector>

#include "model/file.hpp"

namespace underway::jobspec::detail {

/// Of a file: no device, and no more than is synchronised. Errors: not_found; invalid; too_large.
std::string read_master_bytes(const std::filesystem::path& path);

/// What lies below the directory `path`, as declarations of their own: each like `tree`, with the name, path and mode
/// that it has there. What is taken out of the directory goes on the nodes too. Errors: as read_master_bytes; invalid
/// for what is neither file, directory nor symbolic link.
std::vector<model::FileDeclaration> read_master_tree(const model::FileDeclaration& tree,
                                                     const std::filesystem::path& path);

}  // namespace underway::jobspec::detail
