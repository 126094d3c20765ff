#pragma once
/// @file
/// A small layer between image and overlay: the files that follow from the job file (/etc/hosts, /etc/resolv.conf,
/// /etc/hostname) and the directories on which something is mounted. The image stays as it was signed, and the overlay
/// holds what the capsule changed and nothing else. These are files of a layer and no bind mounts, so the capsule may
/// replace them by rename(2): over a file that is a mount point that fails (EBUSY).

#include <string>
#include <vector>

#include "run/config/config.hpp"
#include "run/root/image_root.hpp"

namespace underway::run {

struct LayerInput {
  std::string hostname;
  std::vector<NetworkConfig> networks;
  DnsConfig dns;
  /// The host's /etc/hosts, when it shall be part of the capsule's.
  std::string host_file;
};
std::string render_hosts(const LayerInput& input);
std::string render_resolv_conf(const DnsConfig& dns);

/// A directory or file in the capsule on which something is mounted; free of links.
struct MountPoint {
  std::string path;
  bool directory = true;
};

/// Writes the layer to `directory`. A parent that the image has keeps the image's owner and mode.
void write_layer(const std::string& directory, const LayerInput& input, const std::vector<MountPoint>& points,
                 const ImageRoot& image);

/// A directory below /run that the image's packages want (tmpfiles.d(5), types d and D).
struct RunDirectory {
  std::string path;
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0755;
};
/// By the image's own users, and those that the overlay's `upper` has beside them. Lines for other places, with
/// specifiers, or of unknown users are left out.
std::vector<RunDirectory> run_directories(const ImageRoot& image, const std::string& upper);

}  // namespace underway::run
