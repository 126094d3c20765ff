#pragma once
/// @file
/// What programs need of each other by their configuration and by the libraries they have loaded. A client of munge
/// holds no connection that a look at the machine would find; that it is one stands in slurm.conf.

#include "inspection/detail/root_view.hpp"
#include "inspection/host_survey.hpp"

#include <set>

namespace underway::inspection::detail {

/// A setting of slurm.conf or slurmdbd.conf ("Key=Value" words, case ignored); the last one counts.
std::string slurm_setting(std::string_view text, std::string_view key);

/// The needs of a program with these libraries.
std::vector<Need> needs_of_libraries(const std::set<std::string>& libraries);

/// The needs that its configuration below `root` tells of. Blocks: yes (disk).
std::vector<Need> needs_of_configuration(const RootView& root, const Program& program, const std::string& host,
                                         std::vector<std::string>& gaps);

/// Directories where the program keeps its state, from its configuration and from what is usual.
std::vector<std::string> state_directories_of(const RootView& root, const Program& program,
                                              std::vector<std::string>& gaps);

}  // namespace underway::inspection::detail
