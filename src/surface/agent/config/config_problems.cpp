#include <algorithm>
#include <set>

#include "agent/config/config.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "network/network.hpp"
#include "node/fingerprint/topology.hpp"

namespace underway::agent {
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
  if (server.ticket_tracker) {
    for (const auto& problem : tracker::problems(*server.ticket_tracker))
      out.push_back("server.ticket_tracker: " + problem);
  }
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

}  // namespace underway::agent
