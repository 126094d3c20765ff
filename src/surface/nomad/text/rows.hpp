#pragma once
/// @file
/// The tables that several commands show.

#include "cli/wire.hpp"

namespace underway::nomad {

/// Of allocations, newest first: "ID  Node ID  Task Group  Version  Desired  Status  Created  Modified".
std::string allocations_text(boost::json::array allocations, bool verbose);
/// Of evaluations of one job, newest first.
std::string job_evaluations_text(boost::json::array evaluations, bool verbose);
/// "ID  Job ID  Job Version  Status  Description", newest first.
std::string deployments_text(boost::json::array deployments, bool verbose);

/// Of jobs: "ID  Type  Priority  Status  Submit Date", with their namespaces when all were asked.
std::string jobs_text(const boost::json::array& jobs, bool with_namespace);
/// "dead (stopped)".
std::string job_status_text(const cli::Json& job);
/// Of nodes, as pools and prefixes list them: "ID  DC  Name  Class  Drain  Eligibility  Status".
std::string node_stubs_text(const boost::json::array& nodes, bool verbose);
/// Of evaluations of any job, as they come.
std::string evaluations_text(const boost::json::array& evaluations, bool verbose);

/// By a member that is a number, the greatest first.
void newest_first(boost::json::array& rows, std::string_view by);
/// "true" for those that failed to place; of one that waits "N/A - In Progress".
std::string placement_failures(const cli::Json& evaluation);

/// A member that is a number with decimals; 0 when it is none.
double fraction(const cli::Json& value, std::string_view name);

}  // namespace underway::nomad
