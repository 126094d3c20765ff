#include "slurm/installed.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process.hpp"
#include "slurm/version.hpp"

namespace underway::slurm {
namespace {

constexpr const char* kInstalled = "slurm.version";
constexpr const char* kRunning = "slurm.version.running";
constexpr const char* kPlaces[] = {"/usr/sbin/slurmd", "/usr/local/sbin/slurmd", "/opt/slurm/sbin/slurmd"};
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

}  // namespace

InstalledSlurmd::Found InstalledSlurmd::look_at(const std::string& path) {
  Found found{identity_of(path), {}};
  if (found.identity.empty()) return found;
  const auto [known, is_new] = versions_.try_emplace(found.identity);
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

/// Its file may have been replaced since: the kernel still has it. Those of containers are somebody else's.
InstalledSlurmd::Found InstalledSlurmd::running() {
  const std::filesystem::path proc = root_ + "/proc";
  const std::string ours = link_of(proc / "self/ns/mnt");
  std::error_code failure;
  std::filesystem::directory_iterator entry(proc, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    const auto& process = entry->path();
    if (process.filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    if (name_of(process) != "slurmd" || link_of(process / "ns/mnt") != ours) continue;
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
  return out;
}

NodeVersions versions_of(const model::Node& node) {
  const auto read = [&](const char* name) {
    const auto it = node.attributes.find(name);
    return it == node.attributes.end() ? std::nullopt : find_version(it->second);
  };
  return {node.name, read(kInstalled), read(kRunning)};
}

}  // namespace underway::slurm
