#pragma once
/// @file
/// The model in memory, with indexes, revisions and waiters. One thread (the control loop) owns it.
///
/// A decision is a list of Changes. The writer stamps them with the coming revision, applies them here and commits
/// their keys to the store; while a commit is in flight no reader looks (server::Writer), so nobody sees what is not
/// durable. A failed commit is answered by loading everything again. Rows are immutable and shared: readers, the link
/// and in-flight responses keep what they hold.

#include "model/evaluation.hpp"
#include "model/node/node.hpp"
#include "store/store.hpp"
#include "tables/plain.hpp"

#include <functional>
#include <memory>
#include <set>
#include <unordered_map>

namespace underway::tables {

using model::Revision;
template <class T>
using Row = std::shared_ptr<const T>;

/// A job version that is no longer (or again) the current one.
struct JobVersion {
  model::Job job;
  model::JobSubmission submission;
};

/// What a decision changes: rows to put, keys to delete.
struct PutJob {
  model::Job job;
  std::optional<model::JobSubmission> submission;
};  ///< new version when job.version grew; without a submission, a known version keeps its own
struct DeleteJob {
  std::string ns, id;
};  ///< with its versions; those that allocations are of go with the last of these
struct PutNode {
  model::Node node;
};
struct DeleteNode {
  std::string id;
};
struct PutEvaluation {
  model::Evaluation evaluation;
};
struct DeleteEvaluation {
  std::string id;
};
struct PutAllocation {
  model::Allocation allocation;
};
struct DeleteAllocation {
  std::string id;
};
using PutCluster = Put<model::Cluster>;
using DeleteCluster = Delete<model::Cluster>;
using PutHost = Put<model::Host>;
using DeleteHost = Delete<model::Host>;  ///< by "cluster/name"
using PutDeployment = Put<model::Deployment>;
using DeleteDeployment = Delete<model::Deployment>;
using PutJoinToken = Put<model::JoinToken>;
using DeleteJoinToken = Delete<model::JoinToken>;
using PutVariable = Put<model::Variable>;
using DeleteVariable = Delete<model::Variable>;  ///< by "ns/path"; as the next
using PutLease = Put<model::VariableLease>;
using DeleteLease = Delete<model::VariableLease>;
using PutNamespace = Put<model::Namespace>;
using DeleteNamespace = Delete<model::Namespace>;
using PutAclPolicy = Put<model::AclPolicy>;
using DeleteAclPolicy = Delete<model::AclPolicy>;
using PutAclToken = Put<model::AclToken>;
using DeleteAclToken = Delete<model::AclToken>;  ///< by accessor id
using PutAclRole = Put<model::AclRole>;
using DeleteAclRole = Delete<model::AclRole>;  ///< by id
using PutRecord = Put<model::Record>;          ///< see tables/records.hpp
using DeleteRecord = Delete<model::Record>;    ///< by "kind/name"
/// Anything else that must be durable, by key below "x/": scheduler configuration, tokens. Not indexed. Null removes
/// it.
struct PutSetting {
  std::string key;
  boost::json::value value;
};
using Change = std::variant<PutJob, DeleteJob, PutNode, DeleteNode, PutEvaluation, DeleteEvaluation, PutAllocation,
                            DeleteAllocation, PutCluster, DeleteCluster, PutHost, DeleteHost, PutDeployment,
                            DeleteDeployment, PutJoinToken, DeleteJoinToken, PutVariable, DeleteVariable, PutLease,
                            DeleteLease, PutNamespace, DeleteNamespace, PutAclPolicy, DeleteAclPolicy, PutAclToken,
                            DeleteAclToken, PutAclRole, DeleteAclRole, PutRecord, DeleteRecord, PutSetting>;

struct Scope {
  Topic topic;
  /// "" the table; jobs: "ns/id"; nodes, evaluations, allocations: id; allocations also "job:ns/id", "node:id" and
  /// "eval:id"; evaluations also "job:ns/id"; services: "ns/name"; of plain tables the row's key.
  std::string key;
  bool operator==(const Scope&) const = default;
};

class Tables {
 public:
  Tables();
  ~Tables();
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  /// Replaces everything by what the store holds. Throws Error(internal) naming the key that cannot be read.
  void load(store::Store& store);
  /// Applies `changes` as of `revision` and returns the store operations that make them durable. Stamps create_index,
  /// modify_index (and job_modify_index, alloc_modify_index, when the change asks by leaving them at kThisRevision, or
  /// leaves a new job's or allocation's at 0). Total and deterministic. Waiters are collected, not yet woken.
  /// A revision may be applied in several calls, whose operations then go into one transaction in that order. Without
  /// effect (deletions of what is not there) there are no operations and the revision stays.
  std::vector<store::Operation> apply(std::vector<Change> changes, Revision revision);
  /// Put into a modify index by a decision to say "the revision of this commit".
  static constexpr Revision kThisRevision = -1;
  /// Wakes the waiters of everything applied since the last call: call it once the commit is durable.
  void publish();

  Revision revision() const;  ///< of the last apply or load
  /// Last change in the scope; at least 1, as clients refuse index 0. Of rows that are gone, and of groups of rows, it
  /// may be the newest deletion anywhere in their table.
  Revision revision_of(const Scope&) const;

  Row<model::Job> find_job(const std::string& ns, const std::string& id) const;
  /// `prefix` of the id; ns "*" is all. In order of (namespace, id).
  std::vector<Row<model::Job>> jobs(const std::string& ns = "*", std::string_view prefix = {}) const;
  /// Newest first, as they were registered; at most kJobVersions. Older ones are kept, for find_job_version, as long as
  /// an allocation is of that version: Allocation::job is there for every allocation whose version ever was.
  std::vector<Row<JobVersion>> job_versions(const std::string& ns, const std::string& id) const;
  Row<model::Job> find_job_version(const std::string& ns, const std::string& id, std::int64_t version) const;
  static constexpr std::size_t kJobVersions = 6;

  Row<model::Node> find_node(const std::string& id) const;
  std::vector<Row<model::Node>> nodes(std::string_view id_prefix = {}) const;  ///< by id
  /// The newest, should several claim to be on that host.
  Row<model::Node> find_node_by_host(const std::string& cluster, const std::string& host) const;

  Row<model::Evaluation> find_evaluation(const std::string& id) const;
  std::vector<Row<model::Evaluation>> evaluations(std::string_view id_prefix = {}) const;  ///< newest first
  std::vector<Row<model::Evaluation>> evaluations_of_job(const std::string& ns, const std::string& id) const;
  std::vector<Row<model::Evaluation>> pending_evaluations() const;  ///< highest priority, then oldest first
  std::vector<Row<model::Evaluation>> blocked_evaluations() const;  ///< in the same order

  Row<model::Allocation> find_allocation(const std::string& id) const;
  std::vector<Row<model::Allocation>> allocations(std::string_view id_prefix = {}) const;  ///< by id
  /// These three: by create index, then id. The references are good until the next apply or load.
  const std::vector<Row<model::Allocation>>& allocations_of_job(const std::string& ns, const std::string& id) const;
  const std::vector<Row<model::Allocation>>& allocations_on_node(const std::string& node_id) const;
  /// The allocations that provide a service, and which services are provided ((namespace, name); ns "*" is all): see
  /// tables/services.hpp.
  std::vector<Row<model::Allocation>> providers(const std::string& ns, const std::string& service) const;
  std::vector<std::pair<std::string, std::string>> provided_services(const std::string& ns = "*") const;
  std::vector<Row<model::Allocation>> allocations_of_evaluation(const std::string& eval_id) const;

  /// Of the plain tables (tables/plain.hpp): by key, and in the order of keys.
  template <class T>
  Row<T> find(std::string_view key) const;
  template <class T>
  std::vector<Row<T>> rows(std::string_view key_prefix = {}) const;

  Row<model::Cluster> find_cluster(const std::string& name) const { return find<model::Cluster>(name); }
  std::vector<Row<model::Cluster>> clusters() const { return rows<model::Cluster>(); }
  Row<model::Host> find_host(const std::string& cluster, const std::string& name) const {
    return find<model::Host>(cluster + "/" + name);
  }
  std::vector<Row<model::Host>> hosts(const std::string& cluster = {}) const {
    return rows<model::Host>(cluster.empty() ? cluster : cluster + "/");
  }
  /// Newest first. The reference is good until the next apply or load.
  const std::vector<Row<model::Deployment>>& deployments_of_job(const std::string& ns, const std::string& id) const;
  /// By the hash of its secret (acl::hash_secret).
  Row<model::AclToken> find_token_by_hash(std::string_view secret_hash) const;
  std::optional<boost::json::value> setting(const std::string& key) const;

  /// Calls `wake` once, at the first publish() after a change in any of `scopes`; destroying the result takes it back.
  /// Light: 10,000 of them may wait (< 500 B each). A load() counts as a change of everything. `wake` may end this and
  /// other waits and begin new ones.
  class Waiter;
  [[nodiscard]] std::unique_ptr<Waiter> wait(std::vector<Scope> scopes, std::function<void()> wake);

  /// Called for every change at apply(), before publish(): incremental indexes (the scheduler's fleet) follow along.
  /// A null row is a deletion (the old row tells of what); on follow() and load() every row comes anew after `reset`.
  struct Follower {
    virtual ~Follower() = default;
    virtual void reset() = 0;
    virtual void node_changed(const Row<model::Node>& before, const Row<model::Node>& after) = 0;
    virtual void allocation_changed(const Row<model::Allocation>& before, const Row<model::Allocation>& after) = 0;
  };
  void follow(Follower* follower);  ///< must outlive the tables

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// RAII registration of one waiter.
class Tables::Waiter {
 public:
  virtual ~Waiter() = default;
};

}  // namespace underway::tables
