#include "node/fingerprint/fingerprint.hpp"

#include <filesystem>

#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::node {

namespace {

std::string open_uuid(const std::string& path, IdSource& ids) {
  if (const auto text = os::find_file(path, 4096)) {
    std::string id(trim(*text));
    if (is_uuid(id)) return id;
    throw Error(Code::invalid, fmt::format("'{}' holds no identifier", path))
        .because(fmt::format("it reads '{}'", id.substr(0, 40)))
        .advise("restore it from a backup, or remove it: the node then joins as a new one");
  }
  const std::string id = ids.uuid();
  os::write_file(path, id + "\n", 0600);
  return id;
}

}  // namespace

NodeIdentity open_identity(const std::string& data_dir, IdSource& ids) {
  const std::string directory = data_dir + "/node";
  os::make_directories(directory, 0700);
  return {open_uuid(directory + "/id", ids), open_uuid(directory + "/secret", ids)};
}

namespace {

/// Checked when the agent starts: a volume that is not there would be found out by its first task.
std::map<std::string, model::NodeVolume> volumes(const Machine& machine, const Options& options) {
  std::map<std::string, model::NodeVolume> volumes;
  for (const auto& volume : options.host_volumes) {
    std::error_code failed;
    if (!std::filesystem::is_directory(machine.path(volume.path), failed))
      throw Error(Code::not_found, fmt::format("host_volume '{}' cannot be lent to tasks", volume.name))
          .because(fmt::format("'{}' is no directory here", volume.path))
          .advise("make the directory, or correct `path` in the host_volume block");
    volumes[volume.name] = volume;
  }
  return volumes;
}

}  // namespace

model::Node fingerprint(const Machine& machine, const Options& options, const std::string& node_id, TimePoint now,
                        std::vector<std::int64_t>* usable_cores) {
  Findings findings;
  fingerprint_host(machine, options, findings);
  fingerprint_cpu(machine, options, findings);
  fingerprint_memory(machine, options, findings);
  fingerprint_network(machine, options, findings);
  fingerprint_storage(machine, options, findings);

  model::Node node;
  node.id = node_id;
  findings.attributes["unique.host_id"] = node_id;
  node.name = options.name.empty() ? findings.attributes.at("unique.hostname") : options.name;
  node.datacenter = options.datacenter;
  node.node_class = options.node_class;
  node.node_pool = options.pool;
  node.meta = options.meta;
  node.host = options.host;
  node.cluster = options.cluster;
  node.http_addr = options.http_addr;
  node.attributes = std::move(findings.attributes);
  node.resources = std::move(findings.resources);
  node.reserved = options.reserved;
  node.reserved.cpu = findings.reserved_cpu;
  if (usable_cores != nullptr) *usable_cores = std::move(findings.usable_cores);
  node.networks = std::move(findings.networks);
  node.volumes = volumes(machine, options);
  node.resources.min_dynamic_port = options.min_dynamic_port;
  node.resources.max_dynamic_port = options.max_dynamic_port;
  node.last_start = unix_nanos(now);
  return node;
}

}  // namespace underway::node
