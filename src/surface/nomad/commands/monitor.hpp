#pragma once
/// @file
/// Watching an evaluation and its deployment to their end, on standard output, line by line as Nomad's client does.

#include <chrono>

#include "cli/wire.hpp"

namespace underway::nomad {

using cli::Api;
using cli::Json;

/// What an evaluation could not place of one group, and why.
struct GroupFailure {
  std::string group;
  std::int64_t failed = 0;
  std::vector<std::string> lines;  ///< "* Resources exhausted on 2 nodes"

  /// `Task Group "g" (failed to place 2 allocations):`
  std::string title() const;
  /// The lines, each behind `prefix`.
  std::string reasons(std::string_view prefix) const;
};
/// Of an evaluation's or a plan's FailedTGAllocs, by group; none when it is null.
std::vector<GroupFailure> failures_of(const Json& failed_groups);

/// Until the evaluation is over, and the deployment that it began. 0; 2 when something could not be placed: a
/// deployment is not waited for then; 1 when the evaluation or the deployment failed. A deployment whose canaries wait
/// for a person is left to them: 0.
int watch_evaluation(Api& api, const std::string& id, bool verbose);
int watch_deployment(Api& api, const std::string& id, bool verbose);
/// The same without saying so first, looking `every` so often.
int follow_deployment(Api& api, const std::string& id, bool verbose, std::chrono::milliseconds every);
/// 0 for no evaluation; with -detach not watched.
int watch_unless_detached(Api& api, const cli::Arguments& arguments, const std::string& eval_id);

/// "ID = …" and the table of its groups; "No deployment found" for null.
std::string deployment_text(const Json& deployment, bool verbose);
/// The same where the job and its version are known: `job status` shows it under the job.
std::string latest_deployment_text(const Json& deployment, bool verbose);

}  // namespace underway::nomad
