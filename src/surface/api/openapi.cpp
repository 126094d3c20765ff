#include "api/openapi.hpp"

#include <map>

#include "api/capsule_body.hpp"
#include "api/cluster_body.hpp"
#include "api/explain.hpp"
#include "api/job_statuses.hpp"
#include "api/saving_body.hpp"
#include "api/slurm_versions.hpp"
#include "api/status.hpp"
#include "api/stubs.hpp"
#include "api/sync_body.hpp"
#include "api/trust_body.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "capsule/extension.hpp"
#include "image/store.hpp"
#include "impact/entries.hpp"
#include "model/auth_method.hpp"
#include "model/evaluation.hpp"
#include "model/host_volume.hpp"
#include "model/node.hpp"
#include "model/node_pool.hpp"
#include "model/quota.hpp"
#include "model/saving.hpp"
#include "model/scheduler_configuration.hpp"
#include "model/service_instance.hpp"
#include "node/client_messages.hpp"
#include "provision/sync_status.hpp"
#include "trust/messages.hpp"

namespace underway::api {
namespace {

using boost::json::array;
using boost::json::object;
using describe::structure_of;

std::string schema_name(const describe::Structure& structure) {
  std::string name;
  for (const auto& word : split(structure.name, ' ')) name += upper(word.substr(0, 1)) + word.substr(1);
  return name;
}

using Schemas = std::map<std::string, const describe::Structure*>;

object schema_of(const describe::Type& type, Schemas& used);

object reference(const describe::Structure& structure, Schemas& used) {
  const std::string name = schema_name(structure);
  if (used.emplace(name, &structure).second) {
    for (const auto& field : structure.fields) schema_of(*field.type, used);
  }
  return {{"$ref", "#/components/schemas/" + name}};
}

object schema_of(const describe::Type& type, Schemas& used) {
  using describe::Kind;
  switch (type.kind) {
    case Kind::boolean:
      return {{"type", "boolean"}};
    case Kind::integer:
      return {{"type", "integer"}, {"format", "int64"}};
    case Kind::number:
      return {{"type", "number"}};
    case Kind::string:
      return {{"type", "string"}};
    case Kind::duration:
      return {{"type", "integer"}, {"format", "int64"}, {"description", "nanoseconds"}};
    case Kind::any:
      return {};
    case Kind::enumeration: {
      array values;
      for (const auto& name : type.enumeration().names()) values.emplace_back(name);
      return {{"type", "string"}, {"enum", std::move(values)}};
    }
    case Kind::optional:
      return schema_of(*type.element, used);
    case Kind::list:
      return {{"type", "array"}, {"items", schema_of(*type.element, used)}};
    case Kind::map:
      return {{"type", "object"}, {"additionalProperties", schema_of(*type.element, used)}};
    case Kind::structure:
      return reference(type.structure(), used);
  }
  return {};
}

/// The place of a field, which the wire may nest: "Shared.DiskMB".
boost::json::value& property(object& properties, std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return properties[name];
  auto& outer = properties[name.substr(0, dot)];
  if (!outer.is_object()) outer = object{{"type", "object"}, {"properties", object{}}};
  return outer.get_object()["properties"].get_object()[name.substr(dot + 1)];
}

object schema_body(const describe::Structure& structure, Schemas& used) {
  object properties;
  for (const auto& field : structure.fields) {
    if (field.json.empty()) continue;
    object schema = field.time ? object{{"type", "string"}, {"format", "date-time"}} : schema_of(*field.type, used);
    if (!field.doc.empty() && !schema.contains("$ref")) schema["description"] = field.doc;
    property(properties, field.json) = std::move(schema);
  }
  return {{"type", "object"}, {"description", structure.doc}, {"properties", std::move(properties)}};
}

/// "/v1/job/*id/plan" → "/v1/job/{id}/plan", and the parameters.
std::string template_path(std::string_view pattern, array& parameters) {
  std::string out;
  for (const auto& segment : split(pattern.substr(1), '/')) {
    out += '/';
    if (!segment.starts_with(':') && !segment.starts_with('*')) {
      out += segment;
      continue;
    }
    const std::string name = segment.substr(1);
    out += "{" + name + "}";
    parameters.push_back(
        object{{"name", name}, {"in", "path"}, {"required", true}, {"schema", object{{"type", "string"}}}});
  }
  return out;
}

object json_content(object schema) { return {{"application/json", object{{"schema", std::move(schema)}}}}; }

object operation(const Documented& route, const array& parameters, Schemas& used) {
  object response{{"description", "done"}};
  if (route.response != nullptr) {
    object schema = reference(*route.response, used);
    if (route.list) schema = object{{"type", "array"}, {"items", std::move(schema)}};
    response["content"] = json_content(std::move(schema));
  }
  object out{{"summary", route.summary},
             {"parameters", parameters},
             {"responses",
              object{{"200", std::move(response)}, {"default", object{{"description", "a refusal, as plain text"}}}}}};
  if (route.request != nullptr)
    out["requestBody"] = object{{"required", true}, {"content", json_content(reference(*route.request, used))}};
  return out;
}

}  // namespace

const std::vector<Documented>& documented_routes() {
  static const auto& job = structure_of<model::Job>();
  static const auto& node = structure_of<model::Node>();
  static const auto& allocation = structure_of<model::Allocation>();
  static const auto& evaluation = structure_of<model::Evaluation>();
  static const auto& deployment = structure_of<model::Deployment>();
  static const auto& service_instance = structure_of<model::ServiceInstance>();
  static const auto& service_list = structure_of<ServiceListStub>();
  static const auto& allocation_stub = structure_of<AllocationStub>();
  static const auto& cluster_body = structure_of<ClusterBody>();
  static const std::vector<Documented> routes = {
      {"GET", "/v1/jobs", "Lists jobs.", nullptr, &structure_of<JobStub>(), true},
      {"PUT|POST", "/v1/jobs",
       "Registers a job: {Job, Submission, EnforceIndex, JobModifyIndex, PreserveCounts, PreserveResources, "
       "EvalPriority}."},
      {"GET", "/v1/jobs/statuses", "Lists jobs with what runs of them, by their last change.", nullptr,
       &structure_of<JobStatusEntry>(), true},
      {"PUT|POST", "/v1/jobs/statuses", "The same of the jobs that the body names.", &structure_of<JobStatusesBody>(),
       &structure_of<JobStatusEntry>(), true},
      {"PUT|POST", "/v1/jobs/parse", "Parses a job file: {JobHCL, Variables}.", nullptr, &job},
      {"PUT|POST", "/v1/validate/job", "Tells what is wrong with a job: {Job}."},
      {"GET", "/v1/job/*id", "Reads a job.", nullptr, &job},
      {"PUT|POST", "/v1/job/*id", "Registers a job, as PUT /v1/jobs does."},
      {"DELETE", "/v1/job/*id", "Stops a job; ?purge forgets it."},
      {"GET", "/v1/job/*id/versions",
       "Reads the job's versions; ?diffs compares each with the one before it, diff_tag= or diff_version= all with "
       "one."},
      {"PUT|POST", "/v1/job/*id/versions/:name/tag",
       "Names a version, which keeps it from being forgotten: {Version, Description}."},
      {"DELETE", "/v1/job/*id/versions/:name/tag", "Takes the name away."},
      {"GET", "/v1/job/*id/actions", "Lists the actions of the job's tasks."},
      {"GET", "/v1/job/*id/action", "Runs an action in a task (WebSocket): ?action=, allocID=, group=, task=."},
      {"GET", "/v1/job/*id/scale", "How the counts of the job's groups stand, and what was asked of them."},
      {"PUT|POST", "/v1/job/*id/scale",
       "Sets the count of a group, within its bounds: {Target: {Group}, Count, Message, Error, Meta}."},
      {"GET", "/v1/scaling/policies", "Lists `scaling` blocks of jobs: ?job, type."},
      {"GET", "/v1/scaling/policy/:id", "Reads a `scaling` block."},
      {"GET", "/v1/job/*id/submission", "Reads the source of a version.", nullptr,
       &structure_of<model::JobSubmission>()},
      {"GET", "/v1/job/*id/allocations", "Lists the job's allocations.", nullptr, &allocation_stub, true},
      {"GET", "/v1/job/*id/evaluations", "Lists the job's evaluations.", nullptr, &evaluation, true},
      {"GET", "/v1/job/*id/services", "Lists what the job provides.", nullptr, &service_instance, true},
      {"GET", "/v1/job/*id/summary", "Counts the job's allocations.", nullptr, &structure_of<JobSummary>()},
      {"PUT|POST", "/v1/job/*id/evaluate", "Evaluates the job again."},
      {"GET", "/v1/job/*id/deployment", "The job's newest deployment, or null.", nullptr, &deployment},
      {"GET", "/v1/job/*id/deployments", "The job's deployments, newest first.", nullptr, &deployment, true},
      {"PUT|POST", "/v1/job/*id/revert", "Registers an earlier version anew: {JobVersion, EnforcePriorVersion}."},
      {"PUT|POST", "/v1/job/*id/stable", "Says whether a version is one to go back to: {JobVersion, Stable}."},
      {"PUT|POST", "/v1/job/*id/periodic/force", "Starts a child of a periodic job at once."},
      {"PUT|POST", "/v1/job/*id/dispatch",
       "Starts a child of a parameterized job: {Payload, Meta, IdPrefixTemplate, Priority}; ?idempotency_token."},
      {"GET", "/v1/job/*id/dispatch/payload", "The payload of a dispatched job, in base64: {Payload}."},
      {"PUT|POST", "/v1/job/*id/plan", "Tells what registering a job would do: {Job, Diff}."},
      {"GET", "/v1/nodes", "Lists nodes.", nullptr, &structure_of<NodeStub>(), true},
      {"GET", "/v1/node/:id", "Reads a node.", nullptr, &node},
      {"GET", "/v1/node/:id/allocations", "Lists the node's allocations.", nullptr, &allocation, true},
      {"PUT|POST", "/v1/node/:id/drain",
       "Moves everything away, or ends that: {DrainSpec: {Deadline, IgnoreSystemJobs, AskSlurm} or null, MarkEligible, "
       "Meta}."},
      {"PUT|POST", "/v1/underway/node/:id/drain/plan", "Tells what a drain would do to those who use the cluster.",
       nullptr, &structure_of<impact::Judgement>()},
      {"PUT|POST", "/v1/node/:id/eligibility", "Whether new allocations may come: {Eligibility}."},
      {"PUT|POST", "/v1/node/:id/evaluate", "Has the node's jobs, and system jobs, looked at again."},
      {"PUT|POST", "/v1/node/:id/purge", "Forgets a node that is down."},
      {"GET", "/v1/allocations", "Lists allocations.", nullptr, &allocation_stub, true},
      {"GET", "/v1/allocation/:id", "Reads an allocation with its job.", nullptr, &allocation},
      {"PUT|POST", "/v1/allocation/:id/stop", "Stops an allocation; a replacement is placed."},
      {"PUT|POST", "/v1/client/allocation/:id/restart", "Restarts a task, or all: {TaskName}."},
      {"PUT|POST", "/v1/client/allocation/:id/signal", "Signals a task, or all: {Task, Signal}."},
      {"GET", "/v1/client/allocation/:id/stats", "What the allocation uses."},
      {"GET", "/v1/client/allocation/:id/gc", "Removes a finished allocation's files."},
      {"GET", "/v1/allocation/:id/services", "Lists what the allocation provides.", nullptr, &service_instance, true},
      {"GET", "/v1/allocation/:id/checks", "What the allocation's checks say, by id."},
      {"GET", "/v1/client/allocation/:id/checks", "What the allocation's checks say, by id."},
      {"GET", "/v1/services", "Lists the services that somebody provides.", nullptr, &service_list, true},
      {"GET", "/v1/service/:name", "Lists who provides a service: choose=<n>|<key>.", nullptr, &service_instance, true},
      {"DELETE", "/v1/service/:name/:id", "Refused: entries are computed from allocations."},
      {"GET", "/v1/client/stats", "What a node's machine does now: ?node_id.", nullptr,
       &structure_of<node::HostStats>()},
      {"GET", "/v1/client/metadata", "A node's metadata, and where they come from: ?node_id.", nullptr,
       &structure_of<node::NodeMetadata>()},
      {"PUT|POST", "/v1/client/metadata", "Changes a node's metadata while it runs: {NodeID, Meta}; null takes away.",
       nullptr, &structure_of<node::NodeMetadata>()},
      {"GET", "/v1/client/gc", "Removes the files of what has ended on a node: ?node_id."},
      {"PUT|POST", "/v1/client/gc", "Removes the files of what has ended on a node: ?node_id."},
      {"GET", "/v1/client/identity", "Refused: a node's identity is its certificate."},
      {"PUT|POST", "/v1/client/identity/renew", "Refused: a node's identity is its certificate."},
      {"GET", "/v1/client/allocation/:id/pause", "Refused: tasks have no schedules."},
      {"PUT|POST", "/v1/client/allocation/:id/pause", "Refused: tasks cannot be paused."},
      {"GET", "/v1/client/fs/ls/:id", "Lists a directory of the allocation."},
      {"GET", "/v1/client/fs/stat/:id", "Tells about a file."},
      {"GET", "/v1/client/fs/cat/:id", "Reads a file."},
      {"GET", "/v1/client/fs/readat/:id", "Reads part of a file."},
      {"GET", "/v1/client/fs/stream/:id", "Follows a file."},
      {"GET", "/v1/client/fs/logs/:id", "Reads or follows a task's output."},
      {"GET", "/v1/client/allocation/:id/exec", "Runs a command beside a task (WebSocket)."},
      {"GET", "/v1/underway/host/:cluster/:name/exec", "Runs a command on a host (WebSocket)."},
      {"GET", "/v1/deployments", "Lists deployments.", nullptr, &deployment, true},
      {"GET", "/v1/deployment/:id", "Reads a deployment.", nullptr, &deployment},
      {"GET", "/v1/deployment/allocations/:id", "Lists the deployment's allocations.", nullptr, &allocation_stub, true},
      {"PUT|POST", "/v1/deployment/promote/:id", "Lets the rest follow the canaries: {All, Groups}."},
      {"PUT|POST", "/v1/deployment/fail/:id", "Ends a deployment; with auto_revert the job goes back."},
      {"PUT|POST", "/v1/deployment/pause/:id", "Pauses a deployment, or resumes it: {Pause}."},
      {"PUT|POST", "/v1/deployment/unblock/:id", "Refused: no deployment is ever blocked here."},
      {"PUT|POST", "/v1/deployment/allocation-health/:id",
       "A person's verdict: {HealthyAllocationIDs, UnhealthyAllocationIDs}."},
      {"GET", "/v1/evaluations", "Lists evaluations.", nullptr, &evaluation, true},
      {"GET", "/v1/evaluations/count", "Counts evaluations: ?filter."},
      {"DELETE", "/v1/evaluations", "Forgets evaluations: {EvalIDs} or {Filter}."},
      {"GET", "/v1/evaluation/:id", "Reads an evaluation.", nullptr, &evaluation},
      {"GET", "/v1/evaluation/:id/allocations", "Lists what the evaluation placed.", nullptr, &allocation_stub, true},
      {"GET", "/v1/event/stream",
       "Streams what happens, one JSON object a line: topic=TOPIC[:KEY], index=, namespace=. `{}` is a heartbeat."},
      {"GET", "/v1/agent/self", "What this agent is."},
      {"GET", "/v1/agent/members", "The servers."},
      {"GET", "/v1/agent/health", "Whether this agent is well."},
      {"GET", "/v1/agent/servers", "Addresses of servers."},
      {"PUT|POST", "/v1/agent/servers", "Refused: they are part of the configuration."},
      {"GET", "/v1/agent/host", "The machine of the server, or of ?node_id: distribution, resolver, disks."},
      {"GET", "/v1/agent/monitor",
       "Follows the log of the server, or of ?node_id: log_level=, log_json=, plain=. Frames of JSON, or text."},
      {"GET", "/v1/agent/schedulers", "Who schedules: one loop, for all kinds of jobs."},
      {"GET", "/v1/agent/schedulers/config", "How many schedule, and for which kinds of jobs."},
      {"PUT|POST", "/v1/agent/schedulers/config", "Refused: one loop schedules."},
      {"PUT|POST", "/v1/agent/reload", "Reads the agent's log level and certificates again."},
      {"PUT|POST", "/v1/agent/join", "Refused: servers meet in the store."},
      {"PUT|POST", "/v1/agent/force-leave", "Refused: servers meet in the store."},
      {"GET", "/v1/agent/keyring/list", "Refused: there is no gossip."},
      {"GET", "/v1/agent/pprof/:profile", "Refused: there is no Go runtime."},
      {"GET", "/v1/status/leader", "Address of the leader."},
      {"GET", "/v1/status/peers", "Addresses of the servers."},
      {"GET", "/v1/regions", "The regions."},
      {"GET", "/v1/namespaces", "Lists namespaces.", nullptr, &structure_of<model::Namespace>(), true},
      {"GET", "/v1/namespace/:name", "Reads a namespace.", nullptr, &structure_of<model::Namespace>()},
      {"PUT|POST", "/v1/namespace", "Makes or changes a namespace.", &structure_of<model::Namespace>()},
      {"PUT|POST", "/v1/namespace/:name", "Makes or changes a namespace.", &structure_of<model::Namespace>()},
      {"DELETE", "/v1/namespace/:name", "Deletes a namespace without jobs."},
      {"GET", "/v1/node/pools", "Lists node pools.", nullptr, &structure_of<model::NodePool>(), true},
      {"PUT|POST", "/v1/node/pools", "Makes or changes a node pool.", &structure_of<model::NodePool>()},
      {"GET", "/v1/node/pool/:name", "Reads a node pool.", nullptr, &structure_of<model::NodePool>()},
      {"PUT|POST", "/v1/node/pool/:name", "Makes or changes a node pool.", &structure_of<model::NodePool>()},
      {"DELETE", "/v1/node/pool/:name", "Deletes a node pool without nodes and jobs."},
      {"GET", "/v1/node/pool/:name/jobs", "Lists the jobs of a node pool."},
      {"GET", "/v1/node/pool/:name/nodes", "Lists the nodes of a node pool."},
      {"GET", "/v1/quotas", "Lists quotas.", nullptr, &structure_of<model::Quota>(), true},
      {"GET", "/v1/quota-usages", "Lists what is used of quotas.", nullptr, &structure_of<model::QuotaUsage>(), true},
      {"GET", "/v1/quota/usage/:name", "What is used of a quota.", nullptr, &structure_of<model::QuotaUsage>()},
      {"GET", "/v1/quota/:name", "Reads a quota.", nullptr, &structure_of<model::Quota>()},
      {"PUT|POST", "/v1/quota", "Makes or changes a quota.", &structure_of<model::Quota>()},
      {"PUT|POST", "/v1/quota/:name", "Makes or changes a quota.", &structure_of<model::Quota>()},
      {"DELETE", "/v1/quota/:name", "Deletes a quota that bounds no namespace."},
      {"PUT|POST", "/v1/acl/bootstrap", "Makes the first management token, once."},
      {"GET", "/v1/acl/policies", "Lists policies.", nullptr, nullptr, true},
      {"GET", "/v1/acl/policy/:name", "Reads a policy.", nullptr, &structure_of<model::AclPolicy>()},
      {"PUT|POST", "/v1/acl/policy/:name", "Makes or changes a policy.", &structure_of<model::AclPolicy>()},
      {"DELETE", "/v1/acl/policy/:name", "Deletes a policy."},
      {"GET", "/v1/acl/tokens", "Lists tokens, without their secrets.", nullptr, nullptr, true},
      {"PUT|POST", "/v1/acl/token", "Makes a token; the answer alone has its secret."},
      {"GET", "/v1/acl/token/self", "Reads the token of the request."},
      {"GET", "/v1/acl/token/:id", "Reads a token, without its secret."},
      {"PUT|POST", "/v1/acl/token/:id", "Changes a token."},
      {"DELETE", "/v1/acl/token/:id", "Revokes a token: what it runs ends within a second."},
      {"GET", "/v1/acl/roles", "Lists roles.", nullptr, &structure_of<model::AclRole>(), true},
      {"PUT|POST", "/v1/acl/role", "Makes a role.", &structure_of<model::AclRole>(), &structure_of<model::AclRole>()},
      {"GET", "/v1/acl/role/:id", "Reads a role.", nullptr, &structure_of<model::AclRole>()},
      {"GET", "/v1/acl/role/name/:name", "Reads a role by its name.", nullptr, &structure_of<model::AclRole>()},
      {"PUT|POST", "/v1/acl/role/:id", "Changes a role.", &structure_of<model::AclRole>(),
       &structure_of<model::AclRole>()},
      {"DELETE", "/v1/acl/role/:id", "Deletes a role."},
      {"GET", "/v1/acl/auth-methods", "Lists auth methods: names, types, and which are the default; needs no token."},
      {"PUT|POST", "/v1/acl/auth-method", "Makes an auth method. Its secrets are kept sealed and never shown.",
       &structure_of<model::AuthMethod>(), &structure_of<model::AuthMethod>()},
      {"GET", "/v1/acl/auth-method/:name", "Reads an auth method.", nullptr, &structure_of<model::AuthMethod>()},
      {"PUT|POST", "/v1/acl/auth-method/:name", "Changes an auth method; what is left out stays.",
       &structure_of<model::AuthMethod>(), &structure_of<model::AuthMethod>()},
      {"DELETE", "/v1/acl/auth-method/:name", "Deletes an auth method with its binding rules."},
      {"GET", "/v1/acl/binding-rules", "Lists binding rules."},
      {"PUT|POST", "/v1/acl/binding-rule", "Makes a binding rule.", &structure_of<model::BindingRule>(),
       &structure_of<model::BindingRule>()},
      {"GET", "/v1/acl/binding-rule/:id", "Reads a binding rule.", nullptr, &structure_of<model::BindingRule>()},
      {"PUT|POST", "/v1/acl/binding-rule/:id", "Changes a binding rule; what is left out stays.",
       &structure_of<model::BindingRule>(), &structure_of<model::BindingRule>()},
      {"DELETE", "/v1/acl/binding-rule/:id", "Deletes a binding rule."},
      {"PUT|POST", "/v1/acl/login", "A token for a JWT: {AuthMethodName, LoginToken}."},
      {"PUT|POST", "/v1/acl/oidc/auth-url",
       "Where to log in: {AuthMethodName, RedirectURI, ClientNonce} -> {AuthURL}."},
      {"PUT|POST", "/v1/acl/oidc/complete-auth",
       "A token for who comes back: {AuthMethodName, RedirectURI, ClientNonce, State, Code}."},
      {"PUT|POST", "/v1/acl/token/onetime", "A secret that stands for the caller's token once: {OneTimeToken}."},
      {"PUT|POST", "/v1/acl/token/onetime/exchange", "The token for it: {OneTimeSecretID} -> {Token}."},
      {"PUT|POST", "/v1/acl/identity/client-introduction-token",
       "A join token, as Nomad's clients ask for one: {TTL, NodeName, NodePool} -> {JWT}."},
      {"GET", "/v1/operator/scheduler/configuration", "Reads what is set of scheduling: {Index, SchedulerConfig}."},
      {"PUT|POST", "/v1/operator/scheduler/configuration",
       "Sets it, with ?cas= from the state that was seen only: {Updated, Index}.",
       &structure_of<model::SchedulerConfiguration>()},
      {"GET", "/v1/operator/raft/configuration", "The servers: this one."},
      {"DELETE", "/v1/operator/raft/peer", "Refused: there is one server."},
      {"PUT|POST", "/v1/operator/raft/transfer-leadership", "Refused: there is one server."},
      {"GET", "/v1/operator/autopilot/configuration", "Reads what is kept for Nomad's clients of autopilot.", nullptr,
       &structure_of<model::AutopilotConfiguration>()},
      {"PUT|POST", "/v1/operator/autopilot/configuration", "Keeps it; ?cas=. With one server nothing acts on it.",
       &structure_of<model::AutopilotConfiguration>()},
      {"GET", "/v1/operator/autopilot/health", "Whether this server can write; 429 when it cannot."},
      {"GET", "/v1/operator/license", "Refused: there is no licence, and one build."},
      {"PUT|POST", "/v1/system/reconcile/summaries", "Without effect: summaries are counted when they are asked for."},
      {"PUT|POST", "/v1/system/gc", "Forgets what is over."},
      {"PUT|POST", "/v1/search", "Finds ids by prefix: {Prefix, Context}."},
      {"PUT|POST", "/v1/search/fuzzy", "Finds names by any part: {Text, Context}."},
      {"GET", "/v1/metrics", "Metrics, as JSON or with ?format=prometheus."},
      {"GET", "/v1/vars", "Lists variables, without their items; ?prefix."},
      {"GET", "/v1/var/*path", "Reads a variable."},
      {"PUT|POST", "/v1/var/*path",
       "Writes a variable: {Items, Lock}; ?cas=, ?lock-acquire, ?lock-renew, ?lock-release. 409 has what was there."},
      {"DELETE", "/v1/var/*path", "Deletes a variable; ?cas=."},
      {"GET", "/v1/operator/snapshot", "The whole state in one file (gzip tar); the header Digest has its SHA-256."},
      {"PUT|POST", "/v1/operator/snapshot",
       "Replaces the state by such a file; one of another cluster only with ?force=true."},
      {"GET", "/v1/volumes", "Lists volumes; ?type=host|csi (of csi there are none), node_id, node_pool, plugin_id."},
      {"PUT|POST", "/v1/volume/host/create",
       "Has a node make a volume: {Volume} -> {Volume, Warnings}. It is pending while the node cannot be reached."},
      {"PUT|POST", "/v1/volume/host/register", "Lends a directory that is on a node: {Volume} -> {Volume, Warnings}."},
      {"GET", "/v1/volume/host/:id", "Reads a volume, with the allocations that use it.", nullptr,
       &structure_of<model::HostVolume>()},
      {"DELETE", "/v1/volume/host/:id/delete",
       "Deletes a volume that nobody uses; ?force: also when its node is gone."},
      {"DELETE", "/v1/volume/host/:id", "The same."},
      {"GET", "/v1/volumes/claims", "Which volumes groups are bound to; ?job_id, task_group, volume_name."},
      {"DELETE", "/v1/volumes/claims/:id", "Unbinds: the next placement may have another volume."},
      {"GET", "/v1/plugins", "Lists CSI plugins: there are none."},
      {"GET", "/v1/plugin/csi/:id", "Refused (404): there is no CSI here."},
      {"GET", "/v1/volume/csi/:id", "Refused (404): there is no CSI here."},
      {"GET", "/v1/recommendations", "Refused: nothing watches usage to recommend resources."},
      {"GET", "/v1/sentinel/policies", "Refused: there is no Sentinel."},
      {"GET", "/v1/operator/keyring/keys", "Lists the root keys."},
      {"PUT|POST", "/v1/operator/keyring/rotate", "Makes a new root key; ?full seals every variable anew."},
      {"DELETE", "/v1/operator/keyring/key/:id", "Forgets a root key under which nothing is sealed."},
      {"GET", "/.well-known/jwks.json", "The keys that verify the tokens of tasks; needs no token."},
      {"GET", "/.well-known/openid-configuration", "Where those keys are; needs no token."},
      {"GET", "/v1/underway/link", "The link of a node (WebSocket)."},
      {"PUT|POST", "/v1/underway/node/join", "Joins a new node; a join token is what counts.",
       &structure_of<trust::JoinRequest>(), &structure_of<trust::Certified>()},
      {"GET", "/v1/underway/join-tokens", "Lists join tokens.", nullptr, &structure_of<model::JoinToken>(), true},
      {"PUT|POST", "/v1/underway/join-tokens", "Makes a join token.", &structure_of<NewJoinToken>(),
       &structure_of<CreatedJoinToken>()},
      {"DELETE", "/v1/underway/join-token/:id", "Revokes a join token."},
      {"GET", "/v1/underway/tls", "The authority and the server's certificate."},
      {"PUT|POST", "/v1/underway/tls/rotate", "A new certificate for the server; with `authority`, a new authority."},
      {"GET", "/v1/underway/allocation/:id/capsule/changes",
       "What the allocation's capsule has changed since its image.", nullptr, &structure_of<capsule::Changes>()},
      {"GET", "/v1/underway/allocation/:id/capsule/services", "The services of the allocation's capsule.", nullptr,
       &structure_of<capsule::Services>()},
      {"GET", "/v1/underway/images", "Lists capsule images, newest first.", nullptr,
       &structure_of<image::StoredImage>(), true},
      {"GET", "/v1/underway/image/:reference", "Reads an image, by digest, name or name:version, with its manifest."},
      {"DELETE", "/v1/underway/image/:reference", "Removes an image; 409 while jobs refer to it, unless ?force."},
      {"PUT|POST", "/v1/underway/images/prune",
       "Removes images that no job refers to and that came more than ?older (720h) ago; ?dry only says which.", nullptr,
       &structure_of<image::StoredImage>(), true},
      {"GET", "/v1/underway/image/:reference/content", "The file of an image, from byte ?offset on."},
      {"GET", "/v1/underway/incoming-image/:digest", "How much has arrived of an image of ?size bytes: {Offset}."},
      {"PUT|POST", "/v1/underway/incoming-image/:digest",
       "Takes bytes of an image of ?size bytes, from ?offset on: at most 8 MiB."},
      {"PUT|POST", "/v1/underway/incoming-image/:digest/finish",
       "Verifies what has arrived with the trusted keys; then it is an image.", nullptr,
       &structure_of<image::StoredImage>()},
      {"GET", "/v1/underway/capsule-keys", "Lists the keys whose images are trusted.", nullptr,
       &structure_of<image::KeyRecord>(), true},
      {"PUT|POST", "/v1/underway/capsule-keys", "Trusts a key.", &structure_of<image::KeyRecord>()},
      {"PUT|POST", "/v1/underway/capsule-key/:id/revoke", "Revokes a key: {Reason}."},
      {"GET", "/v1/underway/openapi.json", "This document."},
      {"GET", "/v1/underway/clusters", "Lists clusters.", nullptr, &structure_of<model::Cluster>(), true},
      {"GET", "/v1/underway/cluster/:name", "Reads a cluster.", nullptr, &structure_of<model::Cluster>()},
      {"PUT|POST", "/v1/underway/cluster/:name", "Applies a cluster with its jobs, together or not at all.",
       &cluster_body},
      {"DELETE", "/v1/underway/cluster/:name", "Takes a cluster down."},
      {"PUT|POST", "/v1/underway/cluster/:name/plan", "Tells what applying would do.", &cluster_body,
       &structure_of<ClusterPlan>()},
      {"GET", "/v1/underway/capsules", "Lists capsules.", nullptr, &structure_of<model::Capsule>(), true},
      {"GET", "/v1/underway/capsule/:name", "Reads a capsule: who runs it.", nullptr, &structure_of<model::Capsule>()},
      {"PUT|POST", "/v1/underway/capsule/:name/move", "Moves it to another node.", &structure_of<MoveCapsule>(),
       &structure_of<MovedCapsule>()},
      {"PUT|POST", "/v1/underway/capsule/:name/upgrade", "Starts it from another image, after a rehearsal.",
       &structure_of<UpgradeCapsule>(), &structure_of<UpgradedCapsule>()},
      {"GET", "/v1/underway/slurm/versions",
       "Whether a slurmctld and a slurmdbd (`?slurmctld=22.05.8&slurmdbd=…`) go with the slurmd of the nodes.", nullptr,
       &structure_of<SlurmVersions>()},
      {"PUT|POST", "/v1/underway/capsule/:name/cancel", "Gives its move or upgrade up."},
      {"PUT|POST", "/v1/underway/capsule/:name/move/plan", "Tells what a move would do to those who use the capsule.",
       &structure_of<MoveCapsule>(), &structure_of<impact::Judgement>()},
      {"PUT|POST", "/v1/underway/capsule/:name/standby", "Says who takes over.", &structure_of<CapsuleStandby>()},
      {"PUT|POST", "/v1/underway/capsule/:name/host-is-off", "Vouches for it that its owner's host is off."},
      {"GET", "/v1/underway/capsule/:name/saving", "How its snapshots, backups and drills go.", nullptr,
       &structure_of<model::CapsuleSaving>()},
      {"GET", "/v1/underway/capsule/:name/snapshots", "Lists its snapshots. Asked of its node.", nullptr,
       &structure_of<saving::Snapshots>()},
      {"PUT|POST", "/v1/underway/capsule/:name/snapshot", "Takes a snapshot of its overlay.",
       &structure_of<TakeSnapshot>(), &structure_of<overlay::Snapshot>()},
      {"PUT|POST", "/v1/underway/capsule/:name/backup", "Backs its overlay up.", &structure_of<MakeBackup>(),
       &structure_of<saving::Backed>()},
      {"PUT|POST", "/v1/underway/capsule/:name/backups", "Lists its backups. Asked of its node.",
       &structure_of<MakeBackup>(), &structure_of<saving::Backups>()},
      {"PUT|POST", "/v1/underway/capsule/:name/restore", "Makes its overlay what it was; it stops and starts.",
       &structure_of<RestoreCapsule>(), &structure_of<RestoredCapsule>()},
      {"PUT|POST", "/v1/underway/capsule/:name/drill", "Tries what was saved of it.", &structure_of<MakeDrill>(),
       &structure_of<saving::Drilled>()},
      {"GET", "/v1/underway/hosts", "Lists hosts.", nullptr, &structure_of<model::Host>(), true},
      {"GET", "/v1/underway/host/:cluster/:name", "Reads a host.", nullptr, &structure_of<model::Host>()},
      {"GET", "/v1/underway/files", "Lists synchronised files, without their bytes; ?cluster.", nullptr,
       &structure_of<model::SyncFile>(), true},
      {"PUT|POST", "/v1/underway/files", "Declares files of ?cluster; ?dry-run.", &structure_of<SyncFilesBody>(),
       &structure_of<provision::FilesPut>()},
      {"PUT|POST", "/v1/underway/files/piece",
       "Keeps a piece of a large file, 1 MiB of plain bytes at most, for the declaration that follows; ?secret seals "
       "it.",
       nullptr, &structure_of<SyncPiece>()},
      {"PUT|POST", "/v1/underway/files/sync", "Nodes look at their files now.", &structure_of<SyncNowBody>()},
      {"GET", "/v1/underway/files/status", "How files stand on nodes and in capsules; ?cluster.", nullptr,
       &structure_of<provision::TargetStatus>(), true},
      {"GET", "/v1/underway/files/key", "How the key that signs manifests stands, and its rotation.", nullptr,
       &structure_of<provision::KeyState>()},
      {"PUT|POST", "/v1/underway/files/key/rotate",
       "Has another key sign manifests once every node that is alive believes it; with ?force at once.", nullptr,
       &structure_of<provision::KeyState>()},
      {"GET", "/v1/underway/file", "Reads a declaration: ?cluster, name.", nullptr, &structure_of<model::SyncFile>()},
      {"DELETE", "/v1/underway/file", "Removes a declaration: ?cluster, name."},
      {"GET", "/v1/underway/file/content", "Reads a master: ?cluster, name; ?node renders it for that node.", nullptr,
       &structure_of<MasterBody>()},
      {"GET", "/v1/underway/file/actual", "Reads a file as it is: ?node, path; ?capsule.", nullptr,
       &structure_of<provision::ReadReply>()},
      {"GET", "/v1/underway/job/*id/explain", "Why a job is as it is; ?nodes asks every node.", nullptr,
       &structure_of<Explanation>()},
      {"GET", "/v1/underway/changes",
       "Lists the changes that were made, with their classes, oldest first: ?since, limit.", nullptr,
       &structure_of<impact::Entry>(), true},
      {"GET", "/v1/underway/audit", "Reads the audit log: ?since, who, limit; with ?follow=true, line by line."},
      {"GET", "/v1/underway/status", "Everything for one screen.", nullptr, &structure_of<Status>()},
  };
  return routes;
}

std::string openapi_document() {
  Schemas used;
  object paths;
  for (const auto& route : documented_routes()) {
    array parameters;
    const std::string path = template_path(route.pattern, parameters);
    auto& item = paths[path].is_object() ? paths[path].get_object() : paths[path].emplace_object();
    for (const auto& method : split(route.methods, '|')) item[lower(method)] = operation(route, parameters, used);
  }
  object schemas;
  for (const auto& [name, structure] : Schemas(used)) schemas[name] = schema_body(*structure, used);
  return boost::json::serialize(
      object{{"openapi", "3.1.0"},
             {"info", object{{"title", "Underway"},
                             {"version", version()},
                             {"description", "Nomad's HTTP API, and ours below /v1/underway."}}},
             {"paths", std::move(paths)},
             {"components", object{{"schemas", std::move(schemas)}}}});
}

}  // namespace underway::api
