#include "tables/tables.hpp"

#include "tables/detail/state.hpp"

namespace underway::tables {

using detail::ScopeKind;
using model::Allocation;
using model::Evaluation;
using model::Job;
using model::Node;

Tables::Tables() : impl_(std::make_unique<Impl>()) {}
Tables::~Tables() = default;

void Tables::publish() { impl_->waiters.wake_touched(); }
Revision Tables::revision() const { return impl_->revision; }
Revision Tables::revision_of(const Scope& scope) const { return std::max<Revision>(1, impl_->revision_of(scope)); }

std::unique_ptr<Tables::Waiter> Tables::wait(std::vector<Scope> scopes, std::function<void()> wake) {
  return impl_->waiters.add(scopes, std::move(wake));
}

void Tables::follow(Follower* follower) {
  impl_->followers.push_back(follower);
  impl_->replay(*follower);
  if (auto* observer = dynamic_cast<Observer*>(follower)) {
    impl_->observers.push_back(observer);
    observer->loaded();
  }
}

Row<Job> Tables::find_job(const std::string& ns, const std::string& id) const {
  const JobEntry* entry = impl_->find_job_entry(ns, id);
  return entry == nullptr ? nullptr : entry->current;
}

std::vector<Row<Job>> Tables::jobs(const std::string& ns, std::string_view prefix) const {
  std::vector<Row<Job>> found;
  const bool everywhere = ns == "*";
  auto it = everywhere ? impl_->jobs.begin() : impl_->jobs.lower_bound({ns, std::string(prefix)});
  for (; it != impl_->jobs.end(); ++it) {
    const bool matches = it->second->id.starts_with(prefix);
    if (!everywhere && (!matches || it->second->ns != ns)) break;
    if (matches) found.push_back(it->second);
  }
  return found;
}

std::vector<Row<JobVersion>> Tables::job_versions(const std::string& ns, const std::string& id) const {
  std::vector<Row<JobVersion>> found;
  const JobEntry* entry = impl_->find_job_entry(ns, id);
  if (entry == nullptr || !entry->current) return found;
  std::size_t untagged = 0;  // what has a tag is kept beside them
  for (auto it = entry->versions.rbegin(); it != entry->versions.rend(); ++it) {
    const auto& record = it->second.record;
    if (!record || record->job.create_index != entry->current->create_index) continue;
    if (record->job.version_tag || ++untagged <= kJobVersions) found.push_back(record);
  }
  return found;
}

Row<Job> Tables::find_job_version(const std::string& ns, const std::string& id, std::int64_t version) const {
  const JobEntry* entry = impl_->find_job_entry(ns, id);
  if (entry == nullptr) return nullptr;
  const auto it = entry->versions.find(version);
  return it == entry->versions.end() ? nullptr : it->second.job;
}

Row<Node> Tables::find_node(const std::string& id) const { return impl_->nodes.find(id); }
std::vector<Row<Node>> Tables::nodes(std::string_view id_prefix) const { return impl_->nodes.rows(id_prefix); }

Row<Node> Tables::find_node_by_host(const std::string& cluster, const std::string& host) const {
  const auto it = impl_->nodes_by_host.find(cluster + "/" + host);
  return it == impl_->nodes_by_host.end() ? nullptr : impl_->nodes.find(it->second.rbegin()->second);
}

Row<Evaluation> Tables::find_evaluation(const std::string& id) const { return impl_->evaluations.find(id); }

std::vector<Row<Evaluation>> Tables::evaluations(std::string_view id_prefix) const {
  auto found = impl_->evaluations.rows(id_prefix);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return detail::NewerLast()(b, a); });
  return found;
}

std::vector<Row<Evaluation>> Tables::evaluations_of_job(const std::string& ns, const std::string& id) const {
  const JobEntry* entry = impl_->find_job_entry(ns, id);
  if (entry == nullptr) return {};
  const auto& rows = entry->evaluations.rows();
  return {rows.rbegin(), rows.rend()};
}

std::vector<Row<Evaluation>> Tables::pending_evaluations() const {
  return {impl_->pending.begin(), impl_->pending.end()};
}
std::vector<Row<Evaluation>> Tables::blocked_evaluations() const {
  return {impl_->blocked.begin(), impl_->blocked.end()};
}

Row<Allocation> Tables::find_allocation(const std::string& id) const { return impl_->allocations.find(id); }
std::vector<Row<Allocation>> Tables::allocations(std::string_view id_prefix) const {
  return impl_->allocations.rows(id_prefix);
}

namespace {
const std::vector<Row<Allocation>> kNoAllocations;
}

const std::vector<Row<Allocation>>& Tables::allocations_of_job(const std::string& ns, const std::string& id) const {
  const JobEntry* entry = impl_->find_job_entry(ns, id);
  return entry == nullptr ? kNoAllocations : entry->allocations.rows();
}

const std::vector<Row<Allocation>>& Tables::allocations_on_node(const std::string& node_id) const {
  const auto it = impl_->node_entries.find(node_id);
  return it == impl_->node_entries.end() ? kNoAllocations : it->second.allocations.rows();
}

std::vector<Row<Allocation>> Tables::allocations_of_evaluation(const std::string& eval_id) const {
  return impl_->allocations_of_evaluation(eval_id);
}

/// Not worth an index of a hundred bytes per allocation: an evaluation's allocations are among its job's.
std::vector<Row<Allocation>> Tables::Impl::allocations_of_evaluation(const std::string& eval_id) const {
  std::vector<Row<Allocation>> found;
  const auto take = [&](const Row<Allocation>& a) {
    if (a->eval_id == eval_id) found.push_back(a);
  };
  if (const auto evaluation = evaluations.find(eval_id)) {
    const JobEntry* entry = find_job_entry(evaluation->ns, evaluation->job_id);
    std::for_each(entry->allocations.rows().begin(), entry->allocations.rows().end(), take);
  } else {
    allocations.each({}, take);  // its evaluation was collected
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a->create_index != b->create_index ? a->create_index < b->create_index : a->id < b->id;
    });
  }
  return found;
}

template <class T>
Row<T> Tables::find(std::string_view key) const {
  const auto& rows = impl_->plain<T>();
  const auto it = rows.find(key);
  return it == rows.end() ? nullptr : it->second;
}

template <class T>
std::vector<Row<T>> Tables::rows(std::string_view key_prefix) const {
  std::vector<Row<T>> found;
  const auto& rows = impl_->plain<T>();
  for (auto it = rows.lower_bound(key_prefix); it != rows.end() && it->first.starts_with(key_prefix); ++it)
    found.push_back(it->second);
  return found;
}

/// Every plain table's look-ups are compiled here.
template <class... T>
void instantiate(const Tables& tables, const std::tuple<T...>*) {
  ((void)tables.find<T>({}), ...);
  ((void)tables.rows<T>({}), ...);
}
template void instantiate(const Tables&, const PlainRows*);

const std::vector<Row<model::Deployment>>& Tables::deployments_of_job(const std::string& ns,
                                                                      const std::string& id) const {
  static const std::vector<Row<model::Deployment>> kNone;
  const JobEntry* entry = impl_->find_job_entry(ns, id);
  return entry == nullptr ? kNone : entry->deployments;
}

std::optional<boost::json::value> Tables::setting(const std::string& key) const {
  const auto it = impl_->settings.find(key);
  return it == impl_->settings.end() ? std::nullopt : std::optional(it->second.value);
}

Row<model::AclToken> Tables::find_token_by_hash(std::string_view secret_hash) const {
  const auto it = impl_->tokens_by_hash.find(secret_hash);
  return it == impl_->tokens_by_hash.end() ? nullptr : it->second;
}

/// Of a group of rows: the newest change of one of them, or when one was deleted anywhere in the table, as nobody keeps
/// count of what is gone per group. A client that asks with an older index is then told once more, never too little.
Revision Tables::Impl::revision_of(const Scope& scope) const {
  const auto [topic, kind, key] = detail::parse(scope);
  const auto index = static_cast<std::size_t>(topic);
  if (kind == ScopeKind::table) return changed[index];
  Revision newest = 0;
  if (kind == ScopeKind::row) return row_revision(topic, key);
  if (kind == ScopeKind::of_job) {
    if (const auto it = job_entries.find(key); it != job_entries.end())
      newest = topic == Topic::allocations ? it->second.allocations_changed : it->second.evaluations_changed;
  } else if (kind == ScopeKind::on_node) {
    if (const auto it = node_entries.find(key); it != node_entries.end()) newest = it->second.allocations_changed;
  } else {
    for (const auto& a : allocations_of_evaluation(std::string(key))) newest = std::max(newest, a->modify_index);
  }
  return std::max(newest, deleted[index]);
}

/// Of one row: its modify index; of an absent one: the newest deletion in its table.
Revision Tables::Impl::row_revision(Topic topic, std::string_view key) const {
  const auto of = [&](const auto& row) { return row ? row->modify_index : deleted[static_cast<std::size_t>(topic)]; };
  switch (topic) {
    case Topic::jobs: {
      const auto it = job_entries.find(key);
      return of(it == job_entries.end() ? Row<Job>() : it->second.current);
    }
    case Topic::nodes:
      return of(nodes.find(key));
    case Topic::evaluations:
      return of(evaluations.find(key));
    case Topic::allocations:
      return of(allocations.find(key));
    case Topic::services: {
      const auto it = services.find(key);
      return it == services.end() ? deleted[static_cast<std::size_t>(topic)] : it->second.changed;
    }
    case Topic::settings: {
      const auto it = settings.find(std::string(key));
      return it == settings.end() ? deleted[static_cast<std::size_t>(topic)] : it->second.modify_index;
    }
    default:
      break;
  }
  Revision found = 0;
  detail::for_each_plain([&]<class T>() {
    if (PlainTable<T>::topic != topic) return;
    const auto it = plain<T>().find(key);
    found = of(it == plain<T>().end() ? Row<T>() : it->second);
  });
  return found;
}

}  // namespace underway::tables
