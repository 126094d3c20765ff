#pragma once
/// @file
/// What is wanted: a job holds groups that are placed as a whole; a group's tasks share one node. Names, defaults and
/// the wire are those of Nomad's job specification (defaults of api/*.go `Canonicalize`), read by state/jobspec.

#include "base/json/describe.hpp"
#include "model/access/identity.hpp"
#include "model/job/batch.hpp"
#include "model/job/extras.hpp"
#include "model/job/placement.hpp"
#include "model/job/policy.hpp"
#include "model/job/service.hpp"
#include "model/job/volume.hpp"

#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace underway::model {

using StringMap = std::map<std::string, std::string>;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

/// Store revision at which something was created or changed last; the API's index. 0: not committed yet.
using Revision = std::int64_t;

enum class JobType { service, batch, system, sysbatch };
enum class JobStatus { pending, running, dead };

enum class DependencyScope { node, any };
enum class OnFailure { hold, ignore, stop };

/// `depends_on`: start only where (node) or when (any) the other job is healthy, and stop before it does.
struct Dependency {
  std::string job;
  DependencyScope scope = DependencyScope::any;
  /// What a later failure of the other job does to an allocation that runs already: `hold` lets it run, and holds its
  /// restarts and replacements; `ignore` looks at the dependency at the first start only; `stop` stops it until the
  /// other one is healthy again.
  OnFailure on_failure = OnFailure::hold;
};

struct Port {
  std::string label;
  std::int64_t value = 0;  ///< static port, or the assigned dynamic one
  std::int64_t to = 0;     ///< port inside the task's network; 0: same
  std::string host_network = "default";
  bool ignore_collision = false;
};

struct NetworkResource {
  std::string mode = "host";
  std::string hostname;
  std::string ip;      ///< set on allocations and nodes
  std::string device;  ///< set on nodes
  std::optional<Dns> dns;
  std::optional<CniUse> cni;
  std::int64_t mbits = 0;            ///< of old files: kept, nobody measures it
  std::vector<Port> reserved_ports;  ///< `port` blocks with `static`
  std::vector<Port> dynamic_ports;   ///< `port` blocks without
};

struct Resources {
  std::int64_t cpu = 100;          ///< MHz; 0 when `cores` are asked for
  std::int64_t cores = 0;          ///< whole cores, held alone
  std::int64_t memory_mb = 300;    ///< MiB
  std::int64_t memory_max_mb = 0;  ///< MiB; 0: same as memory
  std::int64_t pids = 0;           ///< processes and threads; 0: the agent's default
  std::int64_t secrets_mb = 0;     ///< MiB of the task's secrets directory, beside its memory; 0: the agent's default
  std::vector<RequestedDevice> devices;
  std::optional<Numa> numa;
  // Of old files: canonicalize moves the network to the group; disk and iops are kept, as Nomad does.
  std::vector<NetworkResource> networks;
  std::int64_t disk_mb = 0;
  std::int64_t iops = 0;
};

enum class RestartMode { fail, delay };

/// Restarts on the same node, by the agent.
struct RestartPolicy {
  std::int64_t attempts = 2;
  Duration interval = 30min;
  Duration delay = 15s;
  RestartMode mode = RestartMode::fail;
  bool render_templates = false;
  /// 2 in 30 minutes for service and system jobs; 3 in 24 hours for batch and sysbatch.
  static RestartPolicy for_type(JobType type);
};

enum class LifecycleHook { prestart, poststart, poststop };

struct Lifecycle {
  LifecycleHook hook = LifecycleHook::prestart;
  bool sidecar = false;
};

struct Artifact {
  std::string source;
  std::string destination = "local/";
  std::string mode = "any";  ///< any, file, dir
  StringMap options;         ///< checksum = "sha256:…", archive = "false"
  StringMap headers;
  bool insecure = false;
  bool chown = false;
};

enum class ChangeMode { noop, restart, signal, script };

struct ChangeScript {
  std::string command;
  std::vector<std::string> args;
  Duration timeout = 5s;
  bool fail_on_error = false;
  bool run_on_first_render = false;
};

/// `wait`: data that keeps changing is rendered when it has been quiet for `min`, after `max` at the latest.
struct TemplateWait {
  Duration min{0};
  Duration max{0};
};

struct Template {
  std::string source;
  std::string destination;
  std::string data;
  ChangeMode change_mode = ChangeMode::restart;
  std::string change_signal;
  std::optional<ChangeScript> change_script;
  Duration splay = 5s;
  std::string perms = "0644";
  std::int64_t uid = -1;  ///< -1: the task's user
  std::int64_t gid = -1;
  bool env = false;
  bool once = false;
  std::string left_delimiter = "{{";
  std::string right_delimiter = "}}";
  bool error_on_missing_key = false;
  std::optional<TemplateWait> wait;
};

struct LogConfig {
  std::int64_t max_files = 10;
  std::int64_t max_file_size_mb = 10;
  bool disabled = false;
};

struct EphemeralDisk {
  std::int64_t size_mb = 300;
  bool sticky = false;
  bool migrate = false;
};

struct Task {
  std::string name;
  std::string driver;
  std::string user;
  boost::json::value config = boost::json::object{};  ///< the driver's own; an object
  StringMap env;
  StringMap meta;
  std::vector<Constraint> constraints;
  std::vector<Affinity> affinities;
  Resources resources;
  std::optional<Lifecycle> lifecycle;
  std::optional<DispatchPayload> dispatch_payload;
  std::vector<VolumeMount> volume_mounts;
  std::vector<Artifact> artifacts;
  std::vector<Template> templates;
  std::optional<Identity> identity;  ///< the default one, apart from the others: so has it the wire
  std::vector<Identity> identities;
  std::vector<Service> services;
  std::optional<RestartPolicy> restart;  ///< absent: the group's
  LogConfig logs;
  std::vector<Action> actions;
  std::vector<SecretRequest> secrets;
  std::vector<Scaling> scaling;  ///< of cpu and memory
  std::optional<TaskSchedule> schedule;
  std::optional<VaultUse> vault;
  std::optional<ConsulUse> consul;
  std::string kind;  ///< of Consul's mesh: kept
  bool leader = false;
  Duration kill_timeout = 5s;
  std::string kill_signal;  ///< empty: SIGINT
  Duration shutdown_delay{0};

  bool is_main() const { return !lifecycle; }
  bool is_sidecar() const { return lifecycle && lifecycle->sidecar; }
};

struct TaskGroup {
  std::string name;
  std::int64_t count = 1;
  std::vector<Constraint> constraints;
  std::vector<Affinity> affinities;
  std::vector<Spread> spreads;
  std::map<std::string, VolumeRequest> volumes;  ///< by the group's name for it
  std::vector<NetworkResource> networks;
  std::optional<RestartPolicy> restart;  ///< absent: by job type; see Job::canonicalize
  std::optional<UpdateStrategy> update;  ///< these four: see model/job/policy.hpp
  std::optional<MigrateStrategy> migrate;
  std::optional<RescheduleStrategy> reschedule;
  std::optional<DisconnectStrategy> disconnect;
  std::vector<Service> services;
  EphemeralDisk ephemeral_disk;
  std::vector<Dependency> depends_on;
  std::vector<Task> tasks;
  std::optional<Scaling> scaling;
  std::optional<ConsulUse> consul;
  StringMap meta;
  Duration shutdown_delay{0};
  std::optional<Duration> max_run_duration;  ///< after which its allocations are stopped
  // Of old files: canonicalize writes `disconnect` from them.
  std::optional<Duration> max_client_disconnect;
  std::optional<Duration> stop_after_client_disconnect;
  bool prevent_reschedule_on_lost = false;

  const Task* find_task(std::string_view task_name) const;
  /// What one allocation of the group takes of its node: the sum over tasks, as Nomad accounts
  /// (the largest of prestart, main and poststop phases; sidecars count in each).
  Resources total_resources() const;
};

/// Position of a group in its job, by its name.
using GroupPositions = std::map<std::string, std::size_t, std::less<>>;

struct Job {
  std::string id;
  std::string name;
  std::string ns = "default";
  std::string region = "global";
  JobType type = JobType::service;
  std::int64_t priority = 50;
  std::vector<std::string> datacenters{"*"};
  std::string node_pool = "default";
  bool all_at_once = false;
  std::vector<Constraint> constraints;
  std::vector<Affinity> affinities;
  std::vector<Spread> spreads;
  std::optional<Periodic> periodic;
  std::optional<Parameterized> parameterized;
  std::vector<Dependency> depends_on;
  std::optional<UpdateStrategy> update;  ///< for groups that say nothing else; as the next two
  std::optional<MigrateStrategy> migrate;
  std::optional<RescheduleStrategy> reschedule;
  std::vector<TaskGroup> groups;
  StringMap meta;
  std::optional<JobUi> ui;

  // Kept by the server.
  std::string parent_id;               ///< of the periodic or parameterized job that started it
  bool dispatched = false;             ///< started by a dispatch
  std::optional<std::string> payload;  ///< of the dispatch, base64; absent: nothing was brought
  std::string dispatch_token;          ///< the dispatch's idempotency token
  std::optional<VersionTag> version_tag;
  bool stop = false;
  JobStatus status = JobStatus::pending;
  std::string status_description;
  std::int64_t version = 0;
  bool stable = false;
  std::int64_t submit_time = 0;  ///< nanoseconds since the epoch
  std::string cluster;           ///< the cluster whose directory declared it; empty: by itself
  Revision create_index = 0;
  Revision modify_index = 0;
  Revision job_modify_index = 0;  ///< last change of the specification, not of the status

  /// Where groups were when index_groups() was called. A pool of ten thousand virtual machines is a job of as many
  /// groups, in which each allocation looks for its own again and again.
  std::shared_ptr<const GroupPositions> positions;

  const TaskGroup* find_group(std::string_view group_name) const;
  /// Has find_group() be quick on copies of this job, also on those that are changed then.
  void index_groups();
  /// Fills what depends on other fields: name from id, restart policies by type, dependencies of the job into no group.
  void canonicalize();
  /// Starts others by the clock, or by dispatch, and never runs itself.
  bool starts_others() const { return periodic || (parameterized && !dispatched); }
  /// Its tasks are to end by themselves.
  bool runs_to_its_end() const { return type == JobType::batch || type == JobType::sysbatch; }
};

/// The source a job was registered from, kept beside its versions.
struct JobSubmission {
  std::string source;
  std::string format;  ///< hcl2 or json
  std::string variables;
  StringMap variable_flags;
};

const describe::Enumeration& description(describe::Tag<JobType>);
const describe::Enumeration& description(describe::Tag<JobStatus>);
const describe::Enumeration& description(describe::Tag<DependencyScope>);
const describe::Enumeration& description(describe::Tag<OnFailure>);
const describe::Enumeration& description(describe::Tag<RestartMode>);
const describe::Enumeration& description(describe::Tag<LifecycleHook>);
const describe::Enumeration& description(describe::Tag<ChangeMode>);
const describe::Structure& description(describe::Tag<Dependency>);
const describe::Structure& description(describe::Tag<Port>);
const describe::Structure& description(describe::Tag<NetworkResource>);
const describe::Structure& description(describe::Tag<Resources>);
const describe::Structure& description(describe::Tag<RestartPolicy>);
const describe::Structure& description(describe::Tag<Lifecycle>);
const describe::Structure& description(describe::Tag<Artifact>);
const describe::Structure& description(describe::Tag<ChangeScript>);
const describe::Structure& description(describe::Tag<TemplateWait>);
const describe::Structure& description(describe::Tag<Template>);
const describe::Structure& description(describe::Tag<LogConfig>);
const describe::Structure& description(describe::Tag<EphemeralDisk>);
const describe::Structure& description(describe::Tag<Task>);
const describe::Structure& description(describe::Tag<TaskGroup>);
const describe::Structure& description(describe::Tag<Job>);
const describe::Structure& description(describe::Tag<JobSubmission>);

}  // namespace underway::model
