#pragma once
/// @file
/// What commands share: the client from the flags, ids from prefixes, output as JSON, directories of HCL files.

#include "cli/command.hpp"
#include "jobspec/cluster_file.hpp"
#include "sdk/client.hpp"
#include "wire/cluster/cluster.hpp"

namespace underway::cli {

/// -state, UNDERWAY_STATE, or /var/lib/underway.
std::string state_directory(const Arguments& arguments);
/// The socket of the agent that keeps its state there.
std::string agent_socket(const std::string& state_directory);
sdk::Client make_client(const Arguments& arguments);

/// The one whose id starts with `prefix`. Throws not_found, or conflict listing the candidates.
std::string resolve_allocation(sdk::Client& client, const std::string& prefix);
std::string resolve_node(sdk::Client& client, const std::string& prefix_or_name);
std::string resolve_job(sdk::Client& client, const std::string& prefix);
std::string resolve_evaluation(sdk::Client& client, const std::string& prefix);
std::string resolve_deployment(sdk::Client& client, const std::string& prefix);

inline std::string short_id(const std::string& id) { return id.substr(0, 8); }

/// JSON, two blanks a level, to standard output.
void print_json(const boost::json::value& value);

/// `flags` and those of variables: -var, -var-file, -hcl2-strict.
std::vector<Flag> with_variable_flags(std::vector<Flag> flags);
/// What those flags say, and NOMAD_VAR_x.
jobspec::Inputs inputs_of(const Arguments& arguments);

/// A file, or standard input for "-". Throws not_found.
std::string read_input(const std::string& path);
/// Prints what is wrong with a file, with its lines, and throws invalid: nothing was changed. `what`: "the job file
/// 'x'".
[[noreturn]] void refuse(const hcl::Diagnostics& diagnostics, const std::string& what);

/// A job file, parsed; all diagnostics are thrown as one Error of their rendered texts.
struct LoadedJob {
  model::Job job;
  model::JobSubmission submission;
};
LoadedJob load_job(const std::string& path, const Arguments& arguments);

/// A cluster's directory, ready to be sent. Throws as load_job does. `client` may be null: then no job outside of the
/// directory is known.
wire::ClusterBody load_cluster(const std::string& directory, const Arguments& arguments, sdk::Client* client);

/// "3m ago"; "never".
std::string ago(std::int64_t unix_nanos);
/// Reads "y" from the terminal; false for anything else and without a terminal.
bool confirm(const std::string& question);

}  // namespace underway::cli
