#pragma once
/// @file
/// Finding what was named by the beginning of its id, as Nomad's client does: an exact match first, then the only one.

#include "cli/wire.hpp"

namespace underway::nomad {

/// Each throws Error(not_found) in that client's words, or conflict with a list of those that match.
/// The job's namespace is the session's from then on when all namespaces were asked.
std::string find_job(cli::Api& api, const std::string& prefix);
std::string find_allocation(cli::Api& api, const std::string& prefix);
std::string find_node(cli::Api& api, const std::string& prefix);
std::string find_evaluation(cli::Api& api, const std::string& prefix);
std::string find_deployment(cli::Api& api, const std::string& prefix);

/// An allocation, and the arguments behind it. With -job (and -group) one of a job, one that runs before others.
struct Chosen {
  std::string id;
  std::vector<std::string> rest;
};
Chosen chosen_allocation(cli::Api& api, const cli::Arguments& arguments);
/// The task that is named, by -task or as `given`; else the only one of the allocation.
std::string chosen_task(cli::Api& api, const std::string& allocation, const std::string& given);

}  // namespace underway::nomad
