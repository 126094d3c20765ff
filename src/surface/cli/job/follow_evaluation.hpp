#pragma once
/// @file
/// Follows an evaluation and what it placed: what `job run` and `job stop` show.

#include "sdk/client.hpp"

namespace underway::cli {

/// Until the evaluation is complete and its allocations run (or, for batch jobs, have begun). 0; 2 when something could
/// not be placed (Nomad's code), 1 when an allocation failed.
int follow_evaluation(sdk::Client& client, const std::string& eval_id, Duration patience);
/// The same for a job that was registered: when all of it can be placed and a rollout began, that is watched instead,
/// to its end.
int follow_registration(sdk::Client& client, const std::string& eval_id, Duration patience);

}  // namespace underway::cli
