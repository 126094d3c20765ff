#pragma once
/// @file
/// From a task's config and an image to the `config.json` that crun and runc read (OCI runtime specification, 1.0).
/// Pure: what has to be looked up on the machine is in the input.

#include <sys/types.h>

#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "oci/config.hpp"
#include "oci/user.hpp"
#include "os/process/id_map.hpp"
#include "pod/config.hpp"

namespace underway::pod {

/// A device file of the host that the container gets.
struct DeviceNode {
  std::string target;
  std::string source;  ///< of the host
  char type = 'c';     ///< or 'b'
  unsigned major = 0, minor = 0;
  mode_t mode = 0666;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string access = "rwm";
};

struct BundleInput {
  Config config;
  oci::ImageConfig image;
  oci::ImageUser user;
  std::map<std::string, std::string> env;  ///< the task's
  std::string task, alloc_id;
  std::string rootfs;               ///< where the overlay is mounted
  std::string task_dir, alloc_dir;  ///< as TaskSpec
  std::string etc;                  ///< directory with our hosts, hostname and resolv.conf
  std::string init;                 ///< of the host; used with config.init
  std::string cgroup;               ///< the task's, from the top: "/underway/7f3a…/web"
  std::vector<std::pair<std::string, std::string>>
      cgroups;  ///< the task's group in each hierarchy, and its mount point
  std::vector<DeviceNode> devices;
  boost::json::object seccomp;  ///< empty: unconfined
  /// Of a user namespace of its own. Empty: it has that of the host.
  os::IdMap uids, gids;
  /// Mounted for it where it may not do so itself: where it has a user namespace, but process numbers or network of
  /// others. Empty: it mounts its own.
  std::string proc, sys;
};

boost::json::object make_bundle(const BundleInput& input);

/// Entry point, command and arguments: what is run. Empty when neither image nor config names a program.
std::vector<std::string> argv_of(const Config& config, const oci::ImageConfig& image);
std::string hostname_of(const Config& config, const std::string& task, const std::string& alloc_id);
/// Rules of the devices cgroup, as its files devices.deny and devices.allow take them, in order.
struct DeviceRule {
  bool allow = false;
  std::string rule;  ///< "c 1:3 rwm"
};
std::vector<DeviceRule> device_rules(const Config& config, const std::vector<DeviceNode>& devices);
std::string hosts_file(const Config& config, const std::string& hostname, const std::string& of_host);
std::string resolv_conf(const Config& config, const std::string& of_host);

}  // namespace underway::pod
