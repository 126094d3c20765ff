#include "inspection/detail/processes.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "inspection/detail/proc_text.hpp"

namespace underway::inspection::detail {
namespace {

constexpr std::size_t kMaxProcText = 8U << 20;
constexpr std::size_t kMaxProcesses = 100'000;
constexpr std::size_t kMaxWrittenFiles = 200;

/// Where a link of /proc points; empty when it may not be read or the process is gone.
std::string link_of(const std::string& path) {
  std::array<char, 4096> text;
  const auto length = ::readlink(path.c_str(), text.data(), text.size());
  return length < 0 ? std::string{} : std::string(text.data(), static_cast<std::size_t>(length));
}

/// The text of a file of /proc; empty when it may not be read or the process is gone.
std::string text_at(const std::string& path) {
  try {
    return os::find_file(path, kMaxProcText).value_or("");
  } catch (const Error&) {
    return {};  // a process that ends while it is looked at, or one that we may not look at: the caller counts these
  }
}

std::vector<os::DirectoryEntry> entries_of(const std::string& path) {
  try {
    return os::list_directory(path);
  } catch (const Error&) {
    return {};  // as above
  }
}

bool is_state(const std::string& file) {
  return file.starts_with("/") && !file.starts_with("/dev/") && !file.starts_with("/proc/") &&
         !file.starts_with("/sys/") && !file.starts_with("/run/") && !file.starts_with("/memfd:") &&
         !file.ends_with(" (deleted)");
}

/// The name that it was started by, when the executable's only adds to it: slurmctld, not slurmctld-wlm.
std::string name_of(const std::string& executable, const std::vector<std::string>& command) {
  if (command.empty()) return executable;
  const std::string started = command[0].substr(command[0].rfind('/') + 1);
  return started.size() > 2 && executable.starts_with(started) ? started : executable;
}

void read_descriptors(const std::string& base, Process& process) {
  for (const auto& entry : entries_of(base + "/fd")) {
    const std::string target = link_of(base + "/fd/" + entry.name);
    if (const auto inode = socket_inode(target)) {
      process.sockets.insert(*inode);
    } else if (is_state(target) && process.written_files.size() < kMaxWrittenFiles &&
               opened_for_writing(text_at(base + "/fdinfo/" + entry.name))) {
      process.written_files.insert(target);
    }
  }
}

}  // namespace

std::vector<Process> processes_beside(pid_t process, std::vector<std::string>& gaps) {
  const std::string network = link_of(fmt::format("/proc/{}/ns/net", process));
  if (network.empty())
    throw Error(Code::not_found, fmt::format("cannot look at process {}", process))
        .because("there is no such process, or it is somebody else's")
        .advise("run the survey as root");
  std::vector<Process> out;
  std::size_t hidden = 0;
  for (const auto& entry : os::list_directory("/proc")) {
    const auto pid = parse_number<decltype(Process::pid)>(entry.name);
    if (!pid || out.size() >= kMaxProcesses) continue;
    Process found;
    found.pid = *pid;
    const std::string base = "/proc/" + entry.name;
    const auto status = parse_status(text_at(base + "/status"));
    const std::string its_network = link_of(base + "/ns/net");
    if (its_network.empty() && !status.name.empty() && !status.ended && status.parent != 2 && found.pid != 2) ++hidden;
    if (its_network != network) continue;
    found.executable = link_of(base + "/exe");
    if (found.executable.empty()) continue;  // a kernel thread
    if (found.executable.ends_with(" (deleted)")) found.executable.resize(found.executable.size() - 10);
    found.parent = status.parent;
    found.uid = status.uid;
    found.name = found.executable.substr(found.executable.rfind('/') + 1);
    const auto words = parse_command_line(text_at(base + "/cmdline"));
    found.name = name_of(found.name, words);
    found.command = redact_command(words);
    found.unit = unit_of_cgroup(text_at(base + "/cgroup"));
    found.libraries = libraries_of_maps(text_at(base + "/maps"));
    read_descriptors(base, found);
    out.push_back(std::move(found));
  }
  if (hidden > 0) gaps.push_back(fmt::format("{} processes of other users could not be looked at", hidden));
  std::sort(out.begin(), out.end(), [](const Process& a, const Process& b) { return a.pid < b.pid; });
  return out;
}

std::map<std::int64_t, std::string> users_of(std::string_view passwd) {
  std::map<std::int64_t, std::string> out;
  for (const auto& line : split(passwd, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    if (const auto uid = parse_number<std::int64_t>(parts[2])) out.try_emplace(*uid, parts[0]);
  }
  return out;
}

}  // namespace underway::inspection::detail
