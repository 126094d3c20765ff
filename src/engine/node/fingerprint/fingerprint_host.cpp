#include <linux/landlock.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.hpp"
#include "base/version.hpp"
#include "node/detail/proc_text.hpp"
#include "node/fingerprint/fingerprint.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "os/process/cgroup.hpp"

namespace underway::node {

namespace {

/// Signals that a task may be sent, as `os.signals` lists them: job files demand some by name (`set_contains`).
constexpr std::string_view kSignals =
    "SIGABRT,SIGALRM,SIGBUS,SIGCHLD,SIGCONT,SIGFPE,SIGHUP,SIGILL,SIGINT,SIGIO,SIGIOT,SIGKILL,SIGNULL,SIGPIPE,SIGPROF,"
    "SIGQUIT,SIGSEGV,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,SIGTTIN,SIGTTOU,SIGURG,SIGUSR1,SIGUSR2,SIGWINCH,SIGXCPU,"
    "SIGXFSZ";

/// The version of Landlock's interface; 0 when the kernel has none (landlock_create_ruleset(2)).
long landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : version;
}

}  // namespace

void fingerprint_host(const Machine& machine, const Options& options, Findings& findings) {
  auto& attributes = findings.attributes;
  utsname names{};
  ::uname(&names);
  attributes["kernel.name"] = lower(names.sysname);
  attributes["kernel.version"] = names.release;
  attributes["kernel.arch"] = names.machine;
  if (const long version = landlock_version(); version > 0) attributes["kernel.landlock"] = fmt::format("v{}", version);

  const std::string release = os::find_file(machine.path("/etc/os-release")).value_or("");
  const std::string id = detail::proc_field(release, "ID", '=');
  attributes["os.name"] = id.empty() ? "linux" : id;
  if (const std::string version = detail::proc_field(release, "VERSION_ID", '='); !version.empty())
    attributes["os.version"] = version;
  attributes["os.signals"] = std::string(kSignals);
  const auto mode = os::CgroupSystem::probe(machine.root).mode();
  if (mode != "none") attributes["os.cgroups.version"] = mode == "v2" ? "2" : "1";

  attributes["unique.hostname"] = options.name.empty() ? names.nodename : options.name;
  attributes["nomad.version"] = std::string(kNomadVersion);
  attributes["nomad.revision"] = std::string(build_id());
  attributes["nomad.service_discovery"] = "true";  // jobs that Nomad has kept ask for it
  attributes["underway.version"] = std::string(version());
  if (!options.http_addr.empty()) attributes["unique.advertise.address"] = options.http_addr;
  if (!options.host.empty()) attributes["unique.underway.host"] = options.host;
  if (!options.cluster.empty()) attributes["underway.cluster"] = options.cluster;
}

void fingerprint_storage(const Machine& machine, const Options& options, Findings& findings) {
  struct statvfs usage{};
  if (::statvfs(options.data_dir.c_str(), &usage) != 0) return;
  const auto total = static_cast<std::int64_t>(usage.f_frsize) * static_cast<std::int64_t>(usage.f_blocks);
  const auto free = static_cast<std::int64_t>(usage.f_frsize) * static_cast<std::int64_t>(usage.f_bavail);
  auto& attributes = findings.attributes;
  attributes["unique.storage.bytestotal"] = std::to_string(total);
  attributes["unique.storage.bytesfree"] = std::to_string(free);
  findings.resources.disk_mb = options.disk_total_mb.value_or(free / (1024 * 1024));

  const std::string mounts = os::find_file(machine.path("/proc/self/mountinfo")).value_or("");
  std::size_t longest = 0;
  for (const auto& mount : os::parse_mountinfo(mounts)) {
    const bool holds =
        mount.target == "/" || options.data_dir == mount.target || options.data_dir.starts_with(mount.target + "/");
    if (!holds || mount.target.size() < longest) continue;
    longest = mount.target.size();
    attributes["unique.storage.volume"] = mount.source;
  }
}

}  // namespace underway::node
