#pragma once
/// @file
/// How a deployment ends badly, and what every decision about one has in common.

#include <functional>

#include "server/decision.hpp"

namespace underway::server::detail {

// Nomad's words (structs.DeploymentStatusDescription*): clients and people match on them.
inline constexpr const char* kRunning = "Deployment is running";
inline constexpr const char* kPaused = "Deployment is paused";
inline constexpr const char* kUnhealthy = "Failed due to unhealthy allocations";
inline constexpr const char* kNoProgress = "Failed due to progress deadline";
inline constexpr const char* kFailedByUser = "Deployment marked as failed";

/// Asks the scheduler about the deployment's job, unless it is asked already. Returns the evaluation's id; empty when
/// the job is gone.
std::string evaluate(std::vector<Change>& changes, const Tables&, const model::Deployment& deployment, const Context&);

/// Every group that has canaries wants it, and all of them are there and well.
bool promotes_itself(const model::Deployment&, const std::function<bool(const std::string& canary)>& healthy);

/// Promotes the canaries of `groups`, or of all when none are named: in the row, and in the allocations, which are
/// written with the verdicts that the tables hold.
void promote(std::vector<Change>& changes, const Tables&, model::Deployment& deployment,
             const std::vector<std::string>& groups, const Context&);

/// Whether it fails with the first allocation that is not well, rather than at its deadline: where no time is given for
/// further attempts, and where a job of a cluster is to go back by itself and has something to go back to.
bool fails_at_once(const Tables&, const model::Deployment&);

struct Failed {
  std::string eval_id;
  std::optional<std::int64_t> reverted_version;
};
/// Writes the deployment as failed, and takes the job back where `auto_revert` says so: to its last stable version, or,
/// when a cluster declares it and none was ever everywhere, to the one that still works beside the failed one.
Failed fail(std::vector<Change>& changes, const Tables&, model::Deployment deployment, std::string why, const Context&);

}  // namespace underway::server::detail
