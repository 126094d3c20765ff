#pragma once
/// @file
/// The client library that every command uses: typed calls over the HTTP API, blocking, one at a time. A server's
/// refusal is thrown as Error with the status' code and the server's own text; a server that cannot be reached as
/// unavailable.

#include <functional>

#include "http/client.hpp"
#include "image/store.hpp"
#include "model/access/acl.hpp"
#include "model/access/namespace.hpp"
#include "model/capsule/saving.hpp"
#include "model/deployment.hpp"
#include "model/elastic/recall.hpp"
#include "model/elastic/slurm_asks.hpp"
#include "model/evaluation.hpp"
#include "model/file_status.hpp"
#include "model/impact.hpp"
#include "model/node/orphans.hpp"
#include "model/service_instance.hpp"
#include "protocol/client_messages.hpp"
#include "protocol/messages.hpp"
#include "sdk/questions.hpp"
#include "wire/access/join_token.hpp"
#include "wire/allocation/allocation_stub.hpp"
#include "wire/capsule/capsule.hpp"
#include "wire/capsule/saving.hpp"
#include "wire/cluster/cluster.hpp"
#include "wire/cluster/recall.hpp"
#include "wire/cluster/slurm_versions.hpp"
#include "wire/cluster/status.hpp"
#include "wire/job/explanation.hpp"
#include "wire/job/job_stub.hpp"
#include "wire/job/service_stub.hpp"
#include "wire/release/ticket.hpp"
#include "wire/variable/variable.hpp"

namespace underway::sdk {

/// What a session with a command needs from the terminal, and tells it.
struct ExecSession {
  std::vector<std::string> command;
  bool tty = false;
  std::string user, cwd, task;
  int in = 0, out = 1, err = 2;  ///< file descriptors; `in` -1: no input
  /// Window size when asked; called at the start and whenever `resized` is readable.
  std::function<std::pair<int, int>()> window;
  int resized = -1;  ///< a descriptor (signalfd, pipe) that becomes readable when the window changed; -1: never
  /// What is sent of what was typed; nothing: the session is broken off. Absent: all of it.
  std::function<std::optional<std::string>(std::string_view typed)> filter;
};

/// An action of a job in one of its allocations.
struct ActionRun {
  std::string job, action, group, task, allocation;
};

class Client {
 public:
  explicit Client(Address address, http::ClientOptions options = {});
  ~Client();

  // --- jobs
  RegisteredJob register_job(const model::Job& job, const std::optional<model::JobSubmission>& submission,
                             std::optional<model::Revision> enforce_index = {}, const Registration& registration = {});
  wire::JobChange plan_job(const model::Job& job);
  RegisteredJob stop_job(const std::string& id, const Stop& how = {});
  /// `force_reschedule`: what has failed is replaced now, whatever its `reschedule` says.
  RegisteredJob evaluate_job(const std::string& id, bool force_reschedule = false);
  std::vector<wire::JobStub> jobs(const std::string& prefix = {});
  Page<wire::JobStub> jobs(const ListQuery& query);
  model::Job job(const std::string& id);
  std::vector<model::Job> job_versions(const std::string& id);
  model::JobSubmission job_submission(const std::string& id, std::optional<std::int64_t> version = {});
  std::vector<wire::AllocationStub> job_allocations(const std::string& id);
  std::vector<model::Evaluation> job_evaluations(const std::string& id);
  wire::JobSummary job_summary(const std::string& id);
  std::vector<model::Deployment> job_deployments(const std::string& id);  ///< newest first
  RegisteredJob revert_job(const std::string& id, std::int64_t version,
                           std::optional<std::int64_t> enforce_prior_version = {});
  void tag_job_version(const std::string& id, const std::string& name, std::optional<std::int64_t> version,
                       const std::string& description);
  void untag_job_version(const std::string& id, const std::string& name);
  RegisteredJob scale_job(const std::string& id, const std::string& group, std::int64_t count,
                          const std::string& message);
  boost::json::value job_scale(const std::string& id);  ///< Nomad's JobScaleStatusResponse
  /// Empty: of any job, of any type.
  boost::json::value scaling_policies(const std::string& job, const std::string& type);
  boost::json::value scaling_policy(const std::string& id);
  /// Runs the action to its end; returns its exit code.
  int run_action(const ActionRun& action, const ExecSession& session);
  StartedJob force_periodic(const std::string& id);
  StartedJob dispatch_job(const Dispatch& dispatch);
  void set_job_stable(const std::string& id, std::int64_t version, bool stable);

  // --- deployments
  std::vector<model::Deployment> deployments(const std::string& prefix = {});
  Page<model::Deployment> deployments(const ListQuery& query);
  Indexed<model::Deployment> deployment(const std::string& id, Wait wait = {});
  std::vector<wire::AllocationStub> deployment_allocations(const std::string& id);
  /// No groups: all of them.
  UpdatedDeployment promote_deployment(const std::string& id, const std::vector<std::string>& groups = {});
  UpdatedDeployment fail_deployment(const std::string& id);
  UpdatedDeployment pause_deployment(const std::string& id, bool pause);
  UpdatedDeployment set_allocation_health(const std::string& deployment_id, const std::vector<std::string>& healthy,
                                          const std::vector<std::string>& unhealthy);

  // --- nodes, allocations, evaluations
  std::vector<wire::NodeStub> nodes(const std::string& prefix = {});
  Page<wire::NodeStub> nodes(const ListQuery& query);
  /// What the machine does now. Asked of the node, as the next.
  protocol::HostStats node_stats(const std::string& id);
  protocol::NodeMetadata node_metadata(const std::string& id);
  protocol::NodeMetadata apply_node_metadata(const std::string& id, const protocol::MetadataRequest& request);
  model::Node node(const std::string& id);
  Indexed<model::Node> node_at(const std::string& id, Wait wait);
  std::vector<model::Allocation> node_allocations(const std::string& id);
  void set_eligibility(const std::string& node_id, model::Eligibility eligibility);
  /// `drain` as decided by whoever asks: its deadline and wishes; nothing ends a drain, and `mark_eligible` then lets
  /// new allocations come again.
  void drain_node(const std::string& node_id, const std::optional<model::DrainStrategy>& drain, bool mark_eligible,
                  const model::StringMap& meta);
  /// What such a drain would do to those who use the cluster.
  model::Judgement plan_drain(const std::string& node_id, const model::DrainStrategy& drain);
  void purge_node(const std::string& node_id);
  /// What nodes run that the server does not know.
  std::vector<model::Orphans> orphans();
  /// The server takes those of the nodes over, or the nodes stop them. Returns how many.
  std::int64_t decide_orphans(const std::vector<std::string>& node_ids, bool keep);
  std::vector<wire::AllocationStub> allocations(const std::string& prefix = {});
  model::Allocation allocation(const std::string& id);
  /// Without its job.
  Indexed<model::Allocation> allocation_at(const std::string& id, Wait wait);
  /// Returns the evaluation that places another one.
  std::string stop_allocation(const std::string& id, bool no_shutdown_delay = false);
  /// `task` empty: all that run.
  void restart_allocation(const std::string& id, const std::string& task);
  /// Also those that have ended, in the order of their lifecycle.
  void restart_all_tasks(const std::string& id);
  void signal_allocation(const std::string& id, const std::string& task, const std::string& signal);
  // Of virtual machines; `task` empty: all that run.
  void pause_allocation(const std::string& id, const std::string& task);
  /// All of them, asked for: whether they sleep is told by the allocation.
  void suspend_allocation(const std::string& id);
  void resume_allocation(const std::string& id, const std::string& task);
  struct Move {
    std::string node = {};  ///< id, its beginning, or name; empty: any that has room
    bool wake = false;      ///< those that sleep go on there
    bool cancel = false;    ///< takes back a wish for which there was no room yet
  };
  void move_allocation(const std::string& id, const Move& move);
  /// Takes as long as their memory does.
  std::vector<protocol::TaskCheckpoint> checkpoint_allocation(const std::string& id, const std::string& task);
  /// Those that there are, oldest first.
  std::vector<protocol::TaskCheckpoint> allocation_checkpoints(const std::string& id, const std::string& task);
  void restore_allocation(const std::string& id, const std::string& task, const std::string& checkpoint);
  /// The newest result of each check, by id. Asked of the node.
  std::map<std::string, model::CheckResult> allocation_checks(const std::string& id);
  std::vector<model::Evaluation> evaluations(const std::string& prefix = {});
  Page<model::Evaluation> evaluations(const ListQuery& query);
  std::int64_t count_evaluations(const std::string& filter);
  /// Those of `ids`, or those that `filter` wants. Returns how many.
  std::int64_t delete_evaluations(const std::vector<std::string>& ids, const std::string& filter);
  Indexed<model::Evaluation> evaluation(const std::string& id, Wait wait = {});
  Indexed<std::vector<wire::AllocationStub>> evaluation_allocations(const std::string& id, Wait wait = {});

  /// As it is; with `nodes`, what each node has to say to one more allocation.
  wire::Explanation explain_job(const std::string& id, bool nodes = false);

  // --- services
  Page<wire::ServiceListStub> services(const ListQuery& query = {});
  /// `choose`: "<n>|<key>"; empty: all.
  std::vector<model::ServiceInstance> service(const std::string& name, const std::string& choose = {});
  std::vector<model::ServiceInstance> allocation_services(const std::string& id);
  std::vector<model::ServiceInstance> job_services(const std::string& id);
  /// Throws conflict while the entry is there: it is computed.
  void delete_service(const std::string& name, const std::string& id);

  // --- clusters
  AppliedCluster apply_cluster(wire::ClusterBody body);
  wire::ClusterPlan plan_cluster(const wire::ClusterBody& body);
  void stop_cluster(const std::string& name);
  /// What Slurm's own programs say. `within`: the answer has come by then.
  model::SlurmAnswer slurm_resume(const std::string& cluster, const model::SlurmAsk& ask, Duration within);
  model::SlurmAnswer slurm_suspend(const std::string& cluster, const model::SlurmAsk& ask, Duration within);
  model::SlurmAnswer slurm_resume_fail(const std::string& cluster, const model::SlurmAsk& ask, Duration within);
  std::vector<model::Cluster> clusters();
  std::vector<model::Host> hosts(const std::string& cluster = {});
  Indexed<model::Host> host_at(const std::string& cluster, const std::string& name, Wait wait);
  // Asked for, of all or none: whether one sleeps is told by the host. `names` has one or more.
  void suspend_hosts(const std::string& cluster, const std::vector<std::string>& names, const std::string& reason);
  /// `node`: they go on there, with memory and disks; empty: where they are.
  void wake_hosts(const std::string& cluster, const std::vector<std::string>& names, const std::string& node = {});
  /// Asked for: which hosts go is told by the recall, once it is decided.
  model::Recall recall_hosts(const std::string& cluster, const wire::RecallBody& body);
  Indexed<model::Recall> recall_at(const std::string& cluster, std::int64_t number, Wait wait);
  /// What has ended. `number`: 0 is all that are by somebody's word, of `pool`, or of all pools.
  std::vector<model::Recall> end_recalls(const std::string& cluster, std::int64_t number, const std::string& pool = {});
  Indexed<wire::Status> status(const std::string& cluster = {}, Wait wait = {});

  // --- capsules
  std::vector<model::Capsule> capsules();
  Indexed<model::Capsule> capsule(const std::string& name, Wait wait = {});
  /// The move's id; empty for a rehearsal.
  std::string move_capsule(const std::string& name, const wire::MoveCapsule& request);
  /// What such a move would do to those who use it; the target is not looked at.
  model::Judgement plan_capsule_move(const std::string& name, const wire::MoveCapsule& request);
  /// The upgrade's id.
  std::string upgrade_capsule(const std::string& name, const wire::UpgradeCapsule& request);
  /// Of a move or an upgrade.
  void cancel_capsule_move(const std::string& name);
  void vouch_for_fence(const std::string& name);
  void set_capsule_standby(const std::string& name, const wire::CapsuleStandby& request);
  // What is saved of it, by the node that has its overlay. These take as long as the disk does.
  model::CapsuleSaving capsule_saving(const std::string& name);
  model::Snapshots capsule_snapshots(const std::string& name);
  model::Snapshot take_capsule_snapshot(const std::string& name, const wire::TakeSnapshot& request);
  model::Backed make_capsule_backup(const std::string& name, const wire::MakeBackup& request);
  model::Backups capsule_backups(const std::string& name, const wire::MakeBackup& request);
  wire::RestoredCapsule restore_capsule(const std::string& name, const wire::RestoreCapsule& request);
  model::Drilled drill_capsule(const std::string& name, const wire::MakeDrill& request);

  // --- certificates
  wire::CreatedJoinToken create_join_token(const wire::NewJoinToken& request);
  std::vector<model::JoinToken> join_tokens();
  void revoke_join_token(const std::string& id);
  boost::json::value tls();
  boost::json::value rotate_tls(bool authority);
  // --- variables
  /// Without their items.
  std::vector<model::Variable> variables(const std::string& prefix = {});
  model::OpenVariable variable(const std::string& path);
  /// `cas`: refuse unless the variable's modify index is this (0: unless there is none).
  WrittenVariable put_variable(const std::string& path, const model::StringMap& items,
                               std::optional<model::Revision> cas = {});
  WrittenVariable delete_variable(const std::string& path, std::optional<model::Revision> cas = {});
  /// Items of a variable that exists stay unless they are given.
  WrittenVariable acquire_lock(const std::string& path, const model::VariableLock& lock,
                               const std::optional<model::StringMap>& items = {});
  WrittenVariable renew_lock(const std::string& path, const std::string& lock_id);
  WrittenVariable release_lock(const std::string& path, const std::string& lock_id);
  boost::json::value root_keys();
  boost::json::value rotate_root_key(bool full);
  /// A key that becomes active at `at`.
  boost::json::value prepublish_root_key(TimePoint at);
  /// `force`: what is sealed under it is sealed under the active one first.
  void remove_root_key(const std::string& id, bool force = false);
  // --- the whole state, in a file
  /// Writes it to `path`, mode 0600, once all of it has come and its digest fits; its size. A file that is there is
  /// replaced.
  std::int64_t save_snapshot(const std::string& path);
  /// Replaces the server's state. `force`: also by one of another cluster.
  void restore_snapshot(const std::string& path, bool force = false);
  // --- volumes of hosts, in Nomad's shapes
  /// `query`: node_id, node_pool, prefix, per_page, next_token, filter; type is "host".
  boost::json::value volumes(http::Query query = {});
  boost::json::value volume(const std::string& id, std::optional<Wait> wait = {});
  /// `volume`: the specification; {Volume, Warnings}.
  boost::json::value create_volume(const boost::json::value& volume);
  boost::json::value register_volume(const boost::json::value& volume);
  void delete_volume(const std::string& id, bool force = false);
  boost::json::value volume_claims(http::Query query = {});
  void delete_volume_claim(const std::string& id);
  // --- rights
  /// `secret` empty: the server chooses it.
  NewToken bootstrap_acl(const std::string& secret = {});
  std::vector<model::AclPolicy> acl_policies();  ///< without their rules
  model::AclPolicy acl_policy(const std::string& name);
  void put_acl_policy(const model::AclPolicy& policy);
  void delete_acl_policy(const std::string& name);
  std::vector<model::AclToken> acl_tokens();
  model::AclToken acl_token(const std::string& accessor_id);
  model::AclToken acl_token_self();
  NewToken put_acl_token(const model::AclToken& token);  ///< a new one when it has no accessor id
  void delete_acl_token(const std::string& accessor_id);
  std::vector<model::AclRole> acl_roles();
  model::AclRole acl_role(const std::string& id);
  model::AclRole acl_role_by_name(const std::string& name);
  model::AclRole put_acl_role(const model::AclRole& role);  ///< a new one when it has no id
  void delete_acl_role(const std::string& id);
  std::vector<model::Namespace> namespaces();
  model::Namespace ns(const std::string& name);
  void put_namespace(const model::Namespace& ns);
  void delete_namespace(const std::string& name);

  // --- synchronised files; `cluster` empty: of nodes that are in none
  std::vector<model::FileDeclaration> declared_files(const std::string& cluster = {});  ///< empty: all
  model::FileDeclaration declared_file(const std::string& cluster, const std::string& name);
  /// Large files go ahead, in pieces.
  model::FilesPut put_files(const std::string& cluster, std::vector<wire::FileBody> files);
  void remove_file(const std::string& cluster, const std::string& name);
  /// Its master; with `node` (an id) as that node gets it. Throws denied for a secret.
  std::string file_content(const std::string& cluster, const std::string& name, const std::string& node = {});
  /// As it is there now.
  model::FoundFile actual_file(const std::string& node, const std::string& capsule, const std::string& path);
  /// Returns how many nodes were told.
  model::FileKeyState file_key();
  model::FileKeyState rotate_file_key(bool force);
  std::int64_t sync_now(const std::string& cluster, const wire::SyncNowBody& request);
  std::vector<model::TargetStatus> file_targets(const std::string& cluster = {});

  /// Lines of the audit log, oldest first, until `line` returns false; `follow`: goes on with new ones.
  void audit(const std::string& since, const std::string& who, bool follow,
             const std::function<bool(std::string_view)>& line);

  /// The changes that were made, oldest first. `since`: "365d", "90m", an instant; empty: all that are kept.
  std::vector<model::ChangeEntry> changes(const std::string& since);

  // --- tickets
  Page<wire::TicketView> tickets(const TicketQuery& which, const ListQuery& query);
  std::vector<model::TicketAge> ticket_ages();
  wire::TicketView ticket(std::int64_t number);
  wire::OpenedTicket open_ticket(const wire::OpenTicketBody& body);
  /// A message with its headers; about the ticket `number`, or, with 0, as it says itself.
  wire::OpenedTicket take_ticket_mail(const std::string& message, std::int64_t number = 0);
  wire::OpenedTicket comment_ticket(std::int64_t number, const std::string& text);
  wire::TicketView assign_ticket(std::int64_t number, const std::string& assignee);  ///< empty: to nobody
  wire::TicketView link_ticket(std::int64_t number, const wire::LinkTicketBody& body);
  wire::TicketView close_ticket(std::int64_t number, const wire::CloseTicketBody& body);
  wire::TicketView reopen_ticket(std::int64_t number, const std::string& why);

  // --- capsule images
  std::vector<image::StoredImage> images();
  /// `older` as "720h"; empty: the server's default.
  std::vector<image::StoredImage> prune_images(const std::string& older, bool dry);
  image::StoredImage image(const std::string& reference);
  boost::json::value image_info(const std::string& reference);  ///< with its manifest
  /// Of a capsule with these services; and of the slurmd that nodes have at that path.
  wire::SlurmVersions slurm_versions(const SlurmServices& services, const std::string& ns, const std::string& capsule);
  wire::SlurmVersions slurmd_versions(const std::string& path, const std::string& ns);
  void remove_image(const std::string& reference, bool force = false);
  /// Told of bytes that are there, and of all.
  using Transferred = std::function<void(std::int64_t done, std::int64_t all)>;
  /// Sends what is missing there. Throws denied when the cluster does not trust who signed it.
  image::StoredImage push_image(const std::string& path, const Transferred& progress = {});
  /// Goes on with "<out>.part" if it is there; verified with the cluster's keys before it is called `out` (empty:
  /// "<name>-<version>.capsule").
  image::StoredImage pull_image(const std::string& reference, const std::string& out, TimePoint now,
                                const Transferred& progress = {});
  /// Of the capsule of an allocation, asked of its node: run::Changes, run::Services.
  boost::json::value capsule_changes(const std::string& allocation);
  boost::json::value capsule_services(const std::string& allocation);
  std::vector<image::KeyRecord> capsule_keys();
  void trust_capsule_key(const image::KeyRecord& key);
  void revoke_capsule_key(const std::string& id, const std::string& reason);

  // --- the agent
  /// Lines of the log as they are written, of the server or, with `node` (an id), of a node, until `piece` returns
  /// false.
  void monitor(const std::string& node, const std::string& level, bool as_json,
               const std::function<bool(std::string_view)>& piece);
  boost::json::value agent_self();
  boost::json::value members();
  void collect_garbage();

  // --- events
  /// Follows until `event` (an element of the wire's Events) or `idle` (all that was there has been told; then every
  /// now and then) returns false. Throws exhausted when the server dropped us as too slow, unavailable when the stream
  /// broke.
  void events(const EventQuery& query, const std::function<void(const EventStart&)>& start,
              const std::function<bool(const boost::json::value& event)>& event, const std::function<bool()>& idle);

  // --- files and sessions
  /// Calls `piece` until the end of the log (or, following, of the task) or until it returns false.
  void logs(const std::string& allocation, const std::string& task, const std::string& type, bool follow,
            const std::string& origin, std::int64_t offset, const std::function<bool(std::string_view)>& piece);
  boost::json::value list_files(const std::string& allocation, const std::string& path);
  boost::json::value file_status(const std::string& allocation, const std::string& path);
  void read_file(const std::string& allocation, const std::string& path,
                 const std::function<bool(std::string_view)>& piece);
  /// Runs the session to its end; returns the command's exit code.
  int exec_in_allocation(const std::string& allocation, const ExecSession& session);
  /// The serial line of a virtual machine: session.task's, or of the only one.
  int console_of_allocation(const std::string& allocation, const ExecSession& session);
  int exec_on_host(const std::string& cluster, const std::string& host, const ExecSession& session);

  /// Any request: `operator api`. Throws timeout when the answer is not there `within` this time.
  http::Response raw(const std::string& method, const std::string& target, std::string body = {},
                     Duration within = std::chrono::minutes(6), const http::Headers& more = {});

  const Address& address() const { return address_; }
  /// For requests from now on.
  void use_namespace(std::string ns) { address_.ns = std::move(ns); }

 private:
  void send_pieces(const std::string& cluster, std::vector<wire::FileBody>& files);
  http::Response send(const std::string& method, std::string_view path, http::Query query = {}, std::string body = {},
                      std::optional<Wait> wait = {}, std::optional<Duration> within = {});
  /// As send, and 409 is an answer.
  http::Response exchange(const std::string& method, std::string_view path, http::Query query, std::string body,
                          std::optional<Wait> wait, std::optional<Duration> within = {});
  WrittenVariable write_variable(const std::string& method, const std::string& path, http::Query query,
                                 std::string body);
  template <class T>
  T get(std::string_view path, http::Query query = {});
  template <class T>
  Page<T> list(std::string_view path, const ListQuery& query, http::Query more = {});
  template <class T>
  Indexed<T> get_at(std::string_view path, http::Query query, Wait wait);
  int run_session(std::string_view path, const ExecSession& session, http::Query query = {});
  void stream(std::string_view path, http::Query query, const std::function<bool(std::string_view)>& piece,
              const std::function<void(const http::Headers&)>& head = {});

  Address address_;
  http::BlockingClient client_;
};

}  // namespace underway::sdk
