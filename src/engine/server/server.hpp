#pragma once
/// @file
/// The server role: the leader's control loop around the Writer, heartbeats, the links of nodes, garbage collection.
/// What changes something is a request (server/request.hpp), handed to `apply`, which resumes when it is durable; reads
/// go through `read` and `changed_since`.

#include "async/control_loop.hpp"
#include "http/websocket.hpp"
#include "link/connection.hpp"
#include "protocol/messages.hpp"
#include "scheduler/judge.hpp"
#include "server/events.hpp"
#include "server/extension.hpp"
#include "server/follower.hpp"
#include "server/guard.hpp"
#include "server/job/job_decisions.hpp"
#include "server/job/preview.hpp"
#include "server/node/drain_decisions.hpp"
#include "server/node/host_volumes.hpp"
#include "server/node/join_decisions.hpp"
#include "server/node/node_decisions.hpp"
#include "server/node/orphan_decisions.hpp"
#include "server/storage/collect_decisions.hpp"
#include "server/storage/snapshots.hpp"
#include "server/variable/variables.hpp"
#include "server/writer.hpp"
#include "trust/messages.hpp"

namespace underway::server {

struct Options {
  std::string name = "server";
  std::string region = "global";
  std::string datacenter = "dc1";
  Duration heartbeat_ttl = std::chrono::seconds(5);    ///< nodes are heard of at least this often
  Duration heartbeat_grace = std::chrono::seconds(4);  ///< after which they are down: a dead node is known in < 10 s
  Duration start_grace = std::chrono::seconds(30);     ///< after our start, before a silent node is down
  /// Whether the clock is the machine's, which somebody may set; one that a test advances is not.
  bool follow_clock = false;
  Duration link_patience = std::chrono::seconds(5);  ///< for the link of a ready node to come back, when it is needed
  Duration collect_every = std::chrono::minutes(1);
  Retention retention;
  /// Makes the certificate of a node for the key of `request`, good for `at_most`. Absent: the links have none.
  std::function<trust::Certified(const trust::Identity& identity, const std::string& name, const std::string& request,
                                 std::optional<Duration> at_most)>
      certify;
  std::size_t event_buffer = 8192;  ///< events kept for those who follow
  std::string keyring_directory;    ///< of the root keys; empty: in memory only
  /// Called with the id of the cluster whose state is about to take the place of this server's. May be empty.
  std::function<void(const std::string& cluster_id)> about_to_become;
  std::string snapshot_directory;            ///< where snapshots are packed and unpacked; empty: a temporary one
  std::string wrapping_key;                  ///< a file, when it lies elsewhere than in the keyring's directory
  Duration root_key_rotation{0};             ///< life of an active root key; zero: until it is rotated
  std::string identity_algorithm = "RS256";  ///< of the tokens of tasks; "EdDSA"
  std::string oidc_issuer;             ///< `iss` of the tokens of tasks: a URL under which others reach this server
  bool root_by_raw_exec = false;       ///< see Context
  std::shared_ptr<const Guard> guard;  ///< see server/guard.hpp; may be null
};

class Server {
 public:
  /// All must outlive the server; `store` is durable or (tests) not. Loads the tables. Throws what the store throws.
  Server(async::Executor executor, store::Store& store, Clock& clock, IdSource& ids, Options options);
  ~Server();

  /// Before start(): `extension` answers nodes whose method begins with `prefix` ("capsule.").
  void add_extension(std::string prefix, Extension extension) {
    extensions_.emplace_back(std::move(prefix), std::move(extension));
  }
  /// Starts heartbeats and collection.
  void start();
  /// Ends links and loops; what was acknowledged is durable.
  async::awaitable<void> stop();

  /// Durable state, until the next co_await.
  async::awaitable<const Tables*> read() { return writer_.settled(); }
  /// A blocking query: see Writer::changed_since.
  async::awaitable<const Tables*> changed_since(std::vector<tables::Scope> scopes, model::Revision index,
                                                async::SteadyTime deadline) {
    return writer_.changed_since(std::move(scopes), index, deadline);
  }
  Writer& writer() { return writer_; }
  /// By which everything is decided; capabilities above the engine have no other.
  const Clock& clock() const { return clock_; }
  /// What goes on without being asked, here and in capabilities above the engine.
  async::LoopRegistry& loops() { return loops_; }
  const async::LoopRegistry& loops() const { return loops_; }
  /// For a control loop's waits.
  Follower follow(FollowerOptions options) { return {writer_, clock_, std::move(options)}; }
  const Keyring& keyring() const { return keyring_; }
  Variables& variables() { return variables_; }
  const EventBuffer& events() const { return events_; }
  /// To be read as the tables are: after read(), until the next co_await.
  const Measures& measures() const { return measures_; }
  HostVolumes& host_volumes() { return host_volumes_; }

  /// See server/storage/snapshots.hpp. `restore_snapshot` first calls `about_to_become` of the options.
  async::awaitable<std::shared_ptr<const SavedSnapshot>> save_snapshot();
  async::awaitable<RestoredSnapshot> restore_snapshot(std::string archive, bool force);
  /// A file of this server's own, for a snapshot that comes; gone with the last that has it.
  std::shared_ptr<SnapshotFile> new_snapshot_file();

  /// Decides about `request` and makes what it changes durable, with what is kept beside it: see Writer::apply. Whoever
  /// changes something says so here, and capabilities above the engine (hpc) bring requests of their own.
  template <Request R>
  async::awaitable<ResultOf<R>> apply(R request, CommitHook hook = {}) {
    return writer_.apply(std::move(request), std::move(hook));
  }
  /// What apply() would change and answer now, and nothing of it done. To be asked after read(), until the next
  /// co_await. Throws what apply() would throw of it.
  template <Request R>
  Decision<ResultOf<R>> preview(const R& request, const CommitHook& hook = {}) const {
    SeededIds ids{1};  // what a preview makes is thrown away
    return decided(tables_, request, hook,
                   Context{clock_.now(), ids, tables_.revision() + 1, options_.root_by_raw_exec});
  }

  /// With the secrets that the cluster declares and that are missing, generated.
  async::awaitable<ApplyCluster> completed(ApplyCluster request);
  /// What the nodes run and this server does not know, as they were ordered to run it: to be applied. Throws not_found,
  /// unavailable (no link).
  async::awaitable<KeepOrphans> read_orphans(std::vector<std::string> node_ids);
  /// After StopOrphans. Throws as read_orphans.
  async::awaitable<void> tell_to_stop_orphans(std::vector<std::string> node_ids);
  /// What registering `job` would do. Throws as RegisterJob does. `coming`: see RegisterJob.
  async::awaitable<JobPlan> plan_job(model::Job job, std::vector<model::Namespace> coming = {});
  /// After read(), until the next co_await: what keeps each node from taking one more allocation of the group.
  std::vector<scheduler::NodeVerdict> judge_nodes(const tables::Row<model::Job>& job, const model::TaskGroup& group) {
    return scheduler::judge_nodes(tables_, *fleet_, job, group);
  }

  /// Uses a join token up, and certifies the node. Throws as JoinAttempt does, and invalid for a bad request.
  async::awaitable<trust::Certified> join(trust::JoinRequest request, std::string address);

  /// Serves the link of a node until it ends. Throws Error when the node is refused. `peer`: what its certificate
  /// says; absent for links within a process.
  async::awaitable<void> serve_link(std::shared_ptr<http::WebSocket> socket,
                                    std::optional<trust::PeerIdentity> peer = {});
  /// Tells every linked node to renew its certificate now.
  void ask_for_renewal();
  /// Whether the node's link stands now.
  bool linked(const std::string& node_id) const;
  std::size_t linked_nodes() const;
  /// By node, what its newest heartbeat told: control loops that somebody should look at. Of a node that is not linked,
  /// nothing.
  std::map<std::string, std::vector<protocol::LoopTrouble>> node_troubles() const;
  /// A request to the node. Throws not_found (no such node), unavailable (no link, nor soon), or what the node answers.
  async::awaitable<boost::json::value> call_node(std::string node_id, std::string method, boost::json::value body,
                                                 std::optional<Duration> timeout = {});
  /// A byte stream to the node: "logs", "exec", "fs.stream", …
  async::awaitable<std::shared_ptr<link::Stream>> open_stream(std::string node_id, std::string method,
                                                              boost::json::value header);

  const Options& options() const { return options_; }
  TimePoint started_at() const { return started_at_; }

 private:
  struct Session;
  struct Linked;
  struct Links;
  void follow_restoration();
  async::LoopPlan heartbeats_loop();
  async::LoopPlan collection_loop();
  async::LoopPlan drains_loop();
  async::LoopPlan deployments_loop();
  Duration beat() const;
  async::awaitable<void> wait_for_beat();
  async::awaitable<void> listen();
  void forgive(Duration span);
  void end_silent_sessions(async::SteadyTime heard_before);
  void end_expired_sessions();
  async::awaitable<void> mark_down(std::vector<std::string> node_ids);
  async::awaitable<void> collect_what_is_over();
  async::awaitable<void> wait_for_care();
  async::awaitable<void> look_after_drains_and_losses();
  async::awaitable<void> look_after_deployments();
  async::awaitable<void> send_orders(std::shared_ptr<Session> session);
  const Extension* extension_for(std::string_view method) const;
  async::awaitable<boost::json::value> answer_node(Linked& linked, std::string method, boost::json::value body);
  async::awaitable<void> serve_node(Linked& linked, std::string method, boost::json::value header,
                                    std::shared_ptr<link::Stream> stream);
  async::awaitable<boost::json::value> register_node(Linked& linked, boost::json::value body);
  boost::json::value renew_certificate(Session& session, const boost::json::value& body);
  void send_differences();
  async::awaitable<void> send_data(std::shared_ptr<Session> session);
  async::awaitable<void> serve_disk(std::string node_id, std::string allocation, std::shared_ptr<link::Stream> stream);
  // machines.cpp: virtual machines that come to an allocation of the node
  async::awaitable<boost::json::value> describe_machines(std::string node_id, std::string allocation);
  async::awaitable<void> serve_machines(std::string node_id, protocol::FileRequest request,
                                        std::shared_ptr<link::Stream> stream);
  async::awaitable<void> send_machine(std::string node_id, protocol::FileRequest request,
                                      std::shared_ptr<link::Stream> stream);
  async::awaitable<void> carry_machine(std::string node_id, protocol::MachineStream request,
                                       std::shared_ptr<link::Stream> stream);
  async::awaitable<boost::json::value> tell_fate(std::string node_id, protocol::MachineStream request);
  async::awaitable<boost::json::value> sign_identity(std::string node_id, protocol::IdentityRequest request);
  void end_session(Session& session);
  async::awaitable<std::shared_ptr<link::Connection>> connection_of(std::string node_id);

  Options options_;
  std::vector<std::pair<std::string, Extension>> extensions_;  ///< by prefix
  Clock& clock_;
  async::Executor executor_;
  Tables tables_;
  std::unique_ptr<scheduler::Fleet> fleet_;
  std::unique_ptr<Links> links_;
  EventBuffer events_;
  Measures measures_{tables_};
  Writer writer_;
  Keyring keyring_;
  Variables variables_;
  SystemIds identity_ids_;                          ///< of tokens: never repeated, by whatever seed
  const std::string epoch_ = identity_ids_.uuid();  ///< this run over the store; see server/storage/history.hpp
  async::LoopRegistry loops_{clock_};
  bool deployments_seen_ = false;  ///< their deadlines were set anew since this server started
  async::TaskGroup tasks_;
  TimePoint started_at_;
  std::shared_ptr<SnapshotPlace> snapshots_;
  HostVolumes host_volumes_{*this};
  async::Pool beside_{2};  ///< for signatures and keys; last: what runs there ends before the others do
};

}  // namespace underway::server
