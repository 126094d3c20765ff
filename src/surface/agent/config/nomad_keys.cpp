#include "agent/config/nomad_keys.hpp"

#include <algorithm>

#include "agent/config/config.hpp"
#include "base/text.hpp"

namespace underway::agent {
namespace {

struct Key {
  std::string_view name;
  std::string_view words;
  bool is_block = false;
};

constexpr std::string_view kNoConsul =
    "services are in the built-in catalogue; a Consul for templates is named in client.template.compat.consul";
constexpr std::string_view kNoVault =
    "secrets are in variables; a Vault for templates is named in client.template.compat.vault";
constexpr std::string_view kOneServer = "servers meet in the store, they do not join each other";
constexpr std::string_view kNoRaft = "there is no Raft: the state is in the store";
constexpr std::string_view kNoCsi = "there are no CSI plugins";
constexpr std::string_view kJournal = "the log goes to standard error, and the journal keeps it";
constexpr std::string_view kOwnPlace = "its place is in data_dir";
constexpr std::string_view kOwnGc = "what is over is collected by count and age";
constexpr std::string_view kOnePort = "nodes dial the server's HTTP address";
constexpr std::string_view kCapability = "rights are ACL policies: take alloc-exec away";

const std::vector<Key> kAgent = {
    {"advertise", "nodes are told by client.servers where their server is", true},
    {"autopilot", "with one server nothing acts on it", true},
    {"consul", kNoConsul, true},
    {"disable_anonymous_signature", "nothing is sent to anybody"},
    {"disable_update_check", "nothing asks for updates"},
    {"enable_debug", "there is no Go runtime to profile"},
    {"enable_syslog", kJournal},
    {"eventlog", "that is Windows'", true},
    {"http_api_response_headers", "no page of another origin needs the API", true},
    {"leave_on_interrupt", "tasks outlive their agent"},
    {"leave_on_terminate", "tasks outlive their agent"},
    {"log_file", kJournal},
    {"log_include_location", kJournal},
    {"log_json", kJournal},
    {"log_rotate_bytes", kJournal},
    {"log_rotate_duration", kJournal},
    {"log_rotate_max_files", kJournal},
    {"plugin_dir", "drivers are built in"},
    {"reporting", "nothing is reported to anybody", true},
    {"rpc", kOnePort, true},
    {"sentinel", "there are no Sentinel policies", true},
    {"syslog_facility", kJournal},
    {"ui", "there is no web page yet", true},
    {"vault", kNoVault, true},
};

const std::vector<Key> kServer = {
    {"acl_token_gc_threshold", kOwnGc},
    {"batch_eval_gc_threshold", kOwnGc},
    {"client_introduction", "nodes join with tokens, always", true},
    {"csi_plugin_gc_threshold", kNoCsi},
    {"csi_volume_claim_gc_interval", kNoCsi},
    {"csi_volume_claim_gc_threshold", kNoCsi},
    {"data_dir", kOwnPlace},
    {"default_scheduler_config", "set it once with `operator scheduler set-config`", true},
    {"deployment_gc_threshold", kOwnGc},
    {"enable_event_broker", "the event stream is always there"},
    {"enabled_schedulers", "one loop schedules all kinds of jobs"},
    {"encrypt", "there is no gossip; links are mutual TLS, always"},
    {"event_buffer_size", "events are kept by age"},
    {"job_default_priority", "it is 50"},
    {"job_gc_interval", kOwnGc},
    {"job_max_count", "quotas bound namespaces"},
    {"job_max_priority", "it is 100"},
    {"job_max_source_size", "it is 1 MiB"},
    {"job_tracked_versions", "it is 6"},
    {"license_path", "there is no licence, and one build"},
    {"max_heartbeats_per_second", "heartbeats have no bound"},
    {"non_voting_server", kNoRaft},
    {"num_schedulers", "one loop schedules"},
    {"plan_rejection_tracker", "no plan is ever rejected", true},
    {"raft_boltdb", kNoRaft, true},
    {"raft_multiplier", kNoRaft},
    {"raft_protocol", kNoRaft},
    {"raft_snapshot_interval", kNoRaft},
    {"raft_snapshot_threshold", kNoRaft},
    {"raft_trailing_logs", kNoRaft},
    {"redundancy_zone", "there are no redundancy zones"},
    {"rejoin_after_leave", kOneServer},
    {"retry_interval", kOneServer},
    {"retry_join", kOneServer},
    {"retry_max", kOneServer},
    {"root_key_gc_interval", "root keys are forgotten by `operator root keyring remove`"},
    {"root_key_gc_threshold", "root keys are forgotten by `operator root keyring remove`"},
    {"search", "searches have bounds of their own", true},
    {"server_join", kOneServer, true},
    {"start_join", kOneServer},
    {"start_timeout", kOneServer},
    {"upgrade_version", "nothing migrates upgrades"},
};

const std::vector<Key> kClient = {
    {"alloc_dir", kOwnPlace},
    {"alloc_mounts_dir", kOwnPlace},
    {"artifact", "artifacts have bounds of their own", true},
    {"bridge_network_subnet_ipv6", "networks of groups have addresses of their own"},
    {"cgroup_parent", "tasks are below the agent's own cgroup"},
    {"chroot_env", "a task of exec sees the machine read-only, not copies of files", true},
    {"common_plugin_dir", "drivers are built in"},
    {"cpu_disable_dmidecode", "the kernel is asked, not dmidecode"},
    {"disk_free_mb", "what is free is measured"},
    {"drain_on_shutdown", "tasks outlive their agent; drain with `node drain`", true},
    {"gc_disk_usage_threshold", kOwnGc},
    {"gc_inode_usage_threshold", kOwnGc},
    {"gc_interval", kOwnGc},
    {"gc_parallel_destroys", kOwnGc},
    {"gc_volumes_on_node_gc", kOwnGc},
    {"no_host_uuid", "a node's id is its own"},
    {"node_max_allocs", "resources bound what a node runs"},
    {"options", "drivers are set in `plugin` blocks", true},
    {"preferred_address_family", "the address is that of network_interface"},
    {"state_dir", kOwnPlace},
    {"users", "users of tasks are not made up", true},
};

const std::vector<Key> kTemplate = {
    {"block_query_wait", "templates are told of changes"},
    {"consul_retry", "a template waits until Consul answers", true},
    {"max_stale", "templates are told of changes"},
    {"nomad_retry", "a template waits until what it needs is there", true},
    {"vault_retry", "a template waits until Vault answers", true},
    {"wait", "`wait` is set in job files", true},
    {"wait_bounds", "`wait` is set in job files", true},
};

const std::vector<Key> kTls = {
    {"rpc_upgrade_mode", "links are mutual TLS, always"},
    {"tls_cipher_suites", "it is OpenSSL's, for TLS 1.2 and newer"},
    {"tls_min_version", "it is TLS 1.2"},
};

const std::vector<Key> kAcl = {{"policy_ttl", "rights change at once"},
                               {"replication_token", "there is one region"},
                               {"role_ttl", "rights change at once"},
                               {"token_ttl", "rights change at once"}};

const std::vector<Key> kAudit = {{"filter", "everything that changes something is logged", true},
                                 {"sink", "the log is one file below data_dir", true}};

constexpr std::string_view kPulled = "/v1/metrics is asked, also by Prometheus; nothing is sent to anybody";
constexpr std::string_view kAlways = "/v1/metrics always has it, for Prometheus as well";
constexpr std::string_view kMeasured = "it is measured when somebody asks";
const std::vector<Key> kTelemetry = {
    {"circonus_api_app", kPulled},
    {"circonus_api_token", kPulled},
    {"circonus_api_url", kPulled},
    {"circonus_broker_id", kPulled},
    {"circonus_broker_select_tag", kPulled},
    {"circonus_check_display_name", kPulled},
    {"circonus_check_force_metric_activation", kPulled},
    {"circonus_check_id", kPulled},
    {"circonus_check_instance_id", kPulled},
    {"circonus_check_search_tag", kPulled},
    {"circonus_check_submission_url", kPulled},
    {"circonus_check_tags", kPulled},
    {"circonus_submission_interval", kPulled},
    {"collection_interval", kMeasured},
    {"datadog_address", kPulled},
    {"datadog_tags", kPulled},
    {"disable_allocation_hook_metrics", "hooks of allocations are not measured"},
    {"disable_hostname", "names have no host; the label `host` has"},
    {"disable_quota_utilization_metrics", "quotas are read by `quota status`"},
    {"disable_rpc_rate_metrics_labels", "there are no RPCs"},
    {"filter_default", "Prometheus drops what it does not want"},
    {"in_memory_collection_interval", kMeasured},
    {"in_memory_retention_period", kMeasured},
    {"include_alloc_metadata_in_metrics", "labels name the job, which has it"},
    {"allowed_metadata_keys_in_metrics", "labels name the job, which has it"},
    {"prefix_filter", "Prometheus drops what it does not want"},
    {"prometheus_metrics", kAlways},
    {"statsd_address", kPulled},
    {"statsite_address", kPulled},
    {"use_node_name", "the label `host` is the node's name"},
};

const std::vector<Key> kLimits = {
    {"http_max_conns_per_client", "one address gets no more than are left for all others"},
    {"https_handshake_timeout", "it is 10s"},
    {"rpc_handshake_timeout", kOnePort},
    {"rpc_max_conns_per_client", kOnePort}};

const std::vector<Key> kPorts = {{"rpc", kOnePort}, {"serf", kOneServer}};
const std::vector<Key> kPlugin = {{"args", "drivers are built in"}};

using Refused = std::vector<std::pair<std::string, std::string>>;

const Refused kAgentRefused = {
    {"keyring", "root keys of variables are wrapped by server.wrapping_key, not by a service"}};
const Refused kServerRefused = {{"authoritative_region", "there is one region"}};
const Refused kClientRefused = {{"disable_remote_exec", std::string(kCapability)}};
const Refused kTemplateRefused = {
    {"function_denylist", "templates run nothing and write nothing; no more is taken away"}};

template <class T>
bool is_ours(std::string_view name) {
  const auto& fields = describe::structure_of<T>().fields;
  return std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return field.hcl == name; });
}

void warn(const std::vector<Key>& keys, const jobspec::Site& site) {
  const auto tell = [&](const std::string& name, const hcl::Range& range) {
    for (const auto& key : keys) {
      if (key.name == name)
        site.diagnostics.warning(range, fmt::format("`{}` has no effect", name), std::string(key.words));
    }
  };
  for (const auto& attribute : site.content.attributes) tell(attribute.name, attribute.name_range);
  for (const auto& block : site.content.blocks) tell(block.type, block.type_range);
}

/// What the description has is not ours to speak of.
template <class T>
jobspec::Extension extension(const std::vector<Key>& all, const Refused& refused = {}) {
  jobspec::Extension out;
  std::vector<Key> keys;
  for (const auto& key : all) {
    if (!is_ours<T>(key.name)) keys.push_back(key);
  }
  for (const auto& key : keys) {
    out.attributes.emplace_back(key.name);
    if (key.is_block) out.blocks.push_back({std::string(key.name), {"name", "name"}, true});
  }
  out.refused = refused;
  out.finish = [keys](void*, const jobspec::Site& site) { warn(keys, site); };
  return out;
}

std::optional<hcl::Value> value_of(const jobspec::Site& site, std::string_view name) {
  const auto* attribute = site.content.find(name);
  return attribute == nullptr ? std::nullopt : attribute->expression.evaluate(site.context, site.diagnostics);
}

jobspec::Extension server_extension() {
  auto out = extension<ServerRole>(kServer, kServerRefused);
  out.attributes.emplace_back("bootstrap_expect");
  out.finish = [before = out.finish](void* object, const jobspec::Site& site) {
    before(object, site);
    const auto expected = value_of(site, "bootstrap_expect");
    if (!expected) return;
    const auto& range = site.content.find("bootstrap_expect")->range;
    std::int64_t servers = 1;
    jobspec::decode_value(*expected, describe::kType<std::int64_t>, &servers, range, "bootstrap_expect",
                          site.diagnostics);
    if (servers <= 1) return;
    site.diagnostics.error(range, "`bootstrap_expect` is more than 1",
                           "this server would not wait for others: it is the only one",
                           "write bootstrap_expect = 1, or nothing");
  };
  return out;
}

jobspec::Extension client_extension() {
  auto out = extension<ClientRole>(kClient, kClientRefused);
  out.blocks.push_back({"server_join", {}, true});
  out.finish = [before = out.finish](void* object, const jobspec::Site& site) {
    before(object, site);
    auto& client = *static_cast<ClientRole*>(object);
    std::vector<std::string> servers = client.servers;
    for (const auto* block : site.content.blocks_of("server_join")) {
      const auto joined = block->body.just_attributes(site.diagnostics, "server_join");
      for (const auto& attribute : joined) {
        if (attribute.name != "retry_join" && attribute.name != "start_join") continue;
        jobspec::decode_value(attribute.expression.evaluate(site.context, site.diagnostics).value_or(hcl::Value()),
                              describe::kType<std::vector<std::string>>, &servers, attribute.range, "server_join",
                              site.diagnostics);
      }
    }
    client.servers.clear();
    for (const auto& server : servers) {
      if (asks_a_cloud(server))
        site.diagnostics.error(site.header, fmt::format("'{}' is no address", server), "no cloud is asked for servers",
                               "name them in client.servers");
      client.servers.push_back(server_url(server));
    }
  };
  return out;
}

/// The driver under the name of Nomad's plugin.
jobspec::Extension plugin_extension() {
  auto out = extension<Plugin>(kPlugin);
  out.finish = [before = out.finish](void* object, const jobspec::Site& site) {
    before(object, site);
    auto& plugin = *static_cast<Plugin*>(object);
    if (plugin.name == "nomad-driver-podman") plugin.name = "podman";
  };
  return out;
}

jobspec::Dialect make_keys() {
  jobspec::Dialect out;
  const auto add = [&](std::string_view name, jobspec::Extension extension) {
    out.emplace(name, std::move(extension));
  };
  add(describe::structure_of<Config>().name, extension<Config>(kAgent, kAgentRefused));
  add(describe::structure_of<ServerRole>().name, server_extension());
  add(describe::structure_of<ClientRole>().name, client_extension());
  add(describe::structure_of<TemplateSettings>().name, extension<TemplateSettings>(kTemplate, kTemplateRefused));
  add(describe::structure_of<TlsSettings>().name, extension<TlsSettings>(kTls));
  add(describe::structure_of<AclSettings>().name, extension<AclSettings>(kAcl));
  add(describe::structure_of<AuditSettings>().name, extension<AuditSettings>(kAudit));
  add(describe::structure_of<TelemetrySettings>().name, extension<TelemetrySettings>(kTelemetry));
  add(describe::structure_of<LimitSettings>().name, extension<LimitSettings>(kLimits));
  add(describe::structure_of<Ports>().name, extension<Ports>(kPorts));
  add(describe::structure_of<Addresses>().name, extension<Addresses>(kPorts));
  add(describe::structure_of<Plugin>().name, plugin_extension());
  return out;
}

}  // namespace

const jobspec::Dialect& nomad_keys() {
  static const jobspec::Dialect keys = make_keys();
  return keys;
}

const std::vector<NomadKey>& nomad_key_list() {
  static const std::vector<NomadKey> list = [] {
    std::vector<NomadKey> out;
    const auto add = [&](const std::string& place, const std::vector<Key>& keys, const Refused& refused,
                         const jobspec::Extension& taken) {
      for (const auto& key : keys) {
        const bool told =
            std::find(taken.attributes.begin(), taken.attributes.end(), key.name) != taken.attributes.end();
        if (told) out.push_back({place + std::string(key.name), false, std::string(key.words)});
      }
      for (const auto& [name, why] : refused) out.push_back({place + name, true, why});
    };
    add("", kAgent, kAgentRefused, extension<Config>(kAgent));
    add("server.", kServer, kServerRefused, extension<ServerRole>(kServer));
    add("client.", kClient, kClientRefused, extension<ClientRole>(kClient));
    add("client.template.", kTemplate, kTemplateRefused, extension<TemplateSettings>(kTemplate));
    add("tls.", kTls, {}, extension<TlsSettings>(kTls));
    add("acl.", kAcl, {}, extension<AclSettings>(kAcl));
    add("audit.", kAudit, {}, extension<AuditSettings>(kAudit));
    add("telemetry.", kTelemetry, {}, extension<TelemetrySettings>(kTelemetry));
    add("limits.", kLimits, {}, extension<LimitSettings>(kLimits));
    add("ports.", kPorts, {}, extension<Ports>(kPorts));
    add("plugin.", kPlugin, {}, extension<Plugin>(kPlugin));
    return out;
  }();
  return list;
}

std::string server_url(const std::string& address) {
  if (address.find("://") != std::string::npos) return address;
  std::string host = address;
  if (host.ends_with(":4647")) host.resize(host.size() - 5);
  const bool has_port =
      host.starts_with('[') ? host.find("]:") != std::string::npos : std::count(host.begin(), host.end(), ':') == 1;
  return "https://" + host + (has_port ? "" : ":4646");
}

bool asks_a_cloud(const std::string& address) { return address.find("provider=") != std::string::npos; }

}  // namespace underway::agent
