#include "tables/detail/codec.hpp"
#include "tables/detail/state.hpp"
#include "tables/keys.hpp"

namespace underway::tables {

using detail::ScopeKind;
using model::Allocation;
using model::Evaluation;
using model::Node;

namespace {

/// "This commit" when the decision says so, or leaves a new row's at nothing.
void stamp_if_asked(Revision& index, bool fresh, Revision now) {
  if (index == Tables::kThisRevision || (fresh && index == 0)) index = now;
}

}  // namespace

std::vector<store::Operation> Tables::apply(std::vector<Change> changes, Revision revision) {
  impl_->stamp = revision;
  const auto apply_one = [this](auto&& change) { impl_->apply(std::forward<decltype(change)>(change)); };
  for (auto& change : changes) std::visit(apply_one, std::move(change));
  impl_->settle();
  if (!impl_->operations.empty()) impl_->revision = revision;
  return std::exchange(impl_->operations, {});
}

void Tables::Impl::write(std::string key, std::string value) {
  operations.emplace_back(store::Put{std::move(key), std::move(value)});
}

void Tables::Impl::erase(std::string key) {
  operations.emplace_back(store::Delete{store::KeyRange::one(std::move(key))});
}

void Tables::Impl::note_change(Topic topic, std::string_view key) {
  changed[static_cast<std::size_t>(topic)] = stamp;
  waiters.touch(topic, ScopeKind::table, {});
  waiters.touch(topic, ScopeKind::row, key);
}

void Tables::Impl::note_deletion(Topic topic) {
  const auto index = static_cast<std::size_t>(topic);
  if (deleted[index] == stamp) return;
  deleted[index] = stamp;
  write(topic_key(kTopicNames[index]), {});
}

/// The indexes are the key's revisions: set here, left out of the value, and read from the key by load().
template <class T>
void Tables::Impl::stamp_row(T& row, const Row<T>& before) {
  row.create_index = before ? before->create_index : stamp;
  row.modify_index = stamp;
}

namespace {

template <class T>
std::string value_of(T& row) {
  row.create_index = row.modify_index = 0;
  return detail::encode_row(row);
}

}  // namespace

void Tables::Impl::apply(PutNode change) {
  Node& node = change.node;
  const Row<Node> before = nodes.find(node.id);
  write(node_key(node.id), value_of(node));
  stamp_row(node, before);
  const auto after = std::make_shared<const Node>(std::move(node));
  index_node(before, after);
  note_change(Topic::nodes, after->id);
  for (auto* follower : followers) follower->node_changed(before, after);
}

void Tables::Impl::apply(DeleteNode change) {
  const Row<Node> before = nodes.find(change.id);
  if (!before) return;
  erase(node_key(before->id));
  index_node(before, nullptr);
  note_deletion(Topic::nodes);
  note_change(Topic::nodes, before->id);
  for (auto* follower : followers) follower->node_changed(before, nullptr);
}

/// In a revision the clock stands still: each new evaluation of it is a nanosecond younger than the one before.
void Tables::Impl::order(Evaluation& evaluation, const Row<Evaluation>& before) {
  if (before) {
    evaluation.create_time = before->create_time;  // its place is kept by it
    return;
  }
  if (std::exchange(ordered_in, stamp) == stamp)
    evaluation.create_time = std::max(evaluation.create_time, youngest_evaluation + 1);
  youngest_evaluation = evaluation.create_time;
}

void Tables::Impl::apply(PutEvaluation change) {
  Evaluation& evaluation = change.evaluation;
  const Row<Evaluation> before = evaluations.find(evaluation.id);
  stamp_if_asked(evaluation.job_modify_index, false, stamp);
  order(evaluation, before);
  write(evaluation_key(evaluation.id), value_of(evaluation));
  stamp_row(evaluation, before);
  const auto after = std::make_shared<const Evaluation>(std::move(evaluation));
  index_evaluation(before, after);
  for (auto* observer : observers) observer->evaluation_changed(before, after);
  note_change(Topic::evaluations, after->id);
  waiters.touch(Topic::evaluations, ScopeKind::of_job, job_name(after->ns, after->job_id));
  if (before && (before->job_id != after->job_id || before->ns != after->ns)) {
    note_deletion(Topic::evaluations);
    waiters.touch(Topic::evaluations, ScopeKind::of_job, job_name(before->ns, before->job_id));
  }
}

void Tables::Impl::apply(DeleteEvaluation change) {
  const Row<Evaluation> before = evaluations.find(change.id);
  if (!before) return;
  erase(evaluation_key(before->id));
  index_evaluation(before, nullptr);
  for (auto* observer : observers) observer->evaluation_changed(before, nullptr);
  note_deletion(Topic::evaluations);
  note_change(Topic::evaluations, before->id);
  waiters.touch(Topic::evaluations, ScopeKind::of_job, job_name(before->ns, before->job_id));
}

void Tables::Impl::apply(PutAllocation change) {
  Allocation& allocation = change.allocation;
  const Row<Allocation> before = allocations.find(allocation.id);
  stamp_if_asked(allocation.alloc_modify_index, !before, stamp);
  write(allocation_key(allocation.id), value_of(allocation));
  stamp_row(allocation, before);
  allocation.job = version_of(allocation);
  detail::trim(allocation);
  allocation_changed(before, std::make_shared<const Allocation>(std::move(allocation)));
}

void Tables::Impl::apply(DeleteAllocation change) {
  const Row<Allocation> before = allocations.find(change.id);
  if (!before) return;
  erase(allocation_key(before->id));
  allocation_changed(before, nullptr);
}

void Tables::Impl::touch_allocation(const Allocation& allocation) {
  note_change(Topic::allocations, allocation.id);
  waiters.touch(Topic::allocations, ScopeKind::on_node, allocation.node_id);
  waiters.touch(Topic::allocations, ScopeKind::of_evaluation, allocation.eval_id);
  waiters.touch(Topic::allocations, ScopeKind::of_job, job_name(allocation.ns, allocation.job_id));
}

void Tables::Impl::allocation_changed(const Row<Allocation>& before, const Row<Allocation>& after) {
  index_allocation(before, after);
  const bool leaves = before && (!after || before->node_id != after->node_id || before->job_id != after->job_id ||
                                 before->ns != after->ns || before->eval_id != after->eval_id);
  if (leaves) note_deletion(Topic::allocations);
  if (leaves) touch_allocation(*before);
  if (after) touch_allocation(*after);
  // The last allocation of an old version takes the version with it.
  const bool releases = before && (leaves || before->job_version != after->job_version);
  if (releases) prune_versions(job_entry(before->ns, before->job_id));
  for (auto* follower : followers) follower->allocation_changed(before, after);
}

namespace {

void tell(Observer& observer, const Row<model::Deployment>& before, const Row<model::Deployment>& after) {
  observer.deployment_changed(before, after);
}
void tell(Observer& observer, const Row<model::Cluster>& before, const Row<model::Cluster>& after) {
  observer.cluster_changed(before, after);
}
void tell(Observer& observer, const Row<model::Host>& before, const Row<model::Host>& after) {
  observer.host_changed(before, after);
}
void tell(Observer& observer, const Row<model::Variable>& before, const Row<model::Variable>& after) {
  observer.variable_changed(before, after);
}
void tell(Observer& observer, const Row<model::AclPolicy>& before, const Row<model::AclPolicy>& after) {
  observer.acl_policy_changed(before, after);
}
void tell(Observer& observer, const Row<model::AclToken>& before, const Row<model::AclToken>& after) {
  observer.acl_token_changed(before, after);
}
void tell(Observer& observer, const Row<model::AclRole>& before, const Row<model::AclRole>& after) {
  observer.acl_role_changed(before, after);
}
void tell(Observer& observer, const Row<model::Record>& before, const Row<model::Record>& after) {
  observer.record_changed(before, after);
}
/// Of the other plain tables nobody is told.
template <class T>
void tell(Observer&, const Row<T>&, const Row<T>&) {}

}  // namespace

template <class T>
void Tables::Impl::apply(Put<T> change) {
  using Table = PlainTable<T>;
  std::string key = Table::key(change.row);
  auto& slot = plain<T>()[key];
  const Row<T> before = slot;
  write(std::string(Table::prefix) + key, value_of(change.row));
  stamp_row(change.row, before);
  slot = std::make_shared<const T>(std::move(change.row));
  index_plain(before, slot);
  for (auto* observer : observers) tell(*observer, before, slot);
  note_change(Table::topic, key);
}

template <class T>
void Tables::Impl::apply(Delete<T> change) {
  using Table = PlainTable<T>;
  const auto it = plain<T>().find(change.key);
  if (it == plain<T>().end()) return;
  const Row<T> before = it->second;
  plain<T>().erase(it);
  erase(std::string(Table::prefix) + change.key);
  index_plain(before, Row<T>());
  for (auto* observer : observers) tell(*observer, before, Row<T>());
  note_deletion(Table::topic);
  note_change(Table::topic, change.key);
}

void Tables::Impl::apply(PutSetting change) {
  if (change.value.is_null()) {
    if (settings.erase(change.key) == 0) return;
    erase(setting_key(change.key));
    note_deletion(Topic::settings);
  } else {
    write(setting_key(change.key), boost::json::serialize(change.value));
    settings[change.key] = {std::move(change.value), stamp};
  }
  note_change(Topic::settings, change.key);
}

}  // namespace underway::tables
