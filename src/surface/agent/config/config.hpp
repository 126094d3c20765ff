#pragma once
/// @file
/// The agent's configuration: Nomad's keys, in HCL or JSON files, described once for decoding and for the reference.
/// Unknown keys are refused with the nearest name. Later files and flags override earlier ones key by key.

#include <string>
#include <vector>

#include "agent/config/template_settings.hpp"
#include "base/json/describe.hpp"
#include "http/endpoint.hpp"
#include "model/job/job.hpp"
#include "network/network.hpp"
#include "tracker/issues.hpp"

namespace underway::agent {

struct Addresses {
  std::string http;  ///< as http::parse_listener has it; empty: bind_addr; "none": no TCP
};

struct Ports {
  std::int64_t http = 4646;
};

struct ServerRole {
  bool enabled = false;
  Duration heartbeat_ttl = std::chrono::seconds(5);
  Duration heartbeat_grace = std::chrono::seconds(4);
  Duration start_grace = std::chrono::seconds(30);
  Duration capsule_lease = std::chrono::seconds(10);
  Duration capsule_check_timeout = std::chrono::seconds(60);
  Duration eval_gc_threshold = std::chrono::hours(1);
  Duration job_gc_threshold = std::chrono::hours(4);
  Duration node_gc_threshold = std::chrono::hours(24);
  Duration root_key_rotation = std::chrono::hours(720);
  std::string wrapping_key;  ///< a file of 32 bytes; empty: in the keyring's directory
  std::string oidc_issuer;
  std::string identity_algorithm = "RS256";     ///< or "EdDSA"
  std::optional<bool> raw_exec_as_root;         ///< in every namespace, as Nomad has it; see Config
  std::optional<std::string> service_provider;  ///< of services that are registered without one; see Config
  std::optional<tracker::Settings> ticket_tracker;
};

struct TlsSettings {
  std::optional<bool> http;                  ///< the API on TCP; absent: see Config::plain_http
  bool rpc = true;                           ///< links always are
  std::string ca_file, cert_file, key_file;  ///< empty: the built-in authority
  bool verify_https_client = false;
  bool verify_server_hostname = true;
  Duration server_certificate_ttl = std::chrono::hours(24 * 30);
  Duration node_certificate_ttl = std::chrono::hours(48);
};

struct Reserved {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t disk = 0;
  std::string reserved_ports;  ///< "22,80,8000-8010"
  std::string cores;           ///< "0-1"
};

/// `host_network "name"`: one more network of the node, by interface, by addresses, or both.
struct HostNetwork {
  std::string name;
  std::string cidr;
  std::string interface;
  std::string reserved_ports;
};

/// `host_volume "name"`: a directory that the node lends to tasks.
struct HostVolume {
  std::string name;
  std::string path;
  bool read_only = false;
};

/// `device "vendor/type/model"`: devices of the node by their files.
struct DeviceSettings {
  std::string name;
  std::vector<std::string> paths;
  std::vector<std::string> shared_paths;
  model::StringMap attributes;
};

struct TemplateSettings {
  bool disable_file_sandbox = false;
  CompatSettings compat;
};

/// Files that are the same everywhere.
struct FileSettings {
  bool enabled = true;
  Duration interval = std::chrono::minutes(5);
};

struct ClientRole {
  bool enabled = false;
  std::vector<std::string> servers;
  std::string node_class;
  std::string node_pool = "default";
  model::StringMap meta;
  Reserved reserved;
  std::string network_interface;
  std::vector<HostNetwork> host_networks;
  std::vector<HostVolume> host_volumes;
  std::string host_volume_plugin_dir;  ///< empty: host_volume_plugins in data_dir
  std::string host_volumes_dir;        ///< empty: host_volumes in data_dir
  std::vector<DeviceSettings> devices;
  std::string reservable_cores;  ///< "2-7"; empty: all but reserved.cores
  std::int64_t cpu_total_compute = 0;
  std::int64_t memory_total_mb = 0;
  std::int64_t disk_total_mb = 0;
  std::int64_t min_dynamic_port = 20000;
  std::int64_t max_dynamic_port = 32000;
  Duration max_kill_timeout = std::chrono::seconds(30);
  std::int64_t gc_max_allocs = 50;
  std::int64_t enforce_disk_below = 10;
  std::int64_t pids_limit = 4096;
  TemplateSettings templates;
  FileSettings files;
  std::string bridge_network_name = "underway0";
  std::string bridge_network_subnet = "172.26.64.0/20";
  bool bridge_network_hairpin_mode = false;
  std::string cni_path = "/opt/cni/bin:/usr/lib/cni";
  std::string cni_config_dir = "/opt/cni/config";
  std::string join_token_file;
  std::string host;  ///< the host it runs on, when a provider of ours made it
  std::string cluster;
};

struct HostRole {
  bool enabled = false;
};

struct AclSettings {
  std::optional<bool> enabled;            ///< absent: see Config::acl_enabled
  bool trust_root_socket = true;          ///< root at the unix socket needs no token
  std::optional<bool> network_bootstrap;  ///< absent: see Config
  Duration token_min_expiration_ttl = std::chrono::minutes(1);
  Duration token_max_expiration_ttl = std::chrono::hours(24);
  std::optional<bool> readable_token_secrets;  ///< by management tokens, as Nomad has it; absent: see Config
};

struct AuditSettings {
  bool enabled = true;
  std::int64_t rotate_bytes = 64LL << 20;
  std::int64_t rotate_max_files = 10;
  std::string on_failure = "refuse";  ///< what becomes of changes that cannot be logged: "refuse" or "warn"
};

/// Who is told what of /v1/metrics, in Nomad's words.
struct TelemetrySettings {
  bool publish_allocation_metrics = false, publish_node_metrics = false;
  bool disable_dispatched_job_summary_metrics = false;
  std::string listen;  ///< of a node that is no server: "10.0.0.7:4646"; empty: nowhere
};

struct LimitSettings {
  std::int64_t http_requests_per_second = 1000;
  std::int64_t http_burst = 2000;
  std::int64_t http_max_concurrent = 512;
  // What is computed beside the loop: async::WorkerLimits.
  std::int64_t work_threads = 2;
  Duration work_cpu = std::chrono::seconds(3);
  std::int64_t work_memory_mb = 512;
  std::int64_t work_waiting = 512;
  std::int64_t work_waiting_of_one = 32;
};

struct Plugin {
  std::string name;
  boost::json::value config = boost::json::object{};
};

/// What turns the switch `nomad_compat` on where no configuration names it.
enum class CompatBy { nothing, dev_as_nomad, environment };

struct Config {
  std::string region = "global";
  std::string datacenter = "dc1";
  std::string name;
  std::string data_dir;
  std::string bind_addr = "127.0.0.1";
  Addresses addresses;
  Ports ports;
  std::string log_level = "info";
  ServerRole server;
  ClientRole client;
  HostRole hosts;
  TlsSettings tls;
  AclSettings acl;
  AuditSettings audit;
  TelemetrySettings telemetry;
  LimitSettings limits;
  std::vector<Plugin> plugins;
  std::optional<bool> nomad_compat;        ///< the switch, as files say it; see nomad_compat_on
  CompatBy compat_by = CompatBy::nothing;  ///< by how the program was called
  bool dev = false;                        ///< by flag only
  bool new_cluster = false;                ///< by flag only: this start may begin a cluster where there was one

  bool raw_exec_enabled() const;
  /// Where the API listens on TCP: addresses.http, else bind_addr, and unless that has a port, ports.http. Nothing: no
  /// TCP. Throws Error(invalid).
  std::optional<http::Endpoint> http_endpoint() const;
  /// Whether nobody reaches the API on TCP from another machine.
  bool is_alone() const;
  /// Whether what files leave open is as Nomad has it: as they say; else as the program was called, on this machine
  /// alone. What the switch gives, and what gives it back: nomad_compat.hpp.
  bool nomad_compat_on() const;
  /// Whether the API on TCP is plain: asked for, -dev on this machine alone, or by the switch where no `tls` block has
  /// a certificate.
  bool plain_http() const;
  /// Whether requests need a token: as the file says; else always, but for -dev and the switch on this machine alone.
  bool acl_enabled() const;
  /// Whether the first token is made by whoever asks first: as the file says; else where root at the socket is not
  /// trusted, and by the switch on this machine alone.
  bool network_bootstrap() const;
  bool readable_token_secrets() const;
  bool raw_exec_as_root() const;  ///< -dev too
  std::string service_provider() const;
  /// Below data_dir: for people and programs on this machine (mode 0600), and the one that hosts see, which takes
  /// nothing but links.
  std::string api_socket() const { return data_dir + "/run/agent.sock"; }
  std::string link_directory() const { return data_dir + "/run/link"; }
  std::string link_socket() const { return link_directory() + "/link.sock"; }
};

/// Where `underway up` and a packaged agent keep everything, unless told otherwise.
inline constexpr const char* kDefaultDataDir = "/var/lib/underway";

/// Reads files, and *.hcl and *.json of directories in order of their names, over `base`.
/// Nomad's keys that have nothing to set here are told in `warnings`.
/// Throws Error(invalid) with every diagnostic of every file; not_found.
Config load(const std::vector<std::string>& paths, Config base, std::vector<std::string>* warnings = nullptr);

/// Of the networks that the node makes for allocations; the directory is the node's to say.
network::Options network_options(const ClientRole& client);

/// All problems at once: no role, no data directory, ports out of range, …
std::vector<std::string> problems(const Config& config);

/// "22,80,8000-8010" → the ports. Throws Error(invalid).
std::vector<std::int64_t> parse_ports(const std::string& text);

const describe::Structure& description(describe::Tag<Addresses>);
const describe::Structure& description(describe::Tag<Ports>);
const describe::Structure& description(describe::Tag<ServerRole>);
const describe::Structure& description(describe::Tag<TlsSettings>);
const describe::Structure& description(describe::Tag<Reserved>);
const describe::Structure& description(describe::Tag<HostNetwork>);
const describe::Structure& description(describe::Tag<HostVolume>);
const describe::Structure& description(describe::Tag<DeviceSettings>);
const describe::Structure& description(describe::Tag<TemplateSettings>);
const describe::Structure& description(describe::Tag<FileSettings>);
const describe::Structure& description(describe::Tag<ClientRole>);
const describe::Structure& description(describe::Tag<HostRole>);
const describe::Structure& description(describe::Tag<AclSettings>);
const describe::Structure& description(describe::Tag<AuditSettings>);
const describe::Structure& description(describe::Tag<TelemetrySettings>);
const describe::Structure& description(describe::Tag<LimitSettings>);
const describe::Structure& description(describe::Tag<Plugin>);
const describe::Structure& description(describe::Tag<Config>);

}  // namespace underway::agent
