#pragma once
/// @file
/// References generated from descriptions: of the job and cluster files, and of any other described structure.

#include <string>
#include <string_view>

#include "base/json/describe.hpp"

namespace underway::jobspec {

/// Markdown of docs/reference/job-file.md.
std::string job_file_reference();
/// Markdown of docs/reference/cluster-file.md.
std::string cluster_file_reference();
/// A page on one described structure and every block in it. `path`: how a reader gets to it ("cluster").
std::string structure_reference(std::string_view title, std::string_view introduction,
                                const describe::Structure& structure, const std::string& path);

}  // namespace underway::jobspec
