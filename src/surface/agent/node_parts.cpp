#include "agent/node_parts.hpp"

#include <filesystem>

#include "base/log.hpp"
#include "capsule/capsule.hpp"
#include "capsule/extension.hpp"
#include "capsule/running.hpp"
#include "image/verified.hpp"
#include "move/node_side.hpp"
#include "pod/charliecloud.hpp"
#include "pod/pod.hpp"
#include "provision/sync_node.hpp"
#include "provision/sync_target.hpp"
#include "rehearsal/node_side.hpp"
#include "saving/node_side.hpp"

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

capsule::Options capsule_options(const Config& config, const driver::Options& common,
                                 std::shared_ptr<imageshare::NodeImages> images) {
  capsule::Options options;
  options.driver = common;
  options.init_program = helper("underway-capsule-init");
  options.capsules = capsule_directory(config);
  options.images = images->store().directory();
  options.keys = {images->keys_directory(), kSiteKeys};
  options.fetch = [images](const std::string& reference) { return images->fetch_blocking(reference); };
  images->keep([capsules = options.capsules] {
    std::set<std::string> digests;
    for (const auto& run : capsule::list_runs(capsules)) digests.insert(run.digest);
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
  move::NodeOptions options;
  options.capsules = capsule_directory(config);
  options.trash = config.data_dir + "/trash";
  options.ledger = &ledger;
  options.bring_image = [images, &pool, &clock](std::string reference) {
    return bring_image(images, pool, clock, std::move(reference));
  };
  return std::make_shared<move::NodeSide>(std::move(options));
}

/// Tries capsules out beside those that run (hpc/rehearsal).
rehearsal::Options rehearsal_options(const Config& config, os::Ledger& ledger,
                                     std::shared_ptr<imageshare::NodeImages> images) {
  rehearsal::Options options;
  options.driver = capsule_options(config, driver_options(config, ledger), std::move(images));
  options.place = config.data_dir + "/rehearsals";
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

}  // namespace

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
  drivers.push_back(capsule::make_capsule(capsule_options(config, options, std::move(images))));
  return drivers;
}

void add_capsule_extensions(node::Options& options, const Config& config, os::Ledger& ledger, async::Pool& pool,
                            const Clock& clock, std::shared_ptr<imageshare::NodeImages> images) {
  auto& extensions = options.extensions;
  extensions.push_back(images);
  extensions.push_back(std::make_shared<capsule::CapsuleExtension>(capsule_directory(config)));
  extensions.push_back(capsule_mover(config, ledger, pool, clock, images));
  auto rehearsals = rehearsal_options(config, ledger, std::move(images));
  extensions.push_back(std::make_shared<rehearsal::NodeSide>(rehearsals));
  extensions.push_back(std::make_shared<saving::NodeSide>(saving::Options{std::move(rehearsals)}));
}

std::shared_ptr<node::Extension> file_extension(const Config& config) {
  provision::FileOptions options;
  options.every = config.client.files.interval;
  options.capsules = [directory = capsule_directory(config)] {
    std::vector<std::shared_ptr<provision::SyncTarget>> targets;
    for (const auto& run : capsule::list_runs(directory)) {
      const os::ProcessIdentity init{static_cast<pid_t>(run.pid), static_cast<std::uint64_t>(run.start_time)};
      if (run.running()) targets.push_back(std::make_shared<provision::ProcessTarget>(run.name, init));
    }
    return targets;
  };
  return std::make_shared<provision::FileExtension>(std::move(options));
}

}  // namespace underway::agent
