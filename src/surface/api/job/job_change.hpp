#pragma once
/// @file
/// What a plan of the scheduler does to a job, as the API tells it.

#include "server/server.hpp"
#include "wire/job/job_change.hpp"

namespace underway::api {

/// What the scheduler would do for `plan`, told per group and per allocation.
wire::JobChange describe_plan(const server::JobPlan& plan);
/// How what it replaces would be rolled out. `tables`: before it.
std::vector<model::Prospect> prospects_of(const tables::Tables& tables, const server::JobPlan& plan);

}  // namespace underway::api
