#include "server/node/node_decisions.hpp"

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "scheduler/schedule.hpp"
#include "server/detail/reports.hpp"
#include "server/job/dependencies.hpp"
#include "server/job/evaluation_decisions.hpp"
#include "server/job/job_decisions.hpp"
#include "server/node/host_volume_decisions.hpp"
#include "server/node/node_history.hpp"
#include "server/node/node_pool_decisions.hpp"
#include "server/node/orphan_decisions.hpp"

namespace underway::server {

using model::ClientStatus;
using model::EvalTrigger;

namespace {

tables::Row<model::Node> get_node(const Tables& tables, const std::string& id) {
  auto node = tables.find_node(id);
  if (!node) throw Error(Code::not_found, "node not found").because(fmt::format("no node with id '{}'", id));
  return node;
}

/// One evaluation for every job that runs on the nodes, and for every system job, which may run there.
void evaluate_jobs_of(std::vector<Change>& changes, const Tables& tables, const std::vector<std::string>& node_ids,
                      const Context& context) {
  std::set<std::pair<std::string, std::string>> jobs;
  for (const auto& node_id : node_ids) {
    for (const auto& allocation : tables.allocations_on_node(node_id)) {
      if (!allocation->terminal()) jobs.emplace(allocation->ns, allocation->job_id);
    }
  }
  for (const auto& job : tables.jobs()) {
    const bool system = job->type == model::JobType::system || job->type == model::JobType::sysbatch;
    if (system && !job->stop && !job->starts_others()) jobs.emplace(job->ns, job->id);
  }
  for (const auto& [ns, id] : jobs) {
    const auto job = tables.find_job(ns, id);
    if (!job) continue;
    auto evaluation = new_evaluation(*job, EvalTrigger::node_update, context);
    if (node_ids.size() == 1) evaluation.node_id = node_ids.front();
    changes.push_back(tables::PutEvaluation{std::move(evaluation)});
  }
}

std::string secret_key(const std::string& node_id) { return "node-secret/" + node_id; }

std::string digest(const std::string& secret) { return hex(crypto::sha256(secret)); }

/// The first agent with an id fixes its secret; whoever comes with another one is not that node.
void prove_identity(std::vector<Change>& changes, const Tables& tables, const model::Node& node,
                    const std::string& secret) {
  check_node_secret(tables, node.id, node.name, secret);
  const std::string key = secret_key(node.id);
  if (!tables.setting(key)) changes.push_back(tables::PutSetting{key, boost::json::value(digest(secret))});
}

/// Links a host of ours with the node that its agent became.
void adopt_host(std::vector<Change>& changes, const Tables& tables, const model::Node& node) {
  if (node.host.empty()) return;
  const auto host = tables.find_host(node.cluster, node.host);
  if (!host || host->node_id == node.id) return;
  model::Host changed = *host;
  changed.node_id = node.id;
  changed.status_description.clear();  // why it had not joined
  changes.push_back(tables::PutHost{std::move(changed)});
}

}  // namespace

void forget_node(std::vector<Change>& changes, const std::string& node_id) {
  changes.push_back(tables::PutSetting{secret_key(node_id), nullptr});
  changes.push_back(tables::DeleteNode{node_id});
  forget_orphans(changes, node_id);
}

void check_node_secret(const Tables& tables, const std::string& node_id, const std::string& name,
                       const std::string& secret) {
  const auto known = tables.setting(secret_key(node_id));
  if (!known || crypto::equal_in_constant_time(std::string_view(known->as_string()), digest(secret))) return;
  throw Error(Code::denied, fmt::format("node '{}' is known with another secret", name))
      .because("its data directory was copied, or lost its secret")
      .advise("remove the agent's data directory, so that it joins as a new node");
}

void unblock(std::vector<Change>& changes, const Tables& tables, const model::Node& node, const Context& context) {
  for (const auto& blocked : tables.blocked_evaluations()) {
    if (scheduler::could_unblock(*blocked, node)) changes.push_back(awake(*blocked, context));
  }
}

namespace {

/// Whether what was given up can be had again: nothing that was placed there since has its port, core or device, or
/// needs its room.
bool has_its_place(const Tables& tables, const model::Node& node, const model::Allocation& given_up,
                   const std::vector<tables::Row<model::Allocation>>& taken_back) {
  auto others = taken_back;
  for (const auto& row : tables.allocations_on_node(node.id)) {
    if (!row->terminal() && row->id != given_up.id) others.push_back(row);
  }
  scheduler::Amount used = scheduler::amount_of(given_up);
  bool taken = false;
  for (const auto& other : others) {
    if (exclude_each_other(given_up, *other)) return false;
    taken = taken || other->create_index > given_up.alloc_modify_index;
    const auto amount = scheduler::amount_of(*other);
    used.cpu += amount.cpu;
    used.memory_mb += amount.memory_mb;
  }
  const auto capacity = scheduler::capacity_of(node);
  return !taken || (used.cpu <= capacity.cpu && used.memory_mb <= capacity.memory_mb);
}

/// Takes back what was only given up with its node, when that comes back and still runs it. One node's, one by one.
class TakingBack {
 public:
  TakingBack(std::vector<Change>& changes, const Tables& tables, const model::Node& node, const Context& context)
      : changes_(changes), tables_(tables), node_(node), context_(context) {}

  void operator()(const tables::Row<model::Allocation>& current, model::Allocation& row) {
    const auto job = tables_.find_job(row.ns, row.job_id);
    const bool stands = job && !job->stop && job->create_index <= row.create_index;
    if (current->client_status != ClientStatus::lost || row.client_terminal() || !stands ||
        replaced(tables_, *job, row) || !has_its_place(tables_, node_, *current, taken_back_))
      return;
    taken_back_.push_back(current);
    row.desired_status = model::DesiredStatus::run;
    row.desired_description = "the node came back with it";
    row.alloc_modify_index = context_.revision;
    changes_.push_back(tables::PutEvaluation{new_evaluation(*job, EvalTrigger::node_update, context_)});
  }

 private:
  std::vector<Change>& changes_;
  const Tables& tables_;
  const model::Node& node_;
  const Context& context_;
  std::vector<tables::Row<model::Allocation>> taken_back_;
};

}  // namespace

namespace {

bool same_volumes(const model::Node& a, const model::Node& b) {
  return std::equal(a.volumes.begin(), a.volumes.end(), b.volumes.begin(), b.volumes.end(),
                    [](const auto& one, const auto& other) {
                      return one.first == other.first && describe::equal(one.second, other.second);
                    });
}

}  // namespace

Decision<RegisteredNode> decide(const Tables& tables, const RegisterNode& request, const Context& context) {
  const auto& registering = request.node;
  const auto& secret = request.secret;
  const auto& running = request.running;
  auto orphans = request.orphans;
  if (!is_uuid(registering.id))
    throw Error(Code::invalid, "a node must register with a UUID")
        .because(fmt::format("its id is '{}'", registering.id));
  Decision<RegisteredNode> decision;
  prove_identity(decision.changes, tables, registering, secret);
  const auto current = tables.find_node(registering.id);
  model::Node node = registering;
  node.status = model::NodeStatus::ready;
  node.status_description.clear();
  node.status_updated_at = unix_nanos(context.now) / 1'000'000'000;
  admit_volumes(decision.changes, tables, node);
  node.computed_class = model::compute_class(node);
  if (current) {
    node.eligibility = current->eligibility;
    node.drain = current->drain;
    node.last_drain = current->last_drain;
    node.slurm_drain = current->slurm_drain;
  }

  decision.result = {node.id, !current || current->status != model::NodeStatus::ready};
  history::registered(node, current.get(), context);
  note_orphans(decision.changes, tables, node, std::move(orphans), context);
  const bool changed =
      current && (current->computed_class != node.computed_class || current->eligibility != node.eligibility ||
                  !describe::equal(current->resources, node.resources) ||
                  !describe::equal(current->reserved, node.reserved) || !same_volumes(*current, node));
  ensure_node_pool(decision.changes, tables, node.node_pool);
  adopt_host(decision.changes, tables, node);
  TakingBack take_back(decision.changes, tables, node, context);
  const bool freed = detail::enter_reports(decision.changes, tables, node.id, running, context, take_back);
  const bool news = decision.result.became_ready || changed;
  if (news) evaluate_jobs_of(decision.changes, tables, {node.id}, context);
  if ((news || freed) && node.ready()) unblock(decision.changes, tables, node, context);
  decision.changes.push_back(tables::PutNode{std::move(node)});
  return decision;
}

namespace {

/// Whether something on the node may go on though nobody hears of it, and matters: what is not wanted any more does
/// not, unless it must not run twice.
bool may_run_on(const Tables& tables, const std::string& node_id) {
  const auto& rows = tables.allocations_on_node(node_id);
  return std::any_of(rows.begin(), rows.end(), [](const auto& row) {
    if (model::may_run_still(*row)) return true;
    const bool running = row->client_status == ClientStatus::running || row->client_status == ClientStatus::unknown;
    return running && !row->terminal() && model::disconnect_policy(*row).unknown_for();
  });
}

/// What was to stop on a node that is down will not tell that it has.
void give_up_stopped(std::vector<Change>& changes, const Tables& tables, const std::string& node_id,
                     const Context& context) {
  for (const auto& allocation : tables.allocations_on_node(node_id)) {
    if (!allocation->server_terminal() || allocation->client_terminal()) continue;
    model::Allocation row = *allocation;
    row.client_status = ClientStatus::lost;
    row.client_description = "the node is down";
    row.unknown_since = 0;
    row.modify_time = unix_nanos(context.now);
    changes.push_back(tables::PutAllocation{std::move(row)});
  }
}

model::Node silent_node(const model::Node& current, model::NodeStatus status, const std::string& reason,
                        const Context& context) {
  model::Node node = current;
  node.status = status;
  node.status_description = reason;
  node.status_updated_at = unix_nanos(context.now) / 1'000'000'000;
  if (!current.silent()) history::record(node, "Cluster", "Node heartbeat missed", context);
  return node;
}

}  // namespace

Decision<std::vector<std::string>> decide(const Tables& tables, const MarkNodesDown& request, const Context& context) {
  Decision<std::vector<std::string>> decision;
  std::vector<std::string> silent;
  for (const auto& id : request.node_ids) {
    const auto current = tables.find_node(id);
    if (!current || current->silent() || (request.is_heard && request.is_heard(id))) continue;
    const bool waits = may_run_on(tables, id);
    if (!waits) give_up_stopped(decision.changes, tables, id, context);
    const auto status = waits ? model::NodeStatus::disconnected : model::NodeStatus::down;
    decision.changes.push_back(tables::PutNode{silent_node(*current, status, request.reason, context)});
    decision.result.push_back(current->name);
    silent.push_back(id);
  }
  if (!silent.empty()) evaluate_jobs_of(decision.changes, tables, silent, context);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const GiveNodesUp& request, const Context& context) {
  const auto& node_ids = request.node_ids;
  Decision<Nothing> decision;
  for (const auto& id : node_ids) {
    const auto current = tables.find_node(id);
    if (!current || current->status != model::NodeStatus::disconnected || may_run_on(tables, id)) continue;
    give_up_stopped(decision.changes, tables, id, context);
    decision.changes.push_back(
        tables::PutNode{silent_node(*current, model::NodeStatus::down, current->status_description, context)});
  }
  return decision;
}

void welcome(std::vector<Change>& changes, const Tables& tables, const model::Node& node, const Context& context) {
  evaluate_jobs_of(changes, tables, {node.id}, context);
  unblock(changes, tables, node, context);
}

Decision<Nothing> decide(const Tables& tables, const SetEligibility& request, const Context& context) {
  const auto& [node_id, eligibility] = request;
  const auto current = get_node(tables, node_id);
  Decision<Nothing> decision;
  if (current->eligibility == eligibility) return decision;
  if (current->drain) {
    throw Error(Code::conflict, fmt::format("node '{}' cannot be made eligible while it is drained", current->name))
        .advise("end the drain: `underway node drain -disable`");
  }
  model::Node node = *current;
  node.eligibility = eligibility;
  history::marked(node, context);
  if (node.ready()) welcome(decision.changes, tables, node, context);
  decision.changes.push_back(tables::PutNode{std::move(node)});
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const PurgeNode& request, const Context& context) {
  const auto& node_id = request.node_id;
  const auto node = get_node(tables, node_id);
  if (!node->silent()) {
    throw Error(Code::conflict, fmt::format("node '{}' is not down", node->name)).advise("stop its agent first");
  }
  Decision<Nothing> decision;
  evaluate_jobs_of(decision.changes, tables, {node_id}, context);
  for (const auto& allocation : tables.allocations_on_node(node_id))
    decision.changes.push_back(tables::DeleteAllocation{allocation->id});
  forget_node(decision.changes, node_id);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const UpdateAllocations& request, const Context& context) {
  const auto& [node_id, updates] = request;
  Decision<Nothing> decision;
  const bool freed = detail::enter_reports(decision.changes, tables, node_id, updates, context);
  const auto node = tables.find_node(node_id);
  if (freed && node && node->ready()) unblock(decision.changes, tables, *node, context);
  return decision;
}

Decision<std::vector<std::string>> decide(const Tables& tables, const EvaluateNode& request, const Context& context) {
  const auto& node_id = request.node_id;
  const auto node = get_node(tables, node_id);
  Decision<std::vector<std::string>> decision;
  evaluate_jobs_of(decision.changes, tables, {node->id}, context);
  for (const auto& change : decision.changes) {
    if (const auto* put = std::get_if<tables::PutEvaluation>(&change)) decision.result.push_back(put->evaluation.id);
  }
  return decision;
}

Decision<std::string> decide(const Tables& tables, const StopAllocation& request, const Context& context) {
  const auto current = tables.find_allocation(request.id);
  if (!current)
    throw Error(Code::not_found, "alloc not found").because(fmt::format("no allocation with id '{}'", request.id));
  Decision<std::string> decision;
  const auto job = tables.find_job(current->ns, current->job_id);
  model::Allocation allocation = *current;
  allocation.desired_status = model::DesiredStatus::stop;
  allocation.desired_description = "alloc was stopped by an operator";
  allocation.transition.with_machines = false;
  // What has done its work is over; anything else goes on in another one, which is its successor.
  if (allocation.client_status != ClientStatus::complete) allocation.transition.migrate = true;
  if (request.reschedule) allocation.transition.reschedule = true;
  if (request.no_shutdown_delay) allocation.transition.no_shutdown_delay = true;
  allocation.alloc_modify_index = context.revision;
  allocation.modify_time = unix_nanos(context.now);
  decision.changes.push_back(tables::PutAllocation{std::move(allocation)});
  if (job) {
    auto evaluation = new_evaluation(*job, EvalTrigger::alloc_stop, context);
    decision.result = evaluation.id;
    decision.changes.push_back(tables::PutEvaluation{std::move(evaluation)});
  }
  return decision;
}

}  // namespace underway::server
