#include "server/node/drain_decisions.hpp"

#include <set>

#include "base/error.hpp"
#include "server/job/job_decisions.hpp"
#include "server/node/move_decisions.hpp"
#include "server/node/node_decisions.hpp"
#include "server/node/node_history.hpp"

namespace underway::server {

using model::Allocation;
using model::JobType;
using model::Node;
using AllocationRow = tables::Row<Allocation>;

namespace {

bool is_system(const Allocation& allocation) { return allocation.job && allocation.job->type == JobType::system; }

/// Runs until it ends by itself.
bool is_batch(const Allocation& allocation) { return allocation.job && allocation.job->runs_to_its_end(); }

void put_mark(std::vector<Change>& changes, const Allocation& allocation, bool migrate, const Context& context) {
  Allocation row = allocation;
  row.transition.migrate = migrate;
  row.transition.with_machines = migrate && can_move(row);
  row.transition.wakes = false;
  row.transition.to_node.clear();
  row.modify_time = unix_nanos(context.now);
  row.alloc_modify_index = context.revision;
  changes.push_back(tables::PutAllocation{std::move(row)});
}

void begin(Node& node, const DrainNode& request, const Context& context) {
  const std::int64_t now = unix_nanos(context.now);
  model::DrainStrategy drain = *request.drain;
  drain.started_at = node.drain ? node.drain->started_at : now;
  drain.force_deadline = drain.deadline > Duration{0} ? now + drain.deadline.count() : 0;
  history::record(node, "Drain", node.drain ? "Node drain strategy updated" : "Node drain strategy set", context);
  node.last_drain = {model::DrainStatus::draining, drain.started_at, now, request.meta, request.accessor_id};
  if (drain.ask_slurm && !node.slurm_drain) node.slurm_drain = {model::SlurmDrainStatus::asked, "", now};
  node.drain = drain;
  node.eligibility = model::Eligibility::ineligible;
}

/// What was marked and has not been stopped yet is wanted where it is.
void cancel(std::vector<Change>& changes, Node& node, const Tables& tables, const DrainNode& request,
            const Context& context) {
  std::set<std::pair<std::string, std::string>> jobs;
  for (const auto& allocation : tables.allocations_on_node(node.id)) {
    if (!allocation->transition.migrate || allocation->terminal()) continue;
    put_mark(changes, *allocation, false, context);
    jobs.emplace(allocation->ns, allocation->job_id);
  }
  // A replacement of it may be waited for, for which there is no need any more.
  for (const auto& [ns, id] : jobs) {
    if (const auto job = tables.find_job(ns, id))
      changes.push_back(tables::PutEvaluation{new_evaluation(*job, model::EvalTrigger::node_drain, context)});
  }
  node.drain.reset();
  history::record(node, "Drain", "Node drain disabled", context);
  if (!node.last_drain) return;
  node.last_drain->status = model::DrainStatus::canceled;
  node.last_drain->updated_at = unix_nanos(context.now);
  if (!request.meta.empty()) node.last_drain->meta = request.meta;
  if (!request.accessor_id.empty()) node.last_drain->accessor_id = request.accessor_id;
}

}  // namespace

Decision<Nothing> decide(const Tables& tables, const DrainNode& request, const Context& context) {
  const auto current = tables.find_node(request.node_id);
  if (!current)
    throw Error(Code::not_found, "node not found").because(fmt::format("no node with id '{}'", request.node_id));
  Decision<Nothing> decision;
  Node node = *current;
  if (request.drain) {
    begin(node, request, context);
  } else {
    if (node.drain) cancel(decision.changes, node, tables, request, context);
    if (request.mark_eligible && node.eligibility != model::Eligibility::eligible) {
      node.eligibility = model::Eligibility::eligible;
      history::marked(node, context);
    }
  }
  if (!current->ready() && node.ready()) welcome(decision.changes, tables, node, context);
  decision.changes.push_back(tables::PutNode{std::move(node)});
  return decision;
}

bool waits_for_slurm(const Node& node, TimePoint now) {
  if (!node.drain || !node.drain->ask_slurm || node.drain->forced(unix_nanos(now))) return false;
  return node.slurm_drain && node.slurm_drain->status != model::SlurmDrainStatus::drained;
}

std::optional<TimePoint> next_drain_deadline(const Tables& tables, TimePoint now) {
  std::optional<TimePoint> next;
  for (const auto& node : tables.nodes()) {
    if (!node->drain || node->drain->force_deadline == 0) continue;
    const TimePoint deadline = from_unix_nanos(node->drain->force_deadline);
    if (deadline > now && (!next || deadline < *next)) next = deadline;
  }
  return next;
}

namespace {

class Drains {
 public:
  Drains(const Tables& tables, const Context& context)
      : tables_(tables), context_(context), now_(unix_nanos(context.now)) {}

  std::vector<Change> run() {
    for (const auto& node : tables_.nodes()) {
      if (node->drain && !waits_for_slurm(*node, context_.now)) look_at(*node);
    }
    for (const auto& [key, candidates] : candidates_) move_some(key, candidates);
    for (const auto& [ns, id] : jobs_) {
      if (const auto job = tables_.find_job(ns, id))
        changes_.push_back(tables::PutEvaluation{new_evaluation(*job, model::EvalTrigger::node_drain, context_)});
    }
    return std::move(changes_);
  }

 private:
  struct GroupKey {
    std::string ns, job, group;
    auto operator<=>(const GroupKey&) const = default;
  };

  void look_at(const Node& node) {
    const bool forced = node.drain->forced(now_);
    std::vector<AllocationRow> services, batch, system;
    for (const auto& allocation : tables_.allocations_on_node(node.id)) {
      if (allocation->client_terminal() || (is_system(*allocation) && node.drain->ignore_system_jobs)) continue;
      (is_system(*allocation) ? system : is_batch(*allocation) ? batch : services).push_back(allocation);
    }
    if (services.empty() && batch.empty() && system.empty()) return complete(node);
    const bool system_alone = services.empty() && batch.empty();
    if (forced) {
      for (const auto* list : {&services, &batch, &system}) {
        for (const auto& allocation : *list) force(*allocation);
      }
      return;
    }
    const std::int64_t asked = node.last_drain ? node.last_drain->updated_at : 0;
    for (const auto& allocation : services) {
      if (!allocation->server_terminal() && !allocation->transition.migrate && !failed_to_move(*allocation, asked))
        candidates_[{allocation->ns, allocation->job_id, allocation->group}].push_back(allocation);
    }
    for (const auto& allocation : system) {
      if (system_alone && !allocation->server_terminal() && !allocation->transition.migrate) mark(*allocation);
    }
  }

  void complete(const Node& node) {
    Node row = node;
    row.drain.reset();
    history::record(row, "Drain", "Node drain complete", context_);
    if (row.last_drain) {
      row.last_drain->status = model::DrainStatus::complete;
      row.last_drain->updated_at = now_;
    }
    changes_.push_back(tables::PutNode{std::move(row)});
  }

  void mark(const Allocation& allocation) {
    put_mark(changes_, allocation, true, context_);
    jobs_.emplace(allocation.ns, allocation.job_id);
  }

  /// What was marked before has no place to go to, and goes all the same: the scheduler sees the deadline too.
  void force(const Allocation& allocation) {
    if (is_leaving(allocation))
      give_up_move(changes_, tables_, allocation, "the drain's deadline has passed", context_);
    if (allocation.server_terminal()) return;
    if (!allocation.transition.migrate) return mark(allocation);
    const auto evaluations = tables_.evaluations_of_job(allocation.ns, allocation.job_id);
    const bool pending = std::any_of(evaluations.begin(), evaluations.end(), [](const auto& e) {
      return e->status == model::EvalStatus::pending && e->wait_until == 0;
    });
    if (!pending) jobs_.emplace(allocation.ns, allocation.job_id);
  }

  /// Moves as many of the group's allocations as may be away together. Those that are not healthy go first: nothing is
  /// lost with them; and canaries, which nobody counts on yet.
  void move_some(const GroupKey& key, std::vector<AllocationRow> candidates) {
    const auto job = tables_.find_job(key.ns, key.job);
    const auto* group = job && !job->stop ? job->find_group(key.group) : nullptr;
    if (group == nullptr) return;  // they are stopped anyway
    std::erase_if(candidates, [&](const AllocationRow& allocation) {
      if (allocation->health.canary) mark(*allocation);
      return allocation->health.canary;
    });
    std::int64_t healthy = 0;
    for (const auto& allocation : tables_.allocations_of_job(key.ns, key.job)) {
      const bool counts = allocation->group == key.group && !allocation->health.canary;
      if (counts && allocation->is_healthy() && !allocation->transition.migrate) ++healthy;
    }
    const auto sick =
        std::count_if(candidates.begin(), candidates.end(), [](const auto& a) { return !a->is_healthy(); });
    std::int64_t room = model::migrate_policy(*job, *group).max_parallel - (group->count - healthy - sick);
    std::sort(candidates.begin(), candidates.end(), [](const AllocationRow& a, const AllocationRow& b) {
      return std::make_tuple(a->is_healthy(), -a->index(), std::string_view(a->id)) <
             std::make_tuple(b->is_healthy(), -b->index(), std::string_view(b->id));
    });
    for (const auto& allocation : candidates) {
      if (--room < 0) return;
      mark(*allocation);
    }
  }

  const Tables& tables_;
  const Context& context_;
  std::int64_t now_;
  std::vector<Change> changes_;
  std::map<GroupKey, std::vector<AllocationRow>> candidates_;
  std::set<std::pair<std::string, std::string>> jobs_;  ///< to be evaluated
};

}  // namespace

Decision<Nothing> decide(const Tables& tables, const AdvanceDrains&, const Context& context) {
  return {Drains(tables, context).run(), {}};
}

}  // namespace underway::server
