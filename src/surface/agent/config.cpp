#include "agent/config.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "agent/nomad_keys.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"
#include "network/network.hpp"
#include "node/fingerprint/topology.hpp"

namespace underway::agent {

using describe::Builder;
using describe::Structure;
using describe::Tag;

bool Config::raw_exec_enabled() const {
  return dev || std::any_of(plugins.begin(), plugins.end(), [](const Plugin& plugin) {
           const auto* enabled =
               plugin.config.is_object() ? plugin.config.get_object().if_contains("enabled") : nullptr;
           return plugin.name == "raw_exec" && enabled != nullptr && enabled->is_bool() && enabled->get_bool();
         });
}

std::optional<http::Endpoint> Config::http_endpoint() const {
  if (addresses.http == "none") return std::nullopt;
  return http::parse_listener(addresses.http.empty() ? bind_addr : addresses.http,
                              static_cast<std::uint16_t>(ports.http));
}

namespace {

void add_problems(std::vector<std::string>& out, const ServerRole& server) {
  // A node tells that it lives once a second at most.
  for (const auto& [name, value, least] :
       {std::tuple("min_heartbeat_ttl", server.heartbeat_ttl, std::chrono::seconds(2)),
        std::tuple("heartbeat_grace", server.heartbeat_grace, std::chrono::seconds(1)),
        std::tuple("failover_heartbeat_ttl", server.start_grace, std::chrono::seconds(1)),
        std::tuple("capsule_lease", server.capsule_lease, std::chrono::seconds(1)),
        std::tuple("capsule_check_timeout", server.capsule_check_timeout, std::chrono::seconds(1))}) {
    if (value < least)
      out.push_back(fmt::format("server.{} {} is less than {}", name, format_duration(value), format_duration(least)));
  }
  if (const auto& provider = server.service_provider; provider && *provider != "nomad" && *provider != "consul")
    out.push_back(fmt::format("server.service_provider '{}' is neither nomad nor consul", *provider));
}

void add_problems(std::vector<std::string>& out, const std::vector<HostVolume>& volumes) {
  std::set<std::string> names;
  for (const auto& volume : volumes) {
    if (!names.insert(volume.name).second) out.push_back(fmt::format("host_volume '{}' is given twice", volume.name));
    if (volume.path.empty() || volume.path.front() != '/')
      out.push_back(fmt::format("host_volume '{}': path '{}' is no absolute path", volume.name, volume.path));
  }
}

void add_problems(std::vector<std::string>& out, const std::vector<DeviceSettings>& devices) {
  std::set<std::string> names;
  for (const auto& device : devices) {
    if (!names.insert(device.name).second) out.push_back(fmt::format("device '{}' is given twice", device.name));
    if (std::count(device.name.begin(), device.name.end(), '/') < 2)
      out.push_back(fmt::format("device '{}' is not of the form vendor/type/model", device.name));
    if (device.paths.empty()) out.push_back(fmt::format("device '{}': paths are missing", device.name));
    for (const auto* list : {&device.paths, &device.shared_paths}) {
      for (const auto& path : *list)
        if (!path.starts_with("/dev/"))
          out.push_back(fmt::format("device '{}': '{}' is not in /dev", device.name, path));
    }
  }
}

void add_problems(std::vector<std::string>& out, const TlsSettings& tls) {
  if (tls.cert_file.empty() != tls.key_file.empty()) out.push_back("tls.cert_file and tls.key_file go together");
  if (!tls.cert_file.empty() && tls.ca_file.empty())
    out.push_back("tls.ca_file is missing: whose certificates are good beside tls.cert_file");
  if (!tls.rpc) out.push_back("tls.rpc = false: links are mutual TLS, always");
  if (!tls.verify_server_hostname)
    out.push_back("tls.verify_server_hostname = false: a node's certificate could pass for a server's");
  for (const auto& [name, ttl] : {std::pair("server_certificate_ttl", tls.server_certificate_ttl),
                                  std::pair("node_certificate_ttl", tls.node_certificate_ttl)}) {
    if (ttl < std::chrono::seconds(10))
      out.push_back(fmt::format("tls.{} {} is less than 10s", name, format_duration(ttl)));
  }
}

std::vector<std::filesystem::path> files_of(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    std::vector<std::filesystem::path> inside;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const auto extension = entry.path().extension();
      if (extension == ".hcl" || extension == ".json") inside.push_back(entry.path());
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

}  // namespace

Config load(const std::vector<std::string>& paths, Config base, std::vector<std::string>* warnings) {
  hcl::Diagnostics diagnostics;
  for (const auto& path : files_of(paths)) {
    const auto body = hcl::parse_file(path, diagnostics);
    const hcl::Context context;
    jobspec::decode(body, describe::structure_of<Config>(), &base, context, diagnostics, nomad_keys());
  }
  diagnostics.throw_errors("the agent's configuration is not valid");
  for (const auto& one : diagnostics.all()) {
    if (warnings != nullptr) warnings->push_back(fmt::format("{}: {}", one.summary, one.detail));
  }
  return base;
}

network::Options network_options(const ClientRole& client) {
  return {.directory = {},
          .bridge = client.bridge_network_name,
          .subnet = client.bridge_network_subnet,
          .hairpin = client.bridge_network_hairpin_mode,
          .cni_path = client.cni_path,
          .cni_config_dir = client.cni_config_dir};
}

namespace {

/// `listen` is where a node alone shows its metrics; a server shows them with everything else.
void add_problems(std::vector<std::string>& out, const TelemetrySettings& telemetry, const Config& config) {
  if (const auto& wanted = config.server.identity_algorithm; wanted != "RS256" && wanted != "EdDSA")
    out.push_back(fmt::format("server.identity_algorithm '{}' is neither RS256 nor EdDSA", wanted));
  if (telemetry.listen.empty()) return;
  if (config.server.enabled) {
    out.push_back("telemetry.listen is for agents that are a node alone: a server's API has /v1/metrics");
    return;
  }
  try {
    if (const auto endpoint = http::parse_endpoint(telemetry.listen); endpoint.is_unix() || endpoint.port == 0)
      throw Error(Code::invalid, "no port");
  } catch (const Error&) {
    out.push_back(
        fmt::format("telemetry.listen '{}' is no address with a port, as 10.0.0.7:4646 is", telemetry.listen));
  }
}

}  // namespace

std::vector<std::string> problems(const Config& config) {
  std::vector<std::string> out;
  if (!config.server.enabled && !config.client.enabled)
    out.push_back("neither the server nor the client role is enabled");
  if (config.data_dir.empty())
    out.push_back("data_dir is not given");
  else if (config.data_dir.front() != '/')
    out.push_back(fmt::format("data_dir '{}' is no absolute path", config.data_dir));
  if (config.ports.http < 0 || config.ports.http > 65535)
    out.push_back(fmt::format("ports.http {} is no port", config.ports.http));
  try {
    config.http_endpoint();
  } catch (const Error& error) {
    out.push_back(
        fmt::format("{}: {}", config.addresses.http.empty() ? "bind_addr" : "addresses.http", error.one_line()));
  }
  if (log::Level level; !log::parse_level(config.log_level, level))
    out.push_back(fmt::format("log_level '{}' is none of trace, debug, info, warn, error", config.log_level));
  if (config.client.enabled && !config.server.enabled && config.client.servers.empty())
    out.push_back("client.servers is empty: there is no server to link to");
  if (config.client.min_dynamic_port < 1 || config.client.max_dynamic_port > 65535 ||
      config.client.min_dynamic_port > config.client.max_dynamic_port) {
    out.push_back(fmt::format("dynamic ports {} to {} are no range of ports", config.client.min_dynamic_port,
                              config.client.max_dynamic_port));
  }
  if (config.client.files.interval < std::chrono::seconds(1))
    out.push_back(
        fmt::format("client.files.interval {} is less than 1s", format_duration(config.client.files.interval)));
  add_problems(out, config.telemetry, config);
  add_problems(out, config.server);
  add_problems(out, config.client.host_volumes);
  if (config.client.enabled)
    for (auto& problem : network::problems(network_options(config.client)))
      out.push_back("client: " + std::move(problem));
  add_problems(out, config.client.devices);
  for (auto& problem : problems(config.client.templates.compat)) out.push_back(std::move(problem));
  for (const auto& [name, cores] : {std::pair("reserved.cores", &config.client.reserved.cores),
                                    std::pair("reservable_cores", &config.client.reservable_cores)}) {
    try {
      node::parse_cores(*cores);
    } catch (const Error& error) {
      out.push_back(fmt::format("client.{}: {}", name, error.one_line()));
    }
  }
  add_problems(out, config.tls);
  if (config.hosts.enabled && !config.server.enabled) out.push_back("hosts are made by the agent with the server role");
  if (config.audit.on_failure != "refuse" && config.audit.on_failure != "warn")
    out.push_back(fmt::format("audit.on_failure '{}' is neither refuse nor warn", config.audit.on_failure));
  if (config.audit.rotate_bytes < 1 << 20) out.push_back("audit.rotate_bytes is less than 1 MiB");
  if (config.audit.rotate_max_files < 0) out.push_back("audit.rotate_max_files is negative");
  if (config.acl.token_min_expiration_ttl > config.acl.token_max_expiration_ttl)
    out.push_back("acl.token_min_expiration_ttl is longer than acl.token_max_expiration_ttl");
  const std::pair<const char*, std::int64_t> limits[] = {
      {"http_requests_per_second", config.limits.http_requests_per_second},
      {"http_burst", config.limits.http_burst},
      {"http_max_concurrent", config.limits.http_max_concurrent}};
  for (const auto& [name, value] : limits) {
    if (value < 0) out.push_back(fmt::format("limits.{} is negative; 0 is for any number", name));
  }
  const std::tuple<const char*, std::int64_t, std::int64_t, std::int64_t> ranges[] = {
      {"limits.work_threads", config.limits.work_threads, 1, 256},
      {"limits.work_memory_mb", config.limits.work_memory_mb, 16, 1 << 20},
      {"limits.work_waiting", config.limits.work_waiting, 1, 1 << 20},
      {"limits.work_waiting_of_one", config.limits.work_waiting_of_one, 1, 1 << 20},
      {"client.enforce_disk_below", config.client.enforce_disk_below, 0, 100}};
  for (const auto& [name, value, least, most] : ranges) {
    if (value < least || value > most)
      out.push_back(fmt::format("{} is {}; it may be {} to {}", name, value, least, most));
  }
  if (config.limits.work_cpu < std::chrono::milliseconds(100))
    out.push_back("limits.work_cpu is less than 100ms, in which no cluster is read");
  for (const auto& plugin : config.plugins) {
    constexpr std::string_view kKnown[] = {"raw_exec", "exec", "podman", "docker"};
    if (std::find(std::begin(kKnown), std::end(kKnown), plugin.name) == std::end(kKnown))
      out.push_back(fmt::format("plugin '{}' is not known; there are raw_exec, exec, podman and docker", plugin.name));
  }
  return out;
}

std::vector<std::int64_t> parse_ports(const std::string& text) {
  std::vector<std::int64_t> ports;
  if (text.empty()) return ports;
  for (const auto& item : split(text, ',')) {
    const auto ends = split(item, '-');
    std::int64_t range[2] = {0, 0};
    bool good = ends.size() <= 2;
    for (std::size_t i = 0; good && i < ends.size(); ++i) {
      range[i] = parse_number<std::uint16_t>(trim(ends[i])).value_or(0);
      good = range[i] >= 1;
    }
    if (ends.size() == 1) range[1] = range[0];
    if (!good || range[1] < range[0])
      throw Error(Code::invalid, fmt::format("'{}' is no list of ports", text)).because(fmt::format("at '{}'", item));
    for (std::int64_t port = range[0]; port <= range[1]; ++port) ports.push_back(port);
  }
  return ports;
}

const Structure& description(Tag<Addresses>) {
  static const Structure s =
      Builder<Addresses>("addresses", "Where single services listen, when not at bind_addr.")
          .attribute<&Addresses::http>("http", "http",
                                       "The HTTP API: `10.0.0.7`, `10.0.0.7:4647`, `[fd00::7]:4647`; `none`: only the "
                                       "unix socket.")
          .done();
  return s;
}

const Structure& description(Tag<Ports>) {
  static const Structure s =
      Builder<Ports>("ports", "Ports of the services.").attribute<&Ports::http>("http", "http", "The HTTP API.").done();
  return s;
}

const Structure& description(Tag<ServerRole>) {
  static const Structure s =
      Builder<ServerRole>("server", "The server role.")
          .attribute<&ServerRole::enabled>("enabled", "enabled", "Whether this agent is a server.")
          .attribute<&ServerRole::heartbeat_ttl>("min_heartbeat_ttl", "min_heartbeat_ttl",
                                                 "How often nodes must be heard of.")
          .attribute<&ServerRole::heartbeat_grace>("heartbeat_grace", "heartbeat_grace",
                                                   "How much later a silent node is down.")
          .attribute<&ServerRole::start_grace>("failover_heartbeat_ttl", "failover_heartbeat_ttl",
                                               "How long a server that starts waits for nodes to be heard of.")
          .attribute<&ServerRole::capsule_lease>("capsule_lease", "capsule_lease",
                                                 "How much later a silent node's capsules may start elsewhere.")
          .attribute<&ServerRole::capsule_check_timeout>(
              "capsule_check_timeout", "capsule_check_timeout",
              "How long the check of a capsule that was moved, upgraded or restored may fail before all goes back.")
          .attribute<&ServerRole::eval_gc_threshold>("eval_gc_threshold", "eval_gc_threshold",
                                                     "Age at which ended evaluations are forgotten.")
          .attribute<&ServerRole::job_gc_threshold>("job_gc_threshold", "job_gc_threshold",
                                                    "Age at which stopped jobs are forgotten.")
          .attribute<&ServerRole::node_gc_threshold>("node_gc_threshold", "node_gc_threshold",
                                                     "Age at which nodes that are down are forgotten.")
          .attribute<&ServerRole::root_key_rotation>(
              "root_key_rotation_threshold", "root_key_rotation_threshold",
              "How long a root key seals and signs before the next one does; that one is shown half of it before. 0s: "
              "until `operator root keyring rotate`.")
          .attribute<&ServerRole::wrapping_key>(
              "wrapping_key", "wrapping_key",
              "A file of 32 random bytes under which the root keys of variables are kept; without one it is made in "
              "the data directory.")
          .attribute<&ServerRole::oidc_issuer>(
              "oidc_issuer", "oidc_issuer", "URL under which others reach this server, to verify the tokens of tasks.")
          .attribute<&ServerRole::identity_algorithm>(
              "identity_algorithm", "identity_algorithm",
              "How the tokens of tasks are signed: `RS256`, which everybody verifies, or `EdDSA`. Root keys from "
              "before "
              "there was RS256 sign by EdDSA until `operator root keyring rotate`.")
          .attribute<&ServerRole::raw_exec_as_root>(
              "raw_exec_as_root", "raw_exec_as_root",
              "Whether every namespace gives its tasks every right over their "
              "hosts, root by raw_exec among them, as in Nomad; else what it says. Without a word: with -dev and "
              "`nomad_compat`.")
          .attribute<&ServerRole::service_provider>(
              "service_provider", "service_provider",
              "`nomad` or `consul`: what a service is shown with that programs register without a provider; both mean "
              "the built-in catalogue. Without a word `nomad`, or with `nomad_compat` `consul`, as there.")
          .done();
  return s;
}

const Structure& description(Tag<TlsSettings>) {
  static const Structure s =
      Builder<TlsSettings>("tls", "TLS. Without files the server makes an authority, and certificates, by itself.")
          .attribute<&TlsSettings::http>(
              "http", "http",
              "Whether the API on TCP is TLS; without a word, yes, but for -dev on 127.0.0.1 and "
              "`nomad_compat`.")
          .attribute<&TlsSettings::rpc>("rpc", "rpc", "Links of nodes are mutual TLS, always; for files of Nomad.")
          .attribute<&TlsSettings::ca_file>("ca_file", "ca_file",
                                            "PEM: whose certificates are good. Of a node: the server's authority.")
          .attribute<&TlsSettings::cert_file>("cert_file", "cert_file",
                                              "PEM, with its chain: of the API on TCP; of a node, instead of joining.")
          .attribute<&TlsSettings::key_file>("key_file", "key_file", "PEM: its key. SIGHUP reads the files again.")
          .attribute<&TlsSettings::verify_https_client>(
              "verify_https_client", "verify_https_client",
              "Whether the API on TCP demands a certificate. New nodes cannot join there then.")
          .attribute<&TlsSettings::verify_server_hostname>(
              "verify_server_hostname", "verify_server_hostname",
              "Nodes verify that a server's certificate is for `server.REGION.nomad`, always; for files of Nomad.")
          .attribute<&TlsSettings::server_certificate_ttl>("server_certificate_ttl", "server_certificate_ttl",
                                                           "Life of the server's certificate; renewed at half of it.")
          .attribute<&TlsSettings::node_certificate_ttl>("node_certificate_ttl", "node_certificate_ttl",
                                                         "Life of nodes' certificates; renewed at half of it.")
          .done();
  return s;
}

const Structure& description(Tag<Reserved>) {
  static const Structure s =
      Builder<Reserved>("reserved", "What is kept back from tasks.")
          .attribute<&Reserved::cpu>("cpu", "cpu", "MHz.")
          .attribute<&Reserved::memory>("memory", "memory", "MiB.")
          .attribute<&Reserved::disk>("disk", "disk", "MiB.")
          .attribute<&Reserved::reserved_ports>("reserved_ports", "reserved_ports",
                                                "Ports never given out: `22,8000-8010`.")
          .attribute<&Reserved::cores>("cores", "cores",
                                       "Cores on which no task runs: `0-1`. They count instead of "
                                       "`cpu`.")
          .done();
  return s;
}

const Structure& description(Tag<HostNetwork>) {
  static const Structure s =
      Builder<HostNetwork>("host_network", "One more network, for `port { host_network = … }`.")
          .label<&HostNetwork::name>("name", "name", "Its name in job files.")
          .attribute<&HostNetwork::cidr>("cidr", "cidr", "The addresses that are on it: `10.20.0.0/16`.")
          .attribute<&HostNetwork::interface>("interface", "interface", "The interface that is on it.")
          .attribute<&HostNetwork::reserved_ports>("reserved_ports", "reserved_ports",
                                                   "Ports never given out, on any network: `22,8000-8010`.")
          .done();
  return s;
}

const Structure& description(Tag<HostVolume>) {
  static const Structure s =
      Builder<HostVolume>("host_volume", "A directory that the node lends to tasks, for `volume { source = … }`.")
          .label<&HostVolume::name>("name", "name", "Its name in job files.")
          .attribute<&HostVolume::path>("path", "path", "The directory; it must be there when the agent starts.")
          .attribute<&HostVolume::read_only>("read_only", "read_only", "Whether tasks may only read it.")
          .done();
  return s;
}

const Structure& description(Tag<DeviceSettings>) {
  static const Structure s =
      Builder<DeviceSettings>("device", "Devices that tasks may hold, beside the GPUs that are found by themselves.")
          .label<&DeviceSettings::name>("name", "name",
                                        "`vendor/type/model`, as `device` blocks of job files ask for it.")
          .attribute<&DeviceSettings::paths>("paths", "paths",
                                             "Files in /dev, with `*` and `?`; each that is there is one device.")
          .attribute<&DeviceSettings::shared_paths>("shared_paths", "shared_paths",
                                                    "Files that everybody gets who holds one of them.")
          .block_or_attribute<&DeviceSettings::attributes>("attributes", "attributes",
                                                           "`${device.attr.…}`, with units: `\"40 GiB\"`.")
          .done();
  return s;
}

const Structure& description(Tag<TemplateSettings>) {
  static const Structure s = Builder<TemplateSettings>("template", "How templates are rendered.")
                                 .attribute<&TemplateSettings::disable_file_sandbox>(
                                     "disable_file_sandbox", "disable_file_sandbox",
                                     "Whether a template's source may lie outside of the task directory.")
                                 .block<&TemplateSettings::compat>(
                                     "compat", "compat", "What answers Consul's and Vault's functions in templates.")
                                 .done();
  return s;
}

const Structure& description(Tag<FileSettings>) {
  static const Structure s =
      Builder<FileSettings>("files", "Synchronised files.")
          .attribute<&FileSettings::enabled>("enabled", "enabled", "Whether this node takes files from the server.")
          .attribute<&FileSettings::interval>(
              "interval", "interval", "How often it looks by itself, a quarter more or less; changes come at once.")
          .done();
  return s;
}

const Structure& description(Tag<ClientRole>) {
  static const Structure s =
      Builder<ClientRole>("client", "The node role.")
          .attribute<&ClientRole::enabled>("enabled", "enabled", "Whether this agent is a node.")
          .attribute<&ClientRole::servers>("servers", "servers",
                                           "Servers to link to: `https://HOST:4646`, `https+unix:///PATH`.")
          .attribute<&ClientRole::node_class>("node_class", "node_class", "`${node.class}`.")
          .attribute<&ClientRole::node_pool>("node_pool", "node_pool", "The node's pool.")
          .block_or_attribute<&ClientRole::meta>("meta", "meta", "`${meta.…}`.")
          .block<&ClientRole::reserved>("reserved", "reserved", "What is kept back from tasks.")
          .attribute<&ClientRole::network_interface>("network_interface", "network_interface",
                                                     "The interface whose address is the node's.")
          .block<&ClientRole::host_networks>("host_network", "host_network", "More networks of the node.")
          .block<&ClientRole::host_volumes>("host_volume", "host_volume", "Directories that are lent to tasks.")
          .attribute<&ClientRole::host_volume_plugin_dir>(
              "host_volume_plugin_dir", "host_volume_plugin_dir",
              "Where programs lie that make volumes; without it: host_volume_plugins in data_dir.")
          .attribute<&ClientRole::host_volumes_dir>(
              "host_volumes_dir", "host_volumes_dir",
              "Where plugins put the volumes that they make; without it: host_volumes in data_dir.")
          .block<&ClientRole::devices>("device", "device", "Devices that tasks may hold.")
          .attribute<&ClientRole::reservable_cores>(
              "reservable_cores", "reservable_cores",
              "Cores that tasks may hold alone: `2-7`; without a word all but `reserved.cores`.")
          .attribute<&ClientRole::cpu_total_compute>("cpu_total_compute", "cpu_total_compute",
                                                     "MHz, when not what is found.")
          .attribute<&ClientRole::memory_total_mb>("memory_total_mb", "memory_total_mb", "MiB, when not what is found.")
          .attribute<&ClientRole::disk_total_mb>("disk_total_mb", "disk_total_mb", "MiB, when not what is found.")
          .attribute<&ClientRole::min_dynamic_port>("min_dynamic_port", "min_dynamic_port", "First port to give out.")
          .attribute<&ClientRole::max_dynamic_port>("max_dynamic_port", "max_dynamic_port", "Last port to give out.")
          .attribute<&ClientRole::max_kill_timeout>("max_kill_timeout", "max_kill_timeout",
                                                    "Upper bound of a task's kill_timeout.")
          .attribute<&ClientRole::gc_max_allocs>("gc_max_allocs", "gc_max_allocs", "Finished allocations kept on disk.")
          .attribute<&ClientRole::enforce_disk_below>("enforce_disk_below", "enforce_disk_below",
                                                      "An allocation that has written more than its `ephemeral_disk` "
                                                      "fails while less than so many percent of the "
                                                      "disk are free; 0: never, 100: always.")
          .attribute<&ClientRole::pids_limit>("pids_limit", "pids_limit",
                                              "Processes and threads of a task that says nothing.")
          .attribute<&ClientRole::bridge_network_name>("bridge_network_name", "bridge_network_name",
                                                       "The bridge of groups with a network of mode `bridge`.")
          .attribute<&ClientRole::bridge_network_subnet>("bridge_network_subnet", "bridge_network_subnet",
                                                         "Their addresses; the bridge has the first.")
          .attribute<&ClientRole::bridge_network_hairpin_mode>(
              "bridge_network_hairpin_mode", "bridge_network_hairpin_mode",
              "Whether the bridge sends frames back by the port that they came from.")
          .attribute<&ClientRole::cni_path>("cni_path", "cni_path", "Where CNI plugins are, divided by `:`.")
          .attribute<&ClientRole::cni_config_dir>("cni_config_dir", "cni_config_dir",
                                                  "Where the networks of mode `cni/…` are configured.")
          .attribute<&ClientRole::join_token_file>("join_token_file", "join_token_file",
                                                   "A file with a join token, for a node that has not joined yet.")
          .block<&ClientRole::templates>("template", "template", "How templates are rendered.")
          .block<&ClientRole::files>("files", "files", "Files that the server keeps the same everywhere.")
          .attribute<&ClientRole::host>("host", "host", "The host it runs on; set by host providers.")
          .attribute<&ClientRole::cluster>("cluster", "cluster", "That host's cluster; set by host providers.")
          .done();
  return s;
}

const Structure& description(Tag<HostRole>) {
  static const Structure s = Builder<HostRole>("hosts", "Makes the hosts of `local` pools on this machine.")
                                 .attribute<&HostRole::enabled>("enabled", "enabled", "Whether this agent makes hosts.")
                                 .done();
  return s;
}

const Structure& description(Tag<Plugin>) {
  static const Structure s =
      Builder<Plugin>("plugin", "Settings of a driver.")
          .label<&Plugin::name>("name", "name", "`raw_exec` or `exec`.")
          .block_or_attribute<&Plugin::config>("config", "config", "`enabled = true` allows raw_exec.")
          .done();
  return s;
}

const Structure& description(Tag<Config>) {
  static const Structure s =
      Builder<Config>("agent", "The agent's configuration.")
          .attribute<&Config::region>("region", "region", "The region.")
          .attribute<&Config::datacenter>("datacenter", "datacenter", "The datacenter.")
          .attribute<&Config::name>("name", "name", "The agent's name; the host's when not given.")
          .attribute<&Config::data_dir>("data_dir", "data_dir", "Where it keeps everything; absolute.")
          .attribute<&Config::bind_addr>("bind_addr", "bind_addr",
                                         "Address to listen at; with a port, which is then that of the HTTP API.")
          .block<&Config::addresses>("addresses", "addresses", "Addresses of single services.")
          .block<&Config::ports>("ports", "ports", "Ports of the services.")
          .attribute<&Config::nomad_compat>(
              "nomad_compat", "nomad_compat",
              "Whether what is not set here is as in Nomad, where Underway protects more: see [the switch](#the-switch-"
              "nomad_compat). Without a word, no.")
          .attribute<&Config::log_level>("log_level", "log_level", "trace, debug, info, warn or error.")
          .block<&Config::server>("server", "server", "The server role.")
          .block<&Config::client>("client", "client", "The node role.")
          .block<&Config::hosts>("hosts", "hosts", "Local hosts.")
          .block<&Config::tls>("tls", "tls", "TLS.")
          .block<&Config::acl>("acl", "acl", "Who may do what.")
          .block<&Config::audit>("audit", "audit", "The log of changes.")
          .block<&Config::telemetry>("telemetry", "telemetry", "What /v1/metrics tells whom.")
          .block<&Config::limits>("limits", "limits", "How much one caller may ask.")
          .block<&Config::plugins>("plugin", "plugin", "Drivers.")
          .done();
  return s;
}

}  // namespace underway::agent
