#include "tables/detail/state.hpp"

namespace underway::tables {

using model::Allocation;
using model::Evaluation;
using model::Job;
using model::Node;

namespace {

template <class T>
bool same_job(const Row<T>& a, const Row<T>& b) {
  return a && b && a->job_id == b->job_id && a->ns == b->ns;
}

/// Moves a row between the groups that it belongs to before and after.
template <class T>
void move_row(detail::OrderedRows<T>* from, detail::OrderedRows<T>* to, const Row<T>& before, const Row<T>& after) {
  if (from != nullptr && from == to && before->create_index == after->create_index) {
    from->replace(before, after);
    return;
  }
  if (from != nullptr) from->erase(before);
  if (to != nullptr) to->insert(after);
}

std::string host_of(const Node& node) { return node.cluster + "/" + node.host; }

}  // namespace

std::string job_name(std::string_view ns, std::string_view id) {
  std::string name;
  name.reserve(ns.size() + 1 + id.size());
  return name.append(ns).append(1, '/').append(id);
}

JobEntry& Tables::Impl::job_entry(std::string_view ns, std::string_view id) {
  std::string name = job_name(ns, id);
  if (const auto it = job_entries.find(name); it != job_entries.end()) return it->second;
  JobEntry& entry = job_entries[name];
  entry.key = std::move(name);
  return entry;
}

const JobEntry* Tables::Impl::find_job_entry(std::string_view ns, std::string_view id) const {
  const auto it = job_entries.find(job_name(ns, id));
  return it == job_entries.end() ? nullptr : &it->second;
}

NodeEntry& Tables::Impl::node_entry(const std::string& id) {
  const auto [it, fresh] = node_entries.try_emplace(id);
  if (fresh) it->second.id = id;
  return it->second;
}

void Tables::Impl::unsettle(JobEntry& entry) {
  if (!std::exchange(entry.unsettled, true)) unsettled_jobs.push_back(&entry);
}

void Tables::Impl::unsettle(NodeEntry& entry) {
  if (!std::exchange(entry.unsettled, true)) unsettled_nodes.push_back(&entry);
}

void Tables::Impl::settle() {
  for (JobEntry* entry : std::exchange(unsettled_jobs, {})) {
    entry->allocations.settle();
    entry->evaluations.settle();
    entry->unsettled = false;
    if (entry->unused()) job_entries.erase(job_entries.find(entry->key));
  }
  for (NodeEntry* entry : std::exchange(unsettled_nodes, {})) {
    entry->allocations.settle();
    entry->unsettled = false;
    if (entry->allocations.empty()) node_entries.erase(node_entries.find(entry->id));
  }
}

Row<Job> Tables::Impl::version_of(const Allocation& allocation) const {
  const JobEntry* entry = find_job_entry(allocation.ns, allocation.job_id);
  if (entry == nullptr) return nullptr;
  const auto it = entry->versions.find(allocation.job_version);
  return it == entry->versions.end() ? nullptr : it->second.job;
}

void Tables::Impl::index_version(JobEntry& entry, std::int64_t version, Row<JobVersion> record) {
  VersionEntry& slot = entry.versions[version];
  slot.job = Row<Job>(record, &record->job);
  slot.record = std::move(record);
}

void Tables::Impl::index_node(const Row<Node>& before, const Row<Node>& after) {
  if (before && !before->host.empty()) {
    const auto it = nodes_by_host.find(host_of(*before));
    it->second.erase({before->create_index, before->id});
    if (it->second.empty()) nodes_by_host.erase(it);
  }
  if (after && !after->host.empty()) nodes_by_host[host_of(*after)].emplace(after->create_index, after->id);
  if (after)
    nodes.put(after);
  else
    nodes.erase(before->id);
}

void Tables::Impl::index_evaluation(const Row<Evaluation>& before, const Row<Evaluation>& after) {
  const auto queue_of = [this](const Evaluation& e) -> EvaluationQueue* {
    if (e.status == model::EvalStatus::pending) return &pending;
    return e.status == model::EvalStatus::blocked ? &blocked : nullptr;
  };
  if (before) {
    if (auto* queue = queue_of(*before)) queue->erase(before);
  }
  if (after) {
    if (auto* queue = queue_of(*after)) queue->insert(after);
  }
  JobEntry* from = before ? &job_entry(before->ns, before->job_id) : nullptr;
  JobEntry* to = after ? (same_job(before, after) ? from : &job_entry(after->ns, after->job_id)) : nullptr;
  move_row(from ? &from->evaluations : nullptr, to ? &to->evaluations : nullptr, before, after);
  if (from) unsettle(*from);
  if (to) {
    unsettle(*to);
    to->evaluations_changed = std::max(to->evaluations_changed, after->modify_index);
  }
  if (after)
    evaluations.put(after);
  else
    evaluations.erase(before->id);
}

void Tables::Impl::index_allocation(const Row<Allocation>& before, const Row<Allocation>& after) {
  JobEntry* from = before ? &job_entry(before->ns, before->job_id) : nullptr;
  JobEntry* to = after ? (same_job(before, after) ? from : &job_entry(after->ns, after->job_id)) : nullptr;
  move_row(from ? &from->allocations : nullptr, to ? &to->allocations : nullptr, before, after);
  if (to) ++to->versions[after->job_version].references;
  if (from) --from->versions[before->job_version].references;
  if (from) unsettle(*from);
  if (to) {
    unsettle(*to);
    to->allocations_changed = std::max(to->allocations_changed, after->modify_index);
  }

  NodeEntry* left = before ? &node_entry(before->node_id) : nullptr;
  NodeEntry* entered = after ? &node_entry(after->node_id) : nullptr;
  move_row(left ? &left->allocations : nullptr, entered ? &entered->allocations : nullptr, before, after);
  if (left) unsettle(*left);
  if (entered) {
    unsettle(*entered);
    entered->allocations_changed = std::max(entered->allocations_changed, after->modify_index);
  }
  index_services(before, after);
  if (after)
    allocations.put(after);
  else
    allocations.erase(before->id);
}

void Tables::Impl::index_plain(const Row<model::Deployment>& before, const Row<model::Deployment>& after) {
  if (before) {
    JobEntry& entry = job_entry(before->ns, before->job_id);
    std::erase(entry.deployments, before);
    unsettle(entry);
  }
  if (!after) return;
  JobEntry& entry = job_entry(after->ns, after->job_id);
  const auto newer = [](const Row<model::Deployment>& a, const Row<model::Deployment>& b) {
    return std::tie(a->create_index, a->id) > std::tie(b->create_index, b->id);
  };
  auto& rows = entry.deployments;
  rows.insert(std::lower_bound(rows.begin(), rows.end(), after, newer), after);
  unsettle(entry);
}

void Tables::Impl::index_plain(const Row<model::AclToken>& before, const Row<model::AclToken>& after) {
  if (before) tokens_by_hash.erase(before->secret_hash);
  if (after) tokens_by_hash[after->secret_hash] = after;
}

}  // namespace underway::tables
