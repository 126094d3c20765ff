#pragma once
/// @file
/// Watching an evaluation and its deployment to their end, on standard output, line by line as Nomad's client does.

#include <chrono>

#include "cli/wire.hpp"

namespace underway::nomad {

using cli::Api;
using cli::Json;

/// Until the evaluation is over, and the deployment that it began. 0; 2 when something could not be placed: a
/// deployment is not waited for then; 1 when the evaluation or the deployment failed. A deployment whose canaries wait
/// for a person is left to them: 0.
int watch_evaluation(Api& api, const std::string& id, bool verbose);
int watch_deployment(Api& api, const std::string& id, bool verbose);
/// The same without saying so first, looking `every` so often.
int follow_deployment(Api& api, const std::string& id, bool verbose, std::chrono::milliseconds every);
/// 0 for no evaluation; with -detach not watched.
int watch_unless_detached(Api& api, const cli::Arguments& arguments, const std::string& eval_id);

}  // namespace underway::nomad
