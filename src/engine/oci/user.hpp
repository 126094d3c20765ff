#pragma once
/// @file
/// Users of an image: names mean what etc/passwd and etc/group of its own root say, never this machine's.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace underway::oci {

struct ImageUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  ///< supplementary, without `gid`; none when a group was asked for by name or number
  std::string name;           ///< empty when the image has no entry for the number
  std::string home = "/";
};

/// `text` is what an image or a task says: "", "name", "uid", "name:group", "uid:gid"; empty is root. `rootfs` is the
/// root of the container; files are read beneath it, whatever links they are (openat2(2), RESOLVE_IN_ROOT).
/// Errors: not_found for a name that the image does not have; invalid. Blocks: yes (disk).
/// Source: Docker's reading of USER (moby, opencontainers/runc libcontainer/user).
ImageUser resolve_user(const std::string& rootfs, std::string_view text);

}  // namespace underway::oci
