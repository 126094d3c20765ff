#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "host/detail/machine.hpp"
#include "host/etc_files.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "os/process/user.hpp"

namespace underway::host {
namespace {

/// Symbolic links are resolved on the machine, whose root the host shares: after that the path means the same below
/// the host's root as in it. Below /run, /tmp and /dev the host starts empty.
std::string resolve(const std::string& path) {
  for (const char* own : {"/run/", "/tmp/", "/dev/"}) {
    if (path.starts_with(own)) return path;
  }
  return std::filesystem::weakly_canonical(path).string();
}

bool is_directory(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) throw errno_error(errno, fmt::format("cannot show '{}' to a host", path));
  return S_ISDIR(status.st_mode);
}

/// File systems of their own right below the root: an overlay does not see through them.
std::vector<std::string> find_layers() {
  static const std::set<std::string> candidates = {"/usr", "/opt", "/var", "/srv", "/home", "/root", "/etc"};
  static const std::set<std::string> pseudo = {"tmpfs", "proc", "sysfs", "devtmpfs", "autofs", "ramfs", "nsfs"};
  std::vector<std::string> layers;
  for (const auto& mount : os::list_mounts()) {
    if (!candidates.contains(mount.target) || pseudo.contains(mount.type)) continue;
    if (std::find(layers.begin(), layers.end(), mount.target) == layers.end()) layers.push_back(mount.target);
  }
  return layers;
}

void write_etc(const std::string& etc, const std::string& hostname) {
  constexpr auto kCached = os::Durability::cached;
  os::make_directories(etc, 0755);
  os::write_file(etc + "/hostname", hostname + "\n", 0644, {}, kCached);
  os::write_file(etc + "/hosts", "", 0644, {}, kCached);  // the cluster's is bound over it
  // Empty: a name server that cannot be reached makes every unknown name cost ten seconds (measured).
  os::write_file(etc + "/resolv.conf", "", 0644, {}, kCached);
  os::write_file(etc + "/nsswitch.conf", rewrite_nsswitch(os::find_file("/etc/nsswitch.conf").value_or("")), 0644, {},
                 kCached);
  os::write_file(etc + "/machine-id", hex(random_bytes(16)) + "\n", 0444, {}, kCached);
}

BootDirectory to_boot(const model::HostDirectory& directory) {
  const auto user = os::find_user(directory.owner);
  const auto group = os::find_group(directory.group);
  if (!user || !group) {
    throw Error(Code::not_found, fmt::format("cannot make directory '{}' of the host", directory.path))
        .because(user ? fmt::format("this machine has no group '{}'", directory.group)
                      : fmt::format("this machine has no user '{}'", directory.owner))
        .advise("install the package that brings it");
  }
  return {resolve(directory.path), user->uid, *group, parse_number<mode_t>(directory.mode, 8).value()};
}

std::vector<BootDirectory> directories_of(const HostSpec& host) {
  std::vector<BootDirectory> directories;
  for (const auto& directory : read_tmpfiles()) {
    // A package that is half removed leaves its file and takes its user: nobody needs that directory.
    if (os::find_user(directory.owner) && os::find_group(directory.group)) directories.push_back(to_boot(directory));
  }
  for (const auto& directory : host.directories) directories.push_back(to_boot(directory));
  return directories;
}

std::vector<BootBind> binds_of(const Layout& layout, const ClusterSpec& cluster, const HostSpec& host,
                               const std::vector<std::string>& visible) {
  std::vector<BootBind> binds;
  for (const auto& path : visible) binds.push_back({path, resolve(path), is_directory(path), false});
  for (const auto& share : cluster.shares) {
    binds.push_back({layout.share(cluster.name, share.path), resolve(share.path), true, false});
  }
  for (const auto& path : host.plain_directories) {
    binds.push_back({layout.plain(cluster.name, host.name, path), resolve(path), true, false});
  }
  for (const auto& path : host.disk_directories) {
    binds.push_back({layout.disk(cluster.name, host.name, path), resolve(path), true, false});
  }
  for (const auto& bind : host.binds) {
    binds.push_back({bind.source, resolve(bind.target), is_directory(bind.source), bind.read_only});
  }
  binds.push_back({layout.hosts_file(cluster.name), "/etc/hosts", false, true});
  return binds;
}

}  // namespace

std::vector<os::DeviceNode> find_devices() {
  std::vector<std::string> names = {"null", "zero", "full", "random",  "urandom",
                                    "tty",  "fuse", "kvm",  "net/tun", "loop-control"};
  for (int n = 0; n < 8; ++n) names.push_back(fmt::format("loop{}", n));
  std::vector<os::DeviceNode> devices;
  for (const auto& name : names) {
    struct stat status{};
    if (::stat(("/dev/" + name).c_str(), &status) != 0) continue;
    if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode)) continue;
    devices.push_back({name, status.st_mode, status.st_rdev});
  }
  return devices;
}

BootInput describe_boot(const Layout& layout, const ClusterSpec& cluster, const HostSpec& host,
                        const HostGroups& groups, const std::vector<std::string>& visible) {
  BootInput input;
  input.hostname = host.name;
  input.directory = layout.roots(cluster.name, host.name);
  for (const char* part : {"/upper", "/work", "/root"}) os::make_directories(input.directory + part, 0755);
  for (const auto& path : host.plain_directories)
    os::make_directories(layout.plain(cluster.name, host.name, path), 0755);
  for (const auto& path : host.disk_directories) os::make_directories(layout.disk(cluster.name, host.name, path), 0755);
  write_etc(input.directory + "/upper/etc", host.name);
  for (const auto& file : host.files) {
    const std::string path = input.directory + "/upper" + file.path;
    os::make_directories(std::filesystem::path(path).parent_path().string(), 0755);
    os::write_file(path, file.text, file.mode, {}, os::Durability::cached);
  }
  input.layers = find_layers();
  for (std::size_t n = 0; n < input.layers.size(); ++n) {
    os::make_directories(fmt::format("{}/layers/{}/upper", input.directory, n), 0755);
    os::make_directories(fmt::format("{}/layers/{}/work", input.directory, n), 0755);
  }
  input.join_cgroup = groups.join_files();
  input.cgroup_leaf = groups.leaf_file();
  for (const auto& hierarchy : groups.hierarchies()) {
    if (hierarchy.v2) {
      input.cgroup_v2 = hierarchy.name;
    } else {
      input.cgroup_v1.emplace_back(groups.directory(hierarchy), hierarchy.name);
    }
  }
  input.devices = find_devices();
  input.hidden = layout.state_dir;
  input.binds = binds_of(layout, cluster, host, visible);
  input.directories = directories_of(host);
  input.agent_argv = host.agent_argv;
  input.agent_env = host.agent_env;
  return input;
}

}  // namespace underway::host
