#include "slurm/installed.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"
#include "slurm/version.hpp"

namespace underway::slurm {
namespace {

constexpr const char* kInstalled = "slurm.version";
constexpr const char* kRunning = "slurm.version.running";
constexpr const char* kVersions = "slurm.versions";
constexpr const char* kPlaces[] = {"/usr/sbin/slurmd", "/usr/local/sbin/slurmd", "/opt/slurm/sbin/slurmd"};
/// Has a directory for each release that is there, and in it sbin/slurmd.
constexpr const char* kInstalledReleases = "/opt/slurm";
constexpr std::size_t kMostReleases = 32;
constexpr Duration kPatience = std::chrono::seconds(5);

std::string identity_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return {};
  return fmt::format("{}:{}:{}.{}", found.st_dev, found.st_ino, found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
}

std::string ask(const std::string& program) {
  try {
    os::SpawnSpec spec;
    spec.argv = {program, "-V"};
    spec.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
    const auto found = find_version(os::run_program(std::move(spec), kPatience, 4096).out);
    if (found) return found->text();
  } catch (const Error& error) {
    log::debug("slurm: {} does not say its version: {}", program, error.one_line());
  }
  return {};
}

std::string link_of(const std::filesystem::path& path) {
  std::error_code gone;
  return std::filesystem::read_symlink(path, gone).string();
}

/// Of a process, which may be ending.
std::string name_of(const std::filesystem::path& process) {
  try {
    return std::string(trim(os::find_file(process / "comm", 64).value_or("")));
  } catch (const Error&) {
    return {};
  }
}

/// One that was told to read its configuration again is executed anew, from 23.11 on, and then has the name of its
/// file, which is `slurmd-wlm` on Debian.
bool is_slurmd(const std::string& name) { return name == "slurmd" || name.starts_with("slurmd-"); }

}  // namespace

InstalledSlurmd::Found InstalledSlurmd::look_at(const std::string& path, const std::string& as) {
  Found found{identity_of(path), {}};
  if (found.identity.empty()) return found;
  const auto [known, is_new] = versions_.try_emplace(found.identity + as);
  if (is_new) known->second = ask(path);
  found.version = known->second;
  return found;
}

InstalledSlurmd::Found InstalledSlurmd::installed() {
  for (const auto* place : kPlaces) {
    if (auto found = look_at(root_ + place); !found.identity.empty()) return found;
  }
  return {};
}

/// "/opt/slurm/20.11/sbin/slurmd 20.11.4, /usr/sbin/slurmd 22.05.8"
std::string InstalledSlurmd::all() {
  std::set<std::string> places(std::begin(kPlaces), std::end(kPlaces));
  std::error_code failure;
  std::filesystem::directory_iterator entry(root_ + kInstalledReleases, failure);
  for (; !failure && entry != std::filesystem::directory_iterator() && places.size() < kMostReleases;
       entry.increment(failure))
    places.insert(fmt::format("{}/{}/sbin/slurmd", kInstalledReleases, entry->path().filename().string()));
  std::vector<std::string> found;
  for (const auto& place : places) {
    if (const auto version = look_at(root_ + place, place).version; !version.empty())
      found.push_back(place + " " + version);
  }
  return found.size() < 2 && (found.empty() || !found.front().starts_with(kInstalledReleases)) ? "" : join(found, ", ");
}

/// Its file may have been replaced since: the kernel still has it. Those of containers are somebody else's.
InstalledSlurmd::Found InstalledSlurmd::running() {
  const std::filesystem::path proc = root_ + "/proc";
  const std::string ours = link_of(proc / "self/ns/mnt");
  std::error_code failure;
  std::filesystem::directory_iterator entry(proc, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    const auto& process = entry->path();
    if (process.filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    if (!is_slurmd(name_of(process)) || link_of(process / "ns/mnt") != ours) continue;
    if (auto found = look_at(process / "exe"); !found.version.empty()) return found;
  }
  return {};
}

model::StringMap InstalledSlurmd::attributes() {
  model::StringMap out;
  const auto there = installed();
  const auto runs = running();
  if (!there.version.empty()) out[kInstalled] = there.version;
  if (!runs.version.empty() && runs.version != there.version) out[kRunning] = runs.version;
  if (auto releases = all(); !releases.empty()) out[kVersions] = std::move(releases);
  return out;
}

std::optional<Version> version_at(const model::Node& node, const std::string& path) {
  if (const auto several = node.attributes.find(kVersions); several != node.attributes.end()) {
    for (const auto& entry : split(several->second, ',')) {
      const auto words = trim(entry);
      const auto blank = words.rfind(' ');
      if (blank != std::string_view::npos && words.substr(0, blank) == path) return find_version(words.substr(blank));
    }
    return std::nullopt;
  }
  const auto only = node.attributes.find(kInstalled);
  const bool there = std::ranges::find(kPlaces, path) != std::end(kPlaces);
  return there && only != node.attributes.end() ? find_version(only->second) : std::nullopt;
}

NodeVersions versions_of(const model::Node& node) {
  const auto read = [&](const char* name) {
    const auto it = node.attributes.find(name);
    return it == node.attributes.end() ? std::nullopt : find_version(it->second);
  };
  return {node.name, read(kInstalled), read(kRunning)};
}

}  // namespace underway::slurm
