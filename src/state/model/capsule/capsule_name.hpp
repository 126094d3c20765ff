#pragma once
/// @file
/// Which group of a job is a capsule, and what it is called.

#include "model/job/job.hpp"

namespace underway::model {

inline constexpr std::string_view kCapsuleDriver = "capsule";

/// The task that is the capsule; null: the group is none.
const Task* capsule_task(const TaskGroup& group);
/// What its job calls it: `name` of its configuration; else the job's id, or "<job>.<group>.0" where the job has
/// several.
std::string capsule_name(const Job& job, const TaskGroup& group);

}  // namespace underway::model
