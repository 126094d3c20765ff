#pragma once
/// @file
/// Finding what was named by the beginning of its id, as Nomad's client does: an exact match first, then the only one.

#include "cli/wire.hpp"

namespace underway::nomad {

/// What a job must be to be found by a command that is for such jobs alone.
enum class JobKind { any, parameterized, periodic };

/// The route of a job, and of what is below it: "/plan".
std::string job_path(const std::string& id, std::string_view what = {});

/// Each throws Error(not_found) in that client's words, or conflict with a list of those that match; with `verbose` the
/// list has whole ids. The job's namespace is the session's from then on when all namespaces were asked.
std::string find_job(cli::Api& api, const std::string& prefix, JobKind kind = JobKind::any);
std::string find_allocation(cli::Api& api, const std::string& prefix, bool verbose = false);
std::string find_node(cli::Api& api, const std::string& prefix);
std::string find_evaluation(cli::Api& api, const std::string& prefix, bool verbose = false);
std::string find_deployment(cli::Api& api, const std::string& prefix, bool verbose = false);

/// Rows of the list that the prefix is the beginning of; the one that it is in whole, alone. Throws not_found when
/// there is none, and invalid for a single character.
boost::json::array matching_allocations(cli::Api& api, const std::string& prefix);

/// An allocation, and the arguments behind it. With -job (and -group) one of a job, one that runs before others.
struct Chosen {
  std::string id;
  std::vector<std::string> rest;
};
Chosen chosen_allocation(cli::Api& api, const cli::Arguments& arguments);
/// The task that is named, by -task or as `given`; else the only one of the allocation.
std::string chosen_task(cli::Api& api, const std::string& allocation, const std::string& given);

}  // namespace underway::nomad
