#include "node/volume/host_volumes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "model/node/host_volume.hpp"
#include "node/volume/volume_plugin.hpp"
#include "os/file.hpp"

namespace underway::node {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;
using Stage = VolumeRecord::Stage;

namespace {

constexpr const char* kSuffix = ".json";
constexpr const char* kMkdirVersion = "0.0.1";

bool leads_to_directory(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

std::int64_t number_of(const protocol::VolumeOrder& order, const char* name, int base, std::int64_t otherwise) {
  const auto it = order.parameters.find(name);
  if (it == order.parameters.end()) return otherwise;
  const auto number = parse_number<std::int64_t>(it->second, base);
  if (!number || *number < 0)
    throw Error(Code::invalid, fmt::format("parameter {} of volume '{}' is no number", name, order.name))
        .because(fmt::format("it is '{}'", it->second));
  return *number;
}

/// The built-in plugin: a directory of the parameters' mode, uid and gid.
protocol::VolumeMade make_directory(const protocol::VolumeOrder& order, const std::string& path) {
  const auto mode = number_of(order, "mode", 8, 0700);
  const auto uid = number_of(order, "uid", 10, -1), gid = number_of(order, "gid", 10, -1);
  if (mode > 07777)
    throw Error(Code::invalid, fmt::format("parameter mode of volume '{}' is none", order.name))
        .because(fmt::format("{:o} is larger than 7777", mode));
  if (leads_to_directory(path)) return {path, 0};
  // Under another name until it is as it shall be: whoever finds it under its own finds it whole.
  const std::string begun = path + ".new";
  os::remove_tree(begun);
  if (::mkdir(begun.c_str(), 0700) != 0) throw errno_error(errno, fmt::format("cannot make '{}'", begun));
  if (::chown(begun.c_str(), static_cast<uid_t>(uid), static_cast<gid_t>(gid)) != 0)
    throw errno_error(errno, fmt::format("cannot give '{}' to user {} and group {}", begun, uid, gid));
  if (::chmod(begun.c_str(), static_cast<mode_t>(mode)) != 0)
    throw errno_error(errno, fmt::format("cannot change the mode of '{}'", begun));
  if (::rename(begun.c_str(), path.c_str()) != 0) throw errno_error(errno, fmt::format("cannot make '{}'", path));
  return {path, 0};
}

}  // namespace

HostVolumes::HostVolumes(HostVolumeOptions options) : options_(std::move(options)) {
  if (options_.plugin_directory.empty()) options_.plugin_directory = options_.data_dir + "/host_volume_plugins";
  if (options_.directory.empty()) options_.directory = options_.data_dir + "/host_volumes";
}

std::string HostVolumes::file_of(const std::string& id) const {
  return options_.data_dir + "/node/volumes/" + id + kSuffix;
}

void HostVolumes::write(const VolumeRecord& record) const {
  os::make_directories(options_.data_dir + "/node/volumes", 0700);
  os::write_file(file_of(record.order.id), json::encode(record) + "\n", 0600);
}

std::optional<VolumeRecord> HostVolumes::find(const std::string& id) const {
  // It becomes a path.
  if (!is_uuid(id)) throw Error(Code::invalid, fmt::format("'{}' is no id of a volume", id));
  const auto text = os::find_file(file_of(id));
  if (!text) return std::nullopt;
  return json::decode_text<VolumeRecord>(*text, file_of(id));
}

std::vector<VolumeRecord> HostVolumes::all() const {
  std::vector<VolumeRecord> records;
  const std::string directory = options_.data_dir + "/node/volumes";
  if (!os::exists(directory)) return records;
  for (const auto& entry : os::list_directory(directory)) {
    if (!entry.name.ends_with(kSuffix)) continue;
    try {
      records.push_back(json::decode_text<VolumeRecord>(os::read_file(directory + "/" + entry.name), entry.name));
    } catch (const Error& error) {
      log::error("node: a volume's record cannot be read and is left alone: {}", error.one_line());
    }
  }
  return records;
}

std::map<std::string, std::string> HostVolumes::plugins() const {
  std::map<std::string, std::string> found{{model::kMkdirPlugin, kMkdirVersion}};
  std::vector<std::string> problems;
  for (const auto& name : find_plugins(options_.plugin_directory, problems)) {
    try {
      PluginCall call{options_.plugin_directory, name, "fingerprint", {}, kFingerprintLimit};
      found.emplace(name, call_plugin(call).version);
    } catch (const Error& error) {
      problems.push_back(error.one_line());
    }
  }
  for (const auto& problem : problems) log::warn("node: {}", problem);
  return found;
}

std::map<std::string, std::string> HostVolumes::variables(const protocol::VolumeOrder& order) const {
  return {{"DHV_VOLUMES_DIR", options_.directory},
          {"DHV_PLUGIN_DIR", options_.plugin_directory},
          {"DHV_NAMESPACE", order.ns},
          {"DHV_VOLUME_NAME", order.name},
          {"DHV_VOLUME_ID", order.id},
          {"DHV_NODE_ID", options_.node_id},
          {"DHV_NODE_POOL", order.node_pool},
          {"DHV_CAPACITY_MIN_BYTES", std::to_string(order.capacity_min)},
          {"DHV_CAPACITY_MAX_BYTES", std::to_string(order.capacity_max)},
          {"DHV_PARAMETERS", json::encode(order.parameters)}};
}

protocol::VolumeMade HostVolumes::carry_out(const protocol::VolumeOrder& order) const {
  if (order.plugin.empty()) {
    if (!leads_to_directory(order.path))
      throw Error(Code::not_found, fmt::format("volume '{}' cannot be registered", order.name))
          .because(fmt::format("'{}' is no directory on this node", order.path));
    return {order.path, 0};
  }
  os::make_directories(options_.directory, 0711);
  if (order.plugin == model::kMkdirPlugin) return make_directory(order, options_.directory + "/" + order.id);
  const auto answer = call_plugin({options_.plugin_directory, order.plugin, "create", variables(order)});
  if (!leads_to_directory(answer.path))
    throw Error(Code::internal, fmt::format("plugin '{}' could not create", order.plugin))
        .because(fmt::format("'{}', which it says it has made, is no directory", answer.path));
  return {answer.path, answer.bytes};
}

void HostVolumes::undo(const protocol::VolumeOrder& order, const std::string& path) const {
  if (order.plugin.empty()) return;
  if (order.plugin == model::kMkdirPlugin) {
    os::remove_tree(options_.directory + "/" + order.id + ".new");
    os::remove_tree(options_.directory + "/" + order.id);
    return;
  }
  PluginCall call{options_.plugin_directory, order.plugin, "delete", variables(order)};
  call.variables["DHV_CREATED_PATH"] = path;
  call.variables.erase("DHV_CAPACITY_MIN_BYTES");
  call.variables.erase("DHV_CAPACITY_MAX_BYTES");
  call_plugin(call);
}

protocol::VolumeMade HostVolumes::make(const protocol::VolumeOrder& order) {
  const auto before = find(order.id);
  if (options_.taken.contains(order.name))
    throw Error(Code::conflict, fmt::format("volume '{}' cannot be here", order.name))
        .because("the agent's configuration has a host_volume of that name");
  for (const auto& other : all()) {
    if (other.order.name == order.name && other.order.id != order.id)
      throw Error(Code::conflict, fmt::format("volume '{}' cannot be here", order.name))
          .because(fmt::format("volume {} has that name", other.order.id));
  }
  const bool known = before && before->stage == Stage::made;
  VolumeRecord record{order, known ? before->made : protocol::VolumeMade{}, known ? Stage::made : Stage::making,
                      options_.boot};
  if (!known) write(record);
  try {
    record.made = carry_out(order);
  } catch (const Error&) {
    if (known) throw;
    try {
      undo(order, {});
    } catch (const Error& left) {
      log::warn("node: what was begun of volume '{}' may lie about: {}", order.name, left.one_line());
    }
    ::unlink(file_of(order.id).c_str());
    throw;
  }
  record.stage = Stage::made;
  write(record);
  return record.made;
}

void HostVolumes::remove(const std::string& id) {
  auto record = find(id);
  if (!record) return;
  record->stage = Stage::deleting;
  write(*record);
  try {
    undo(record->order, record->made.path);
  } catch (const Error&) {
    record->stage = Stage::made;
    write(*record);
    throw;
  }
  if (::unlink(file_of(id).c_str()) != 0) throw errno_error(errno, fmt::format("cannot remove '{}'", file_of(id)));
}

/// Whether it may be lent.
bool HostVolumes::bring_back(VolumeRecord& record) const {
  if (record.stage == Stage::deleting) {
    undo(record.order, record.made.path);
    ::unlink(file_of(record.order.id).c_str());
    return false;
  }
  if (options_.taken.contains(record.order.name))
    throw Error(Code::conflict, "the agent's configuration has a host_volume of that name");
  // Mounts and the like go with the machine; a restart of the agent alone takes nothing.
  if (record.stage == Stage::made && record.boot == options_.boot && leads_to_directory(record.made.path)) return true;
  record.made = carry_out(record.order);
  record.stage = Stage::made;
  record.boot = options_.boot;
  write(record);
  return true;
}

std::vector<model::NodeVolume> HostVolumes::restore() {
  std::vector<model::NodeVolume> lent;
  for (auto& record : all()) {
    try {
      if (bring_back(record)) lent.push_back({record.order.name, record.made.path, false, record.order.id});
    } catch (const Error& error) {
      log::error("node: volume '{}' ({}) is not lent to tasks: {}", record.order.name, record.order.id,
                 error.one_line());
    }
  }
  return lent;
}

const Enumeration& description(Tag<Stage>) {
  static const Enumeration e = describe::enumeration<Stage>("stage");
  return e;
}

const Structure& description(Tag<VolumeRecord>) {
  static const Structure s =
      Builder<VolumeRecord>("volume record", "A volume of this node.")
          .wire<&VolumeRecord::order>("Order", "What the node was told to have.")
          .wire<&VolumeRecord::made>("Made", "What the plugin answered; empty before it has.")
          .wire<&VolumeRecord::stage>("Stage", "`making`, `made` or `deleting`.")
          .wire<&VolumeRecord::boot>("Boot", "The boot of the machine in which it was made, or brought back.")
          .done();
  return s;
}

}  // namespace underway::node
