#include "agent/config/config.hpp"

#include <algorithm>
#include <filesystem>

#include "agent/config/nomad_keys.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"

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
  for (const auto& diagnostic : diagnostics.all()) {
    if (warnings != nullptr) warnings->push_back(fmt::format("{}: {}", diagnostic.summary, diagnostic.detail));
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
          .block<&ServerRole::ticket_tracker>("ticket_tracker", "ticket_tracker",
                                              "An external tracker that is told of tickets.")
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
