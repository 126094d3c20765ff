#include "run/running.hpp"

#include <dirent.h>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "image/manifest.hpp"
#include "os/file.hpp"
#include "os/process/cgroup.hpp"

namespace underway::run {

const describe::Structure& description(describe::Tag<Run>) {
  static const auto kStructure = describe::Builder<Run>("run", "The last run of a capsule on a node.")
                                     .wire<&Run::ns>("Namespace", "Of its job.")
                                     .wire<&Run::name>("Name", "Its name.")
                                     .wire<&Run::job>("JobID", "Its job.")
                                     .wire<&Run::group>("TaskGroup", "Its group.")
                                     .wire<&Run::allocation>("AllocID", "The allocation.")
                                     .wire<&Run::task>("Task", "The task.")
                                     .wire<&Run::image>("Image", "Name and version of the image.")
                                     .wire<&Run::digest>("Digest", "Of the image.")
                                     .wire<&Run::image_path>("ImagePath", "Where the image is.")
                                     .wire<&Run::keeper_dir>("KeeperDir", "Where its keeper is reached.")
                                     .wire<&Run::upper>("Upper", "The overlay's upper layer.")
                                     .wire<&Run::cgroup>("Cgroup", "All of its processes.")
                                     .wire<&Run::addresses>("Addresses", "Its addresses.")
                                     .wire<&Run::pid>("PID", "Its first process.")
                                     .wire<&Run::start_time>("StartTime", "Of that process, in ticks since boot.")
                                     .wire<&Run::started>("Started", "When.")
                                     .time()
                                     .wire<&Run::ended>("Ended", "When its end was seen.")
                                     .time()
                                     .done();
  return kStructure;
}

bool Run::running() const {
  return pid > 0 && os::is_running({static_cast<pid_t>(pid), static_cast<std::uint64_t>(start_time)});
}

namespace {

/// The group of a process in the hierarchy that can stop it.
std::string freezer_group(std::int64_t pid) {
  std::string unified;
  for (const auto& line : split(os::read_file(fmt::format("/proc/{}/cgroup", pid)), '\n')) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    auto path = line.substr(second + 1);
    if (path.starts_with('/')) path.erase(0, 1);
    if (controllers == "freezer") return path;
    if (controllers.empty()) unified = path;
  }
  return unified;
}

}  // namespace

void freeze(const Run& run, bool on) {
  if (!run.running()) return;
  const auto path = freezer_group(run.pid);
  auto group = path.empty() ? std::nullopt : os::Cgroup::find(os::CgroupSystem::probe(), path);
  if (!group)
    throw Error(Code::unsupported, "cannot stop what writes to the overlay")
        .because(fmt::format("process {} is in no cgroup of its own", run.pid))
        .advise("stop the capsule's job, or give it an overlay in a file (kind ext4, xfs, btrfs)");
  try {
    group->freeze(on);
  } catch (...) {
    group->release();  // it is not ours to remove
    throw;
  }
  group->release();
}

std::string capsule_directory(const std::string& capsules, const std::string& ns, const std::string& name) {
  for (const auto& part : {ns, name}) {
    const bool plain = !part.empty() && part.size() <= 200 && part.find('/') == std::string::npos &&
                       part.find('\0') == std::string::npos && part.front() != '.';
    if (!plain) throw Error(Code::invalid, fmt::format("'{}' is no name of a capsule or namespace", part));
  }
  return fmt::format("{}/{}/{}", capsules, ns, name);
}

void write_run(const std::string& capsules, const Run& run) {
  const auto directory = capsule_directory(capsules, run.ns, run.name);
  os::make_directories(directory, 0700);
  os::write_file(directory + "/run.json", json::pretty(json::to_value(run)) + "\n", 0600, {}, os::Durability::cached);
}

std::optional<Run> find_run(const std::string& capsules, const std::string& ns, const std::string& name) {
  const auto text = os::find_file(capsule_directory(capsules, ns, name) + "/run.json", 1U << 20);
  if (!text) return std::nullopt;
  return json::decode_text<Run>(*text, fmt::format("run of capsule {}/{}", ns, name));
}

std::vector<Run> list_runs(const std::string& capsules) {
  std::vector<Run> runs;
  if (!os::exists(capsules)) return runs;
  for (const auto& ns : os::list_directory(capsules)) {
    if (ns.type != DT_DIR || ns.name.starts_with('.')) continue;
    for (const auto& name : os::list_directory(capsules + "/" + ns.name)) {
      if (name.type != DT_DIR || name.name.starts_with('.')) continue;
      if (auto run = find_run(capsules, ns.name, name.name)) runs.push_back(std::move(*run));
    }
  }
  return runs;
}

}  // namespace underway::run
