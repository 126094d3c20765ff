#pragma once
/// @file
/// How what runs of a job differs from what is registered of it, and from what is asked for: a rollout that failed,
/// stands still or goes on, and allocations that failed. Pure.

#include "tables/tables.hpp"
#include "wire/job/shortfall.hpp"

namespace underway::api {

/// Nothing when all that runs of the job is of its version, and nothing of that failed. Batch work is not looked at.
std::optional<wire::Shortfall> shortfall_of(const tables::Tables& tables, const model::Job& job, TimePoint now);

/// Whether its canaries wait to be promoted, and nothing but a person does that.
bool waits_for_person(const model::Deployment& rollout);

/// What became of an earlier version of the job that was specified as `proposed` is, where its rollout failed: it is
/// about to be brought again. Nothing when there was none.
std::optional<wire::Shortfall> failed_before(const tables::Tables& tables, const model::Job& proposed);

}  // namespace underway::api
