#pragma once
/// @file
/// The rows and indexes of Tables, and the operations that apply and load share. Rows enter and leave the indexes only
/// through the index_* functions, so that both build the same.

#include "tables/detail/id_index.hpp"
#include "tables/detail/ordered_rows.hpp"
#include "tables/detail/waiters.hpp"
#include "tables/observer.hpp"

#include <array>

namespace underway::tables {

/// A version and who refers to it. The record is absent while only allocations name the version.
struct VersionEntry {
  Row<JobVersion> record;
  Row<model::Job> job;         ///< within the record
  std::size_t references = 0;  ///< allocations of this version
};

/// What belongs to a job, also when only its allocations or evaluations are left.
struct JobEntry {
  std::string key;  ///< "ns/id"
  Row<model::Job> current;
  std::map<std::int64_t, VersionEntry> versions;
  detail::OrderedRows<model::Allocation> allocations;
  detail::OrderedRows<model::Evaluation> evaluations;
  std::vector<Row<model::Deployment>> deployments;  ///< newest first
  Revision allocations_changed = 0;                 ///< the newest modify index that was among them
  Revision evaluations_changed = 0;
  bool unsettled = false;

  bool unused() const {
    return !current && versions.empty() && allocations.empty() && evaluations.empty() && deployments.empty();
  }
};

struct NodeEntry {
  std::string id;
  detail::OrderedRows<model::Allocation> allocations;
  Revision allocations_changed = 0;
  bool unsettled = false;
};

/// Pending and blocked evaluations: highest priority, then oldest.
struct QueueOrder {
  bool operator()(const Row<model::Evaluation>& a, const Row<model::Evaluation>& b) const {
    return a->priority != b->priority ? a->priority > b->priority : detail::NewerLast()(a, b);
  }
};
using EvaluationQueue = std::set<Row<model::Evaluation>, QueueOrder>;

/// Who provides a service, in the order of their making.
struct ServiceEntry {
  std::set<std::pair<Revision, std::string>> allocations;  ///< (create index, id)
  Revision changed = 0;
};

struct Setting {
  boost::json::value value;
  Revision modify_index = 0;
};

/// As in the key t/<topic> of the store: who renames a topic renames keys of stores that there are.
inline constexpr const auto& kTopicNames = kNamesOf<Topic>;
template <class V>
using TextMap = std::unordered_map<std::string, V, detail::TransparentHash, std::equal_to<>>;

std::string job_name(std::string_view ns, std::string_view id);  ///< "ns/id"

struct Tables::Impl {
  // Rows.
  std::map<std::pair<std::string, std::string>, Row<model::Job>> jobs;  ///< current ones by (namespace, id)
  TextMap<JobEntry> job_entries;                                        ///< by "ns/id"
  detail::IdIndex<model::Node> nodes;
  TextMap<NodeEntry> node_entries;  ///< by id; of nodes that have, or had, allocations
  TextMap<std::set<std::pair<Revision, std::string>>> nodes_by_host;  ///< "cluster/host" → (create index, id)
  detail::IdIndex<model::Evaluation> evaluations;
  EvaluationQueue pending, blocked;
  detail::IdIndex<model::Allocation> allocations;
  detail::PlainMaps plain_maps;
  TextMap<Row<model::AclToken>> tokens_by_hash;
  std::map<std::string, Setting> settings;
  std::map<std::string, ServiceEntry, std::less<>> services;  ///< by "ns/name"; derived from the allocations

  // Revisions.
  Revision revision = 0;
  std::array<Revision, kTopicCount> changed{};  ///< newest change of each table
  std::array<Revision, kTopicCount> deleted{};  ///< newest deletion, or departure from a group

  // Of the apply at hand.
  std::vector<store::Operation> operations;
  Revision stamp = 0;
  Revision ordered_in = 0;               ///< the revision of which youngest_evaluation is
  std::int64_t youngest_evaluation = 0;  ///< create time
  std::vector<JobEntry*> unsettled_jobs;
  std::vector<NodeEntry*> unsettled_nodes;

  detail::Waiters waiters;
  std::vector<Follower*> followers;
  std::vector<Observer*> observers;  ///< those of the followers that are

  // Changes, in apply.cpp and apply_job.cpp: stamp, write, index, tell.
  void apply(PutJob change);
  void apply(DeleteJob change);
  void apply(PutNode change);
  void apply(DeleteNode change);
  void apply(PutEvaluation change);
  void apply(DeleteEvaluation change);
  void apply(PutAllocation change);
  void apply(DeleteAllocation change);
  template <class T>
  void apply(Put<T> change);
  template <class T>
  void apply(Delete<T> change);
  void apply(PutSetting change);

  /// The map of a plain table.
  template <class T>
  auto& plain() {
    return std::get<std::map<std::string, Row<T>, std::less<>>>(plain_maps);
  }
  template <class T>
  const auto& plain() const {
    return std::get<std::map<std::string, Row<T>, std::less<>>>(plain_maps);
  }

  template <class T>
  void stamp_row(T& row, const Row<T>& before);
  void order(model::Evaluation& evaluation, const Row<model::Evaluation>& before);
  void write(std::string key, std::string value);
  void erase(std::string key);
  void note_change(Topic topic, std::string_view key);
  void note_deletion(Topic topic);

  void write_version(JobEntry& entry, const model::Job& job, std::optional<model::JobSubmission> submission);
  void relink(JobEntry& entry, std::int64_t version);
  void prune_versions(JobEntry& entry);
  /// What prune_versions drops: neither among the newest of the job, nor named by an allocation.
  std::vector<std::int64_t> superfluous_versions(const JobEntry& entry) const;

  void touch_allocation(const model::Allocation& allocation);
  void allocation_changed(const Row<model::Allocation>& before, const Row<model::Allocation>& after);

  // Indexes, in index.cpp; either row may be null.
  void index_version(JobEntry& entry, std::int64_t version, Row<JobVersion> record);
  void index_node(const Row<model::Node>& before, const Row<model::Node>& after);
  void index_evaluation(const Row<model::Evaluation>& before, const Row<model::Evaluation>& after);
  void index_allocation(const Row<model::Allocation>& before, const Row<model::Allocation>& after);
  void index_services(const Row<model::Allocation>& before, const Row<model::Allocation>& after);  ///< services.cpp
  void index_plain(const Row<model::Deployment>& before, const Row<model::Deployment>& after);
  void index_plain(const Row<model::AclToken>& before, const Row<model::AclToken>& after);
  template <class T>
  void index_plain(const Row<T>&, const Row<T>&) {}  ///< most plain tables have no further index
  void settle();

  JobEntry& job_entry(std::string_view ns, std::string_view id);
  const JobEntry* find_job_entry(std::string_view ns, std::string_view id) const;
  NodeEntry& node_entry(const std::string& id);
  Row<model::Job> version_of(const model::Allocation& allocation) const;
  void unsettle(JobEntry& entry);
  void unsettle(NodeEntry& entry);

  // load.cpp
  void clear();
  void load(store::Store& store);
  void load_page(std::string_view table, const std::vector<store::KeyValue>& page);
  template <class T>
  void load_plain(const std::vector<store::KeyValue>& page);
  void load_topic(const store::KeyValue& kv);
  void replay(Follower& follower) const;

  // Queries that need more than a look-up, in tables.cpp.
  Revision revision_of(const Scope& scope) const;
  Revision row_revision(Topic topic, std::string_view key) const;
  std::vector<Row<model::Allocation>> allocations_of_evaluation(const std::string& eval_id) const;
};

}  // namespace underway::tables
