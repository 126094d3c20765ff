#include "tests/slurm_root.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::run {
namespace {

constexpr const char* kPrograms[] = {"/usr/sbin/munged",    "/usr/bin/munge",    "/usr/bin/unmunge",
                                     "/usr/sbin/slurmctld", "/usr/bin/scontrol", "/usr/bin/sinfo"};
/// What glibc looks for by itself when a thread ends (pthread_exit(3)).
constexpr const char* kUnwinder = "/lib/x86_64-linux-gnu/libgcc_s.so.1";
constexpr const char* kPlugins = "/usr/lib/x86_64-linux-gnu/slurm-wlm";

/// Programs and plugins with whatever ldd(1) names.
constexpr const char* kCopy = R"(set -e
root=$1; shift
{ printf '%s\n' "$@"; ldd "$@" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/lib64[^ ]*\).*/\1/p'; } |
  sort -u | xargs cp -L --parents -t $root)";

void give(const std::string& path, uid_t uid, gid_t gid, mode_t mode) {
  if (::chown(path.c_str(), uid, gid) != 0 || ::chmod(path.c_str(), mode) != 0)
    throw errno_error(errno, fmt::format("cannot give '{}'", path));
}

}  // namespace

bool has_slurm() {
  for (const auto* program : kPrograms) {
    if (::access(program, X_OK) != 0) return false;
  }
  return os::exists(kPlugins);
}

void fill_slurm_root(const std::string& root) {
  os::SpawnSpec copy;
  copy.argv = {"/bin/bash", "-c", kCopy, "copy", root};
  copy.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  for (const auto* program : kPrograms) copy.argv.emplace_back(program);
  copy.argv.emplace_back(kUnwinder);
  for (const auto& plugin : os::list_directory(kPlugins)) {
    if (plugin.name.ends_with(".so")) copy.argv.push_back(fmt::format("{}/{}", kPlugins, plugin.name));
  }
  const auto done = os::run_program(copy, std::chrono::minutes{4});
  if (!done.status.success()) throw Error(Code::internal, "cannot copy Slurm").because(done.err);
  for (const auto* path :
       {"/etc/munge", "/etc/slurm", "/var/lib/munge", "/var/log/munge", "/var/spool/slurmctld", "/var/log/slurm"}) {
    os::make_directories(root + path, 0755);
  }
  os::write_file(root + "/etc/passwd",
                 "root:x:0:0:root:/root:/bin/sh\nmunge:x:104:107::/:/bin/false\nslurm:x:64030:64030::/:/bin/false\n");
  os::write_file(root + "/etc/group", "root:x:0:\nmunge:x:107:\nslurm:x:64030:\n");
  os::write_file(root + "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n");
  os::write_file(root + "/etc/munge/munge.key", random_bytes(128), 0600);
  give(root + "/etc/munge/munge.key", 104, 107, 0600);
  for (const auto* path : {"/etc/munge", "/var/lib/munge", "/var/log/munge"}) give(root + path, 104, 107, 0700);
  give(root + "/var/spool/slurmctld", 64030, 64030, 0700);
  os::write_file(root + "/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n");
  os::write_file(root + "/etc/slurm/slurm.conf",
                 "ClusterName=bed\nSlurmctldHost=ctl\nAuthType=auth/munge\nSlurmUser=slurm\n"
                 "StateSaveLocation=/var/spool/slurmctld\nSlurmdSpoolDir=/var/spool/slurmd\n"
                 "SlurmctldPidFile=/run/slurmctld.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
                 "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nMpiDefault=none\n"
                 "ReturnToService=2\nNodeName=c1 CPUs=8 RealMemory=16000 State=UNKNOWN\n"
                 "PartitionName=main Nodes=c1 Default=YES MaxTime=INFINITE State=UP\n");
}

std::vector<image::Service> slurm_services() {
  image::Service munge;
  munge.name = "munge";
  munge.command = {"/usr/sbin/munged", "-F", "--num-threads=2"};
  munge.user = "munge";
  munge.ready = {"/bin/sh", "-c", "test -S /run/munge/munge.socket.2"};
  image::Service controller;
  controller.name = "slurmctld";
  controller.command = {"/usr/sbin/slurmctld", "-D"};
  controller.depends_on = {"munge"};
  controller.ready = {"/bin/sh", "-c", "grep -q ':1AA1 ' /proc/net/tcp /proc/net/tcp6"};
  return {munge, controller};
}

}  // namespace underway::run
