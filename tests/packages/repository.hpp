#pragma once
/// @file
/// Which files are the repository's, as git says.

#include <optional>
#include <string>
#include <vector>

namespace underway::harness {

/// "100644 docs/tutorial.md": mode and path of each tracked file that is installed as it is, by path. Nothing when this
/// is no git checkout.
std::optional<std::vector<std::string>> find_repository_files();

}  // namespace underway::harness
