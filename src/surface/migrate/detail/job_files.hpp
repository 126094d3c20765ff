#pragma once
/// @file
/// Jobs as files.

#include "migrate/files.hpp"

namespace underway::migrate::detail {

struct JobFile {
  std::string id, ns;
  std::string path;  ///< of the file that runs it; empty: there is none
  bool stopped = false;
};

/// Adds the files of each job of the inventory, in the order in which they may be run.
std::vector<JobFile> add_job_files(Files& out, const Inventory& inventory, const FilesOptions& options);

/// The script that makes everything on a Nomad.
std::string restore_script(const Inventory& inventory, const std::vector<JobFile>& jobs, const FilesOptions& options);

/// Where the file of an object lies.
std::string path_of(const Object& object);

}  // namespace underway::migrate::detail
