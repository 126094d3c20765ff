#include "agent/node_parts.hpp"

#include <sys/utsname.h>

#include <filesystem>

#include "base/log.hpp"
#include "files/targets/extension.hpp"
#include "files/targets/target.hpp"
#include "image/verified.hpp"
#include "node/fingerprint/topology.hpp"
#include "os/file.hpp"
#include "ownership/node/node_side.hpp"
#include "pod/charliecloud.hpp"
#include "pod/pod.hpp"
#include "rehearsal/node_side.hpp"
#include "run/capsule.hpp"
#include "run/extension.hpp"
#include "run/running.hpp"
#include "saving/node_side.hpp"
#include "trust/membership.hpp"
#include "vm/driver.hpp"

namespace underway::agent {
namespace {

/// Beside the running program, else where the packages put it.
std::string helper(const std::string& name) {
  const auto beside = std::filesystem::path(own_program()).parent_path() / name;
  return std::filesystem::exists(beside) ? beside.string() : "/usr/libexec/underway/" + name;
}

/// Keys that a site trusts on a node, whatever the server says.
constexpr const char* kSiteKeys = "/etc/underway/capsule-keys";

std::string capsule_directory(const Config& config) { return config.data_dir + "/capsules"; }

run::Options capsule_options(const Config& config, const driver::Options& common, const Clock& clock,
                             std::shared_ptr<imageshare::NodeImages> images) {
  run::Options options;
  options.driver = common;
  options.init_program = helper("underway-capsule-init");
  options.capsules = capsule_directory(config);
  options.images = images->store().directory();
  options.clock = &clock;
  options.keys = {images->keys_directory(), kSiteKeys};
  options.fetch = [images](const std::string& reference) { return images->fetch_blocking(reference); };
  images->keep([capsules = options.capsules] {
    std::set<std::string> digests;
    for (const auto& run : run::list_runs(capsules)) digests.insert(run.digest);
    return digests;
  });
  return options;
}

driver::Options driver_options(const Config& config, os::Ledger& ledger) {
  driver::Options options;
  options.keeper_program = helper("underway-keeper");
  options.default_pids = static_cast<std::uint64_t>(config.client.pids_limit);
  options.hidden = {config.data_dir};
  options.ledger = &ledger;
  return options;
}

/// What the site allows containers, of the block plugin "podman" (or "docker").
pod::Options pod_options(const Config& config, const driver::Options& common, const std::string& name,
                         std::shared_ptr<oci::Store> store) {
  pod::Options options;
  options.driver = common;
  options.name = name;
  options.store = std::move(store);
  for (const auto& plugin : config.plugins) {
    if (plugin.name != "podman" && plugin.name != "docker") continue;
    const auto* keys = plugin.config.if_object();
    const auto find = [&](std::string_view key) { return keys != nullptr ? keys->if_contains(key) : nullptr; };
    if (const auto* value = find("allow_privileged"); value != nullptr && value->is_bool())
      options.policy.privileged = value->get_bool();
    if (const auto* value = find("runtime"); value != nullptr && value->is_string())
      options.runtime = std::string(value->get_string());
    if (const auto* value = find("auth_file"); value != nullptr && value->is_string())
      options.auth_file = std::string(value->get_string());
    if (const auto* value = find("allow_caps"); value != nullptr && value->is_array()) {
      for (const auto& each : value->get_array()) {
        if (each.is_string())
          options.policy.allowed |= os::find_capability(std::string_view(each.get_string())).value_or(0);
      }
    }
    const auto* volumes = find("volumes");
    if (volumes != nullptr && volumes->is_array() && !volumes->get_array().empty()) volumes = &volumes->get_array()[0];
    const auto* enabled =
        volumes != nullptr && volumes->is_object() ? volumes->get_object().if_contains("enabled") : nullptr;
    if (enabled != nullptr && enabled->is_bool()) options.policy.volumes = enabled->get_bool();
  }
  return options;
}

/// As for a task that asks for one. `images` and `pool` live as long as the node.
async::awaitable<std::string> bring_image(std::shared_ptr<imageshare::NodeImages> images, async::Pool& pool,
                                          const Clock& clock, std::string reference) {
  std::string path = reference;
  if (!reference.starts_with('/')) {
    const auto image = co_await images->fetch(reference);
    path = images->store().path_of(image.digest);
  }
  auto verify = [&] {
    auto keys = images->keys();
    for (auto& key : image::read_trusted_keys(kSiteKeys)) keys.push_back(std::move(key));
    return image::open_verified(path, keys, clock.now()).digest();
  };
  co_return co_await async::on_pool(pool, verify);
}

/// What this node does when capsules move here or away.
std::shared_ptr<node::Extension> capsule_mover(const Config& config, os::Ledger& ledger, async::Pool& pool,
                                               const Clock& clock, std::shared_ptr<imageshare::NodeImages> images) {
  ownership::NodeOptions options;
  options.capsules = capsule_directory(config);
  options.trash = config.data_dir + "/trash";
  options.ledger = &ledger;
  options.clock = &clock;
  options.bring_image = [images, &pool, &clock](std::string reference) {
    return bring_image(images, pool, clock, std::move(reference));
  };
  return std::make_shared<ownership::NodeSide>(std::move(options));
}

/// Tries capsules out beside those that run (capsule/rehearsal).
rehearsal::Options rehearsal_options(const Config& config, os::Ledger& ledger, const Clock& clock,
                                     std::shared_ptr<imageshare::NodeImages> images) {
  rehearsal::Options options;
  options.driver = capsule_options(config, driver_options(config, ledger), clock, std::move(images));
  options.place = config.data_dir + "/rehearsals";
  return options;
}

/// Machines with a name outlive their allocations, below the agent's data. Whether KVM works is asked of the kernel
/// that the host itself runs, where its file is there.
vm::Options machine_options(const Config& config, const driver::Options& common, const Clock& clock) {
  vm::Options options;
  options.driver = common;
  options.machines = config.data_dir + "/machines";
  options.identify_program = helper("underway-identify");
  options.clock = &clock;
  options.probe.cache = config.data_dir + "/kvm.json";
  utsname host{};
  if (::uname(&host) == 0) options.probe.kernel = fmt::format("/boot/vmlinuz-{}", host.release);
  if (!os::exists(options.probe.kernel)) options.probe.kernel.clear();
  return options;
}

/// What a task has is leased, and stays.
void collect_images(oci::Store& store, const Clock& clock, bool all) {
  constexpr Duration kUnused = std::chrono::hours(24 * 7);
  try {
    const auto gone = store.collect({.unused_for = all ? Duration{0} : kUnused}, clock.now());
    for (const auto& image : gone.images) log::info("agent: removed the image '{}', which no task uses", image);
  } catch (const Error& error) {
    log::warn("agent: images of containers were not collected: {}", error.one_line());
  }
}

/// How the node proves itself: to the server in this process with a token that it is given when it needs one, to others
/// with the site's certificate or a token in a file.
void add_trust(node::Options& options, const Config& config, TokenSource own_tokens) {
  if (config.client.servers.empty() && own_tokens) {
    options.servers = {"https+unix://" + config.link_socket()};
    options.join_token = std::move(own_tokens);
    return;
  }
  options.join_token = trust::token_in(config.client.join_token_file);
  if (config.tls.cert_file.empty())
    options.authorities_file = config.tls.ca_file;
  else
    options.tls_files = {config.tls.cert_file, config.tls.key_file, config.tls.ca_file};
}

}  // namespace

node::Options node_options(const Config& config, TokenSource own_tokens) {
  const auto given = [](std::int64_t value) { return value > 0 ? std::optional(value) : std::nullopt; };
  node::Options options;
  options.data_dir = config.data_dir + "/client";
  options.name = config.name;
  options.datacenter = config.datacenter;
  options.region = config.region;
  options.pool = config.client.node_pool;
  options.node_class = config.client.node_class;
  options.meta = config.client.meta;
  options.host = config.client.host;
  options.cluster = config.client.cluster;
  options.servers = config.client.servers;
  add_trust(options, config, std::move(own_tokens));
  options.cpu_total_compute = given(config.client.cpu_total_compute);
  options.memory_total_mb = given(config.client.memory_total_mb);
  options.disk_total_mb = given(config.client.disk_total_mb);
  options.reserved.cpu = config.client.reserved.cpu;
  options.reserved.memory_mb = config.client.reserved.memory;
  options.reserved.disk_mb = config.client.reserved.disk;
  options.reserved.reservable_cores = node::parse_cores(config.client.reserved.cores);
  options.reservable_cores = node::parse_cores(config.client.reservable_cores);
  options.reserved.ports = parse_ports(config.client.reserved.reserved_ports);
  options.network_interface = config.client.network_interface;
  options.networks = network_options(config.client);
  for (const auto& network : config.client.host_networks) {
    options.host_networks.push_back({network.name, network.interface, "", network.cidr});
    for (const auto port : parse_ports(network.reserved_ports)) options.reserved.ports.push_back(port);
  }
  for (const auto& device : config.client.devices)
    options.devices.push_back({device.name, device.paths, device.shared_paths, device.attributes});
  for (const auto& volume : config.client.host_volumes)
    options.host_volumes.push_back({volume.name, volume.path, volume.read_only, ""});
  const auto in_data_dir = [&](const std::string& configured, const char* name) {
    return configured.empty() ? config.data_dir + "/" + name : configured;
  };
  options.host_volume_plugin_dir = in_data_dir(config.client.host_volume_plugin_dir, "host_volume_plugins");
  options.host_volumes_dir = in_data_dir(config.client.host_volumes_dir, "host_volumes");
  options.min_dynamic_port = config.client.min_dynamic_port;
  options.max_dynamic_port = config.client.max_dynamic_port;
  options.max_kill_timeout = config.client.max_kill_timeout;
  options.default_pids = config.client.pids_limit;
  options.gc_max_allocs = config.client.gc_max_allocs;
  options.enforce_disk_below = config.client.enforce_disk_below;
  options.disable_file_sandbox = config.client.templates.disable_file_sandbox;
  options.compat = source_settings(config.client.templates.compat);
  if (config.client.files.enabled) options.extensions.push_back(file_extension(config));
  return options;
}

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::vector<std::unique_ptr<driver::Driver>> make_drivers(node::Options& node_options, const Config& config,
                                                          os::Ledger& ledger, const Clock& clock,
                                                          std::shared_ptr<imageshare::NodeImages> images) {
  const auto options = driver_options(config, ledger);
  std::vector<std::unique_ptr<driver::Driver>> drivers;
  drivers.push_back(driver::make_exec(options));
  if (config.raw_exec_enabled()) drivers.push_back(driver::make_raw_exec(options));
  const auto containers = std::make_shared<oci::Store>(config.data_dir + "/oci", helper("underway-pull"));
  node_options.collect = [containers, &clock](bool all) { collect_images(*containers, clock, all); };
  for (const auto* name : {"podman", "docker"})
    drivers.push_back(pod::make_pod(pod_options(config, options, name, containers)));
  drivers.push_back(pod::make_charliecloud({.driver = options,
                                            .store = containers,
                                            .auth_file = pod_options(config, options, "podman", containers).auth_file,
                                            .program = {}}));
  drivers.push_back(run::make_capsule(capsule_options(config, options, clock, std::move(images))));
  drivers.push_back(vm::make_qemu(machine_options(config, options, clock)));
  return drivers;
}

void add_capsule_extensions(node::Options& options, const Config& config, os::Ledger& ledger, async::Pool& pool,
                            const Clock& clock, std::shared_ptr<imageshare::NodeImages> images) {
  auto& extensions = options.extensions;
  extensions.push_back(images);
  extensions.push_back(std::make_shared<run::CapsuleExtension>(capsule_directory(config)));
  extensions.push_back(capsule_mover(config, ledger, pool, clock, images));
  auto rehearsals = rehearsal_options(config, ledger, clock, std::move(images));
  extensions.push_back(std::make_shared<rehearsal::NodeSide>(rehearsals));
  extensions.push_back(std::make_shared<saving::NodeSide>(saving::Options{std::move(rehearsals)}));
}

std::shared_ptr<node::Extension> file_extension(const Config& config) {
  files::FileOptions options;
  options.every = config.client.files.interval;
  options.capsules = [directory = capsule_directory(config)] {
    std::vector<std::shared_ptr<files::FileTarget>> targets;
    for (const auto& run : run::list_runs(directory)) {
      const os::ProcessIdentity init{static_cast<pid_t>(run.pid), static_cast<std::uint64_t>(run.start_time)};
      if (run.running()) targets.push_back(std::make_shared<files::ProcessTarget>(run.name, init));
    }
    return targets;
  };
  return std::make_shared<files::FileExtension>(std::move(options));
}

}  // namespace underway::agent
