#pragma once
/// @file
/// Job files: Nomad's job specification, in HCL, HCL-JSON or the API's JSON, to model::Job and back. What the
/// specification knows and Underway does not yet do is refused by name, never dropped.

#include "hcl/diagnostic.hpp"
#include "hcl/value.hpp"
#include "jobspec/given.hpp"
#include "model/job/job.hpp"
#include "model/validate/validate.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace underway::jobspec {

/// A file of values for variables: HCL or JSON.
struct VariableFile {
  std::string name;  ///< for messages
  std::string text;
};

/// What stands beside a job file. Values: default < environment < files < variables, each in order.
struct Inputs {
  std::vector<std::pair<std::string, std::string>> variables{};  ///< -var name=text
  std::vector<VariableFile> variable_files{};                    ///< -var-file
  std::map<std::string, std::string> environment{};              ///< NOMAD_VAR_name
  /// Whether a value for a variable that is neither declared nor used is an error.
  bool strict = true;
  /// Where the file functions start; absent: they are refused (the API parses texts of others).
  std::optional<std::filesystem::path> base_dir{};
  /// Further roots that expressions may use: `cluster`, `slurm`.
  std::map<std::string, hcl::Value> roots{};
  /// Whether the job is checked with model::validate; problems are reported at the block they concern.
  bool validate = true;
  /// Whether what the file leaves open is filled in; if not, the job is not checked either.
  bool canonicalize = true;
  model::ValidateOptions limits{};
};

struct DependencySite {
  std::string job;  ///< what is depended on
  hcl::Range range;
};

struct ParseResult {
  std::optional<model::Job> job;  ///< canonicalized, if asked for; present exactly when there was no error
  hcl::Diagnostics diagnostics;
  hcl::Range place;                          ///< of the job block
  std::vector<DependencySite> dependencies;  ///< every depends_on, of the job and its groups
  Given given{};                             ///< what the file says, where the job was not to be canonicalized
};

/// Parses one job. `name` is the file's name, for messages.
///
/// A variable that is used as `var.x`, given a value from outside, and not declared is taken as declared with type
/// string (an extension: Nomad refuses it). One that is used and neither declared nor given is an error; one that is
/// given and neither declared nor used too, unless the file declares nothing and uses others: then it is a warning.
/// A text that starts with `{` is HCL-JSON, or the API's JSON: {"Job": {…}} or {"ID": …}.
ParseResult parse_job(std::string text, std::string name, const Inputs& inputs = {});

/// The job of an API request, canonicalized. Throws Error(invalid) naming the path of what is wrong, and all names that
/// are not yet supported.
model::Job job_from_json(const boost::json::value& json);

/// Canonical HCL: parse_job(write_job(job)) gives the job again, without what the server keeps.
std::string write_job(const model::Job& job);

/// For a reader that knows less than we do, or means something else by what is left out.
struct WriteOptions {
  /// Whether it knows a field of a block; what it does not know is written as a comment. Empty: it knows all.
  std::function<bool(const describe::Structure& block, const describe::Field& field)> knows{};
  /// The same for a key of a task's `config`.
  std::function<bool(const std::string& driver, std::string_view key)> knows_config{};
  /// Services name their provider even where it is the one that we take without a name.
  bool names_providers = false;
};
struct LeftOut {
  std::size_t line = 0;  ///< of the comment, from 1
  std::string where;     ///< "group 'web' task 'api'"; empty: the job
  std::string name;      ///< as it is spelled in HCL
};
struct WrittenJob {
  std::string text;
  std::vector<LeftOut> left_out;
};
WrittenJob write_job(const model::Job& job, const WriteOptions& options);

}  // namespace underway::jobspec
