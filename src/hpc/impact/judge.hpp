#pragma once
/// @file
/// Which impact a change has, from the rows that it puts and deletes. The rules, for people:
/// docs/explanation/impact.md.

#include "impact/impact.hpp"
#include "scheduler/judge.hpp"
#include "server/decision.hpp"

namespace underway::impact {

/// What is there before the change.
struct View {
  const tables::Tables& tables;
  /// What each node has to say to one more allocation of the group (scheduler::judge_nodes). Absent: no node could take
  /// anything.
  std::function<std::vector<scheduler::NodeVerdict>(const tables::Row<model::Job>&, const model::TaskGroup&)> verdicts;
};

/// What the rows that a decision changes do, one finding for each thing that people would name. Empty when nothing
/// changes that counts: statuses, accounts, rights, notes, and work that is begun (a batch job that is run).
std::vector<Finding> findings_of(const View& view, const std::vector<server::Change>& changes);

/// What it is to those who use it that the allocation's tasks end and are started anew; `how` ends the sentence: "is
/// restarted where it is".
Finding disturbed(const model::Allocation& allocation, std::string_view how);

/// Whether the job is said to be deferrable, by `meta { deferrable = "true" }` of the job or the group: it may be away
/// for as long as the administrator likes.
bool deferrable(const model::Job& job, const model::TaskGroup& group);

}  // namespace underway::impact
