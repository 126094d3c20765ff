#pragma once
/// @file
/// Jobs with all that a page of them shows: Nomad's "jobs/statuses" (structs/job.go: JobStatusesJob and its parts).

#include "tables/tables.hpp"
#include "wire/job/job_statuses.hpp"

namespace underway::api {

wire::JobStatusEntry status_entry(const tables::Tables& tables, const model::Job& job);

}  // namespace underway::api
