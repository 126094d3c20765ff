#pragma once
/// @file
/// Programs that a build calls.

#include <string>
#include <vector>

namespace underway::imagebuild {

/// Runs it to its end, with a small environment in which SOURCE_DATE_EPOCH is `created`. `what` it does and
/// `package`, Debian's, that has it are for errors: not_found, or invalid with the program's last lines.
std::string run(const std::vector<std::string>& argv, const std::string& what, const std::string& package,
                std::int64_t created, const std::vector<std::string>& environment = {});

}  // namespace underway::imagebuild
