#pragma once
/// @file
/// Watches a rollout: a bar for each group, who is in trouble, and the verdict.

#include "cli/alloc/failing_tasks.hpp"

namespace underway::cli {

/// Until it is over or waits for a person, whom it tells what to do. When it failed and the job went back, that is
/// watched too. Returns the exit code: 1 when the deployment did not succeed.
int follow_deployment(sdk::Client& client, const std::string& deployment_id);
/// The same for what an evaluation began or went on with; done at once when that is no deployment.
int follow_deployment_of(sdk::Client& client, const std::string& eval_id);
/// How far it is, and who of it is in trouble: what is drawn again and again.
std::vector<std::string> deployment_picture(sdk::Client& client, const model::Deployment& deployment,
                                            FailingTasks& failing);
/// The deployment that took the job back after `failed`; nothing when there is none.
std::optional<model::Deployment> find_rollback(sdk::Client& client, const model::Deployment& failed);

}  // namespace underway::cli
