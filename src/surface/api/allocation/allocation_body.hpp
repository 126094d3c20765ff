#pragma once
/// @file
/// An allocation as the API tells it.

#include "model/allocation.hpp"

namespace underway::api {

/// With the job it was placed for, and what it was given in all the shapes that Nomad has had for it.
std::string allocation_json(const model::Allocation& allocation);
/// As its events tell it: without the job.
std::string allocation_event_json(const model::Allocation& allocation);
/// Nomad's AllocatedResources of it.
std::string allocated_json(const model::Allocation& allocation);

}  // namespace underway::api
