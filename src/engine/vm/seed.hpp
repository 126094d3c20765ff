#pragma once
/// @file
/// The disk by which cloud-init is told what to do: an ISO 9660 image with the label CIDATA and the files `user-data`,
/// `meta-data` and, if given, `network-config`.
/// Source: cloud-init's documentation, NoCloud, "Source 1: Drive with labeled filesystem".

#include <string>

#include "vm/config.hpp"

namespace underway::vm {

/// With what its directory, below that of the task, has beside it. Errors: not_found when there is no such directory.
/// Blocks: yes.
CloudInitConfig completed(CloudInitConfig config, const std::string& task_directory);

/// Blocks: yes. The same text gives the same bytes, whenever it is written.
void write_seed(const std::string& path, const CloudInitConfig& config, const std::string& machine);

}  // namespace underway::vm
