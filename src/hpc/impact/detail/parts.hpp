#pragma once
/// @file
/// The parts of the judgement: of a job, of a node.

#include <unordered_map>

#include "impact/judge.hpp"

namespace underway::impact::detail {

/// Groups of a job, and what of them has not ended and is wanted, each looked up once: a client chooses how many there
/// are. Job and tables outlive it.
class Living {
 public:
  Living(const tables::Tables& tables, const model::Job& job);
  std::size_t of(std::string_view group) const;

 private:
  std::unordered_map<std::string_view, std::size_t> counts_;
};
/// By name. The job outlives it.
std::unordered_map<std::string_view, const model::TaskGroup*> groups_by_name(const model::Job& job);
/// The task of the group that is a slurmd; null: none.
const model::Task* slurmd_of(const model::TaskGroup& group);
/// Slurm jobs live on when that task is replaced.
bool spares_slurm_jobs(const model::Task& slurmd);

void judge_job(const View& view, const model::Job& proposed, std::vector<Finding>& findings);
void judge_node(const View& view, const model::Node& proposed, std::vector<Finding>& findings);
/// What runs on the node ends at once, its Slurm jobs excepted with `slurm_first`; `why` begins the sentence: "host c5
/// is taken away".
void judge_loss(const View& view, const model::Node& node, const std::string& why, bool slurm_first,
                std::vector<Finding>& findings);

}  // namespace underway::impact::detail
