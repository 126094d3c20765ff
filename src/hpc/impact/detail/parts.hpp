#pragma once
/// @file
/// The parts of the judgement: of a job, of a node.

#include "impact/judge.hpp"

namespace underway::impact::detail {

/// Not ended, and wanted.
std::vector<tables::Row<model::Allocation>> live_of_group(const tables::Tables& tables, const model::Job& job,
                                                          std::string_view group);
/// It ends by itself: batch and sysbatch.
/// The task of the group that is a slurmd; null: none.
const model::Task* slurmd_of(const model::TaskGroup& group);
/// Slurm jobs live on when that task is replaced.
bool spares_slurm_jobs(const model::Task& slurmd);

void judge_job(const View& view, const model::Job& proposed, std::vector<Finding>& findings);
void judge_node(const View& view, const model::Node& proposed, std::vector<Finding>& findings);
/// What runs on the node ends at once; `why` begins the sentence: "host c5 is taken away".
void judge_loss(const View& view, const model::Node& node, const std::string& why, std::vector<Finding>& findings);

}  // namespace underway::impact::detail
