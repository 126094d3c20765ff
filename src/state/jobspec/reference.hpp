#pragma once
/// @file
/// The reference of the job and cluster files, generated from the descriptions: docs/reference/*.md.

#include <string>

namespace underway::jobspec {

/// Markdown of docs/reference/job-file.md.
std::string job_file_reference();
/// Markdown of docs/reference/cluster-file.md.
std::string cluster_file_reference();

}  // namespace underway::jobspec
