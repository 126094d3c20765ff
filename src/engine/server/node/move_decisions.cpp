#include "server/node/move_decisions.hpp"

#include "base/error.hpp"
#include "scheduler/placement/bounds.hpp"
#include "server/job/job_decisions.hpp"
#include "server/node/sleep_decisions.hpp"

namespace underway::server {

using model::Allocation;
using model::ArrivalPhase;

namespace {

/// Slurm suspends the jobs of a host before its machine sleeps, which whoever looks after hosts sees to.
bool is_node_of_slurm(const Tables& tables, const Allocation& allocation) {
  if (allocation.ns != model::kDefaultNamespace) return false;
  for (const auto& cluster : tables.clusters()) {
    for (const auto& pool : cluster->pools) {
      if (pool.slurm && model::pool_job_id(cluster->name, pool.name) == allocation.job_id) return true;
    }
  }
  return false;
}

void touch(Allocation& row, const Context& context) {
  row.alloc_modify_index = context.revision;
  row.modify_time = unix_nanos(context.now);
}

/// A wish of this moment, by which its node knows it.
model::AllocSleep& new_wish(Allocation& row, const Context& context) {
  auto& sleep = row.sleep ? *row.sleep : row.sleep.emplace();
  sleep.since = std::max(unix_nanos(context.now), sleep.since + 1);
  return sleep;
}

void clear_mark(Allocation& row) {
  row.transition.migrate = row.transition.with_machines = row.transition.wakes = false;
  row.transition.to_node.clear();
}

/// Of a node to which the constraints of its job do not let it, it would wait for that node for ever.
std::string why_not_there(const Tables& tables, const Allocation& current, const tables::Row<model::Node>& node) {
  const auto job = tables.find_job(current.ns, current.job_id);
  const auto* group = job ? job->find_group(current.group) : nullptr;
  if (group == nullptr) return {};
  return scheduler::bounds_of(tables, job, *group, {node}).against(node->id, current.node_id);
}

void require_node(const Tables& tables, const Allocation& current, const std::string& to_node) {
  if (to_node.empty()) return;
  const auto node = tables.find_node(to_node);
  if (!node) throw Error(Code::not_found, "node not found").because(fmt::format("no node with id '{}'", to_node));
  Error error(Code::conflict, fmt::format("{} cannot move to node {}", brief(current), node->name));
  if (node->id == current.node_id) throw error.because("it is there");
  if (!node->ready()) throw error.because("that node takes nothing new: it is not heard of, or not eligible");
  if (auto why = why_not_there(tables, current, node); !why.empty()) throw error.because(std::move(why));
}

}  // namespace

bool can_move(const Allocation& allocation) {
  return allocation.client_status == model::ClientStatus::running && why_not_asleep(allocation).empty();
}

bool failed_to_move(const Allocation& allocation, std::int64_t asked) {
  return allocation.sleep && !allocation.sleep->trouble.empty() && allocation.sleep->since >= asked;
}

bool is_leaving(const Allocation& allocation) { return allocation.is_leaving(); }

tables::Row<Allocation> destination_of(const Tables& tables, const Allocation& leaving) {
  for (const auto& row : tables.allocations_of_job(leaving.ns, leaving.job_id)) {
    if (!row->terminal() && row->awaits_machines() && row->arrival->from == leaving.id) return row;
  }
  return nullptr;
}

protocol::MoveFate fate_of(const Tables& tables, const Allocation& leaving, const std::string& to) {
  if (leaving.sleep && leaving.sleep->left) return protocol::MoveFate::left;
  const auto destination = destination_of(tables, leaving);
  const bool comes = destination && destination->id == to && destination->arrival->phase == ArrivalPhase::coming;
  return comes ? protocol::MoveFate::open : protocol::MoveFate::stays;
}

Decision<Nothing> decide(const Tables& tables, const MoveAllocation& request, const Context& context) {
  const auto current = tables.find_allocation(request.id);
  if (!current)
    throw Error(Code::not_found, "alloc not found").because(fmt::format("no allocation with id '{}'", request.id));
  const bool under_way = is_leaving(*current);
  Error error(Code::conflict, fmt::format("{} cannot move", brief(*current)));
  if (request.cancel && under_way) throw error.because("it is on its way already");
  if (under_way) return {};
  if (current->terminal() || current->client_status != model::ClientStatus::running)
    throw error.because(current->server_terminal() ? "it is not wanted any more"
                                                   : fmt::format("it is {}", describe::spell(current->client_status)));
  if (auto why = why_not_asleep(*current); !why.empty())
    throw Error(Code::unsupported, error.message()).because(std::move(why));
  require_node(tables, *current, request.to_node);
  Allocation row = *current;
  if (request.cancel) {
    clear_mark(row);
  } else {
    row.transition.migrate = row.transition.with_machines = true;
    row.transition.to_node = request.to_node;
    row.transition.wakes = request.wake;
    if (row.sleep) row.sleep->trouble.clear();
  }
  touch(row, context);
  Decision<Nothing> decision;
  if (const auto job = tables.find_job(row.ns, row.job_id))
    decision.changes.push_back(tables::PutEvaluation{new_evaluation(*job, model::EvalTrigger::alloc_stop, context)});
  decision.changes.push_back(tables::PutAllocation{std::move(row)});
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DiscardMachines& request, const Context& context) {
  Decision<Nothing> decision;
  for (const auto& row : tables.allocations_of_job(request.ns, request.job_id)) {
    const bool left = row->sleep && row->sleep->left;
    if (row->group != request.group || !row->client_terminal() || left) continue;
    Allocation changed = *row;
    (changed.sleep ? *changed.sleep : changed.sleep.emplace()).left = true;
    touch(changed, context);
    decision.changes.push_back(tables::PutAllocation{std::move(changed)});
  }
  return decision;
}

void stay(std::vector<Change>& changes, const Tables& tables, Allocation& leaving, const std::string& why,
          const Context& context) {
  if (const auto destination = destination_of(tables, leaving)) {
    Allocation other = *destination;
    other.desired_status = model::DesiredStatus::stop;
    other.desired_description = "the machines that were to come stay where they are";
    other.arrival->phase = ArrivalPhase::refused;
    other.arrival->trouble = why;
    touch(other, context);
    changes.push_back(tables::PutAllocation{std::move(other)});
  }
  leaving.desired_status = model::DesiredStatus::run;
  leaving.desired_description.clear();
  leaving.next_allocation.clear();
  clear_mark(leaving);
  new_wish(leaving, context).trouble = why;
  touch(leaving, context);
}

void give_up_move(std::vector<Change>& changes, const Tables& tables, const Allocation& leaving, const std::string& why,
                  const Context& context) {
  const auto destination = destination_of(tables, leaving);
  if (!destination) return;
  Allocation row = *destination;
  note_arrival(changes, tables, row, {ArrivalPhase::lost, why}, context);
  touch(row, context);
  changes.push_back(tables::PutAllocation{std::move(row)});
}

namespace {

/// It was given up while its node was not heard of: what was coming may have gone on where it was (fate_of).
bool comes_too_late(const Tables& tables, const Allocation& row) {
  const auto known = tables.find_allocation(row.id);
  return row.arrival->phase == ArrivalPhase::coming && known && known->terminal();
}

}  // namespace

void note_arrival(std::vector<Change>& changes, const Tables& tables, Allocation& row,
                  const model::AllocArrivalReport& report, const Context& context) {
  if (row.awaits_machines() && comes_too_late(tables, row)) {
    row.arrival->phase = ArrivalPhase::refused;
    row.desired_status = model::DesiredStatus::stop;
    row.desired_description = "the machines that were coming stayed where they are";
    row.alloc_modify_index = context.revision;
    return;
  }
  if (!row.awaits_machines() || row.server_terminal() || report.phase <= row.arrival->phase) return;
  row.arrival->phase = report.phase;
  if (report.phase == ArrivalPhase::coming || report.phase == ArrivalPhase::ready)
    row.arrival->live = report.phase == ArrivalPhase::coming;
  row.arrival->trouble = report.trouble;
  row.alloc_modify_index = context.revision;
  const auto from = tables.find_allocation(row.arrival->from);
  if (!from) return;
  Allocation leaving = *from;
  switch (report.phase) {
    case ArrivalPhase::expected:
    case ArrivalPhase::coming:
      return;
    case ArrivalPhase::ready: {
      const bool asleep = leaving.sleep && leaving.sleep->wanted;
      if (asleep || !is_leaving(leaving) || is_node_of_slurm(tables, leaving)) return;
      auto& sleep = new_wish(leaving, context);
      sleep.wanted = true;
      sleep.trouble.clear();
      break;
    }
    case ArrivalPhase::refused: {
      row.desired_status = model::DesiredStatus::stop;
      row.desired_description = "its node cannot take the machines that were to come";
      if (!is_leaving(leaving)) return;
      std::vector<Change> none;  // its destination is this row
      stay(none, tables, leaving, report.trouble, context);
      break;
    }
    case ArrivalPhase::arrived:
    case ArrivalPhase::lost:
      (leaving.sleep ? *leaving.sleep : leaving.sleep.emplace()).left = true;
      break;
  }
  touch(leaving, context);
  changes.push_back(tables::PutAllocation{std::move(leaving)});
}

}  // namespace underway::server
