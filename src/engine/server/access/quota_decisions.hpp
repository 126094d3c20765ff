#pragma once
/// @file
/// Quotas: written, deleted, and what of them is used.

#include "model/access/variable.hpp"
#include "server/decision.hpp"
#include "tables/host_volumes.hpp"
#include "tables/quotas.hpp"

namespace underway::server {

/// `region`: this one; limits of others are refused, as nothing would hold to them.
struct PutQuota {
  model::Quota quota;
  std::string region;
};
Decision<Nothing> decide(const Tables&, const PutQuota&, const Context&);
/// Refused while namespaces name it.
struct DeleteQuota {
  std::string name;
};
Decision<Nothing> decide(const Tables&, const DeleteQuota&, const Context&);

/// Throws Error(invalid) when the namespace names a quota that is not there.
void check_quota_of(const Tables& tables, const model::Namespace& ns);

/// What the quota's namespaces have of its limits. Throws Error(not_found).
model::QuotaUsage quota_usage(const Tables& tables, const std::string& name);

/// Evaluations that wait for room in the quota are pending again.
void unblock_quota(std::vector<Change>& changes, const Tables& tables, const std::string& quota,
                   const Context& context);

/// Throws Error(exhausted) when a variable that takes the place of `before` (null: of none) would be more than the
/// namespace's quota leaves.
void refuse_by_quota(const Tables& tables, const model::Variable& variable, const model::Variable* before);
/// The same of a dynamic host volume, which counts with the most that it may have; one of the same id is replaced by
/// it.
void refuse_by_quota(const Tables& tables, const model::HostVolume& volume);

}  // namespace underway::server
