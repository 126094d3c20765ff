#pragma once
/// @file
/// Waits for a rollout, drawing how far it is.

#include "sdk/client.hpp"

namespace underway::cli {

/// Until it is over or waits for a person, whom it tells what to do. Returns the exit code: 1 when it did not succeed.
int follow_deployment(sdk::Client& client, const std::string& deployment_id);
/// The same for what an evaluation began or went on with; done at once when that is no deployment.
int follow_deployment_of(sdk::Client& client, const std::string& eval_id);

}  // namespace underway::cli
