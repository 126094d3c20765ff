#include "server/node/orphan_decisions.hpp"

#include "base/error.hpp"
#include "protocol/origin.hpp"
#include "server/job/job_decisions.hpp"
#include "server/node/node_history.hpp"
#include "tables/orphans.hpp"

namespace underway::server {

std::vector<model::Orphan> find_orphans(const Tables& tables, const std::string& node_id,
                                        const std::vector<protocol::OrderedAllocation>& ordered,
                                        const std::map<std::string, model::Revision>& epochs) {
  std::vector<model::Orphan> out;
  for (const auto& order : ordered) {
    const auto known = tables.find_allocation(order.allocation.id);
    if ((known && known->node_id == node_id) || protocol::is_in_history(order.origin, epochs)) continue;
    out.push_back(order.allocation);
  }
  return out;
}

Decision<EnrolledNode> decide(const Tables& tables, const EnrolNode& enrolling, const Context& context) {
  const auto& [request, epoch] = enrolling;
  auto epochs = reached(history_of(tables), request.ordered, tables.revision());
  auto orphans = find_orphans(tables, request.node.id, request.ordered, epochs);
  const RegisterNode known{request.node, request.secret, request.allocations, std::move(orphans)};
  auto registered = decide(tables, known, context);
  begin_epoch(registered.changes, tables, epoch, context);
  return {std::move(registered.changes), {std::move(registered.result), std::move(epochs)}};
}

void note_orphans(std::vector<Change>& changes, const Tables& tables, model::Node& node,
                  std::vector<model::Orphan> orphans, const Context& context) {
  const auto before = tables::find_record<model::Orphans>(tables, node.id);
  if (orphans.empty()) {
    if (!before) return;
    if (before->closed && !node.drain && node.eligibility == model::Eligibility::ineligible) {
      node.eligibility = model::Eligibility::eligible;
      history::marked(node, context);
    }
    return forget_orphans(changes, node.id);
  }
  model::Orphans now;
  now.node_id = node.id;
  now.node_name = node.name;
  now.allocations = std::move(orphans);
  if (before) {
    now.closed = before->closed;
  } else {
    now.closed = node.eligibility == model::Eligibility::eligible;
    node.eligibility = model::Eligibility::ineligible;
    const std::size_t count = now.allocations.size();
    history::record(node, "Cluster",
                    fmt::format("Runs {} allocation{} that this server does not know", count, count == 1 ? "" : "s"),
                    context);
  }
  if (!before || !describe::equal(*before, now)) changes.push_back(tables::put_record(now));
}

void forget_orphans(std::vector<Change>& changes, const std::string& node_id) {
  changes.push_back(tables::delete_record<model::Orphans>(node_id));
}

namespace {

/// The version that the allocation is of must be known, and a job that has gone on since is not turned back.
void learn_job(std::vector<Change>& changes, const Tables& tables, const model::Job& job) {
  const auto known = tables.find_job(job.ns, job.id);
  if (tables.find_job_version(job.ns, job.id, job.version)) return;
  if (known && known->version > job.version) {
    throw Error(Code::conflict, fmt::format("job '{}' is of version {} here", job.id, known->version))
        .because(fmt::format("what the node runs is of its version {}, of which nothing is known", job.version))
        .advise("stop the orphans, or restore a newer snapshot");
  }
  model::Job learnt = job;
  learnt.job_modify_index = Tables::kThisRevision;
  changes.push_back(tables::PutJob{std::move(learnt), std::nullopt});
}

using JobName = std::pair<std::string, std::string>;  ///< namespace, id

void refuse_half_of_a_job(const Tables& tables, const FoundOrphans& found, const std::set<JobName>& jobs) {
  for (const auto& other : tables::records<model::Orphans>(tables)) {
    if (found.contains(other.node_id)) continue;
    for (const auto& allocation : other.allocations) {
      if (!jobs.contains({allocation.ns, allocation.job_id})) continue;
      throw Error(Code::conflict,
                  fmt::format("job '{}' has orphans on node '{}', too", allocation.job_id, other.node_name))
          .because("those of a job are kept together: what is not known would be replaced")
          .advise("underway node orphans -keep -all");
    }
  }
}

model::Allocation taken_over(const model::Allocation& allocation, const Context& context) {
  model::Allocation row = allocation;
  row.create_index = row.modify_index = 0;
  row.alloc_modify_index = context.revision;
  row.modify_time = unix_nanos(context.now);
  row.eval_id.clear();
  row.deployment_id.clear();
  row.follow_up_eval.clear();
  row.desired_description = "the node was found to run it";
  return row;
}

}  // namespace

Decision<std::int64_t> decide(const Tables& tables, const KeepOrphans& request, const Context& context) {
  const auto& found = request.found;
  Decision<std::int64_t> decision;
  // By version: a job is put as its oldest first, and is its newest in the end.
  std::map<std::tuple<std::string, std::string, std::int64_t>, const model::Job*> jobs;
  std::map<JobName, const model::Job*> newest;
  std::set<JobName> names;
  for (const auto& [node_id, orders] : found) {
    for (const auto& [key, job] : orders.jobs) jobs.emplace(std::tuple(job.ns, job.id, job.version), &job);
  }
  for (const auto& [key, job] : jobs) {
    names.emplace(job->ns, job->id);
    newest[{job->ns, job->id}] = job;
    learn_job(decision.changes, tables, *job);
  }
  refuse_half_of_a_job(tables, found, names);
  for (const auto& [node_id, orders] : found) {
    const auto node = tables.find_node(node_id);
    if (!node) throw Error(Code::not_found, "node not found").because(fmt::format("no node with id '{}'", node_id));
    for (const auto& order : orders.orders) {
      const auto& allocation = order.allocation;
      if (allocation.node_id != node_id || tables.find_allocation(allocation.id)) {
        throw Error(Code::conflict, fmt::format("allocation {} is no orphan of node '{}'", allocation.id, node->name))
            .advise("look again: underway node orphans");
      }
      decision.changes.push_back(tables::PutAllocation{taken_over(allocation, context)});
      ++decision.result;
    }
    // What the node has of them beyond these it tells when it registers next.
    model::Node without = *node;
    note_orphans(decision.changes, tables, without, {}, context);
    if (without.ready()) welcome(decision.changes, tables, without, context);
    decision.changes.push_back(tables::PutNode{std::move(without)});
  }
  for (const auto& name : names) {
    const auto known = tables.find_job(name.first, name.second);
    const model::Job& job = known ? *known : *newest.at(name);
    decision.changes.push_back(tables::PutEvaluation{new_evaluation(job, model::EvalTrigger::node_update, context)});
  }
  return decision;
}

Decision<std::int64_t> decide(const Tables& tables, const StopOrphans& request, const Context&) {
  Decision<std::int64_t> decision;
  for (const auto& id : request.node_ids) {
    if (const auto known = tables::find_record<model::Orphans>(tables, id))
      decision.result += static_cast<std::int64_t>(known->allocations.size());
  }
  return decision;
}

}  // namespace underway::server
