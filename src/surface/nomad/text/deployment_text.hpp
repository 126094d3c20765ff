#pragma once
/// @file
/// A deployment as Nomad's client shows it.

#include <string>

#include "cli/wire.hpp"

namespace underway::nomad {

using cli::Json;

/// "ID = …" and the table of its groups; "No deployment found" for null.
std::string deployment_text(const Json& deployment, bool verbose);
/// The same where the job and its version are known: `job status` shows it under the job.
std::string latest_deployment_text(const Json& deployment, bool verbose);

}  // namespace underway::nomad
