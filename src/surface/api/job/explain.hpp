#pragma once
/// @file
/// Why a job is as it is: what runs where and why there, what does not and what it waits for, and the nearest thing to
/// do about it. What `underway job explain` shows.

#include <functional>

#include "scheduler/judge.hpp"
#include "wire/job/explanation.hpp"

namespace underway::api {

using JudgeNodes = std::function<std::vector<scheduler::NodeVerdict>(const model::TaskGroup&)>;
/// `judge` is asked about every group; empty: nodes are not asked.
wire::Explanation explain_job(const tables::Tables& tables, const model::Job& job, TimePoint now,
                              const JudgeNodes& judge);

}  // namespace underway::api
