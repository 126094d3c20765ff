#pragma once
/// @file
/// Users and groups of this machine, through the name service switch (LDAP and SSSD included).

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::os {

struct User {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
  std::string shell;
  /// Supplementary groups, the primary one included.
  std::vector<gid_t> groups;
};

/// By name, or by number when no user has that name ("1000"). Nothing when there is none.
/// Blocks: yes (the name service may ask the network).
std::optional<User> find_user(const std::string& name);
/// As find_user; throws not_found.
User get_user(const std::string& name);
/// The user this process runs as; its numbers alone when it has no entry.
User current_user();
std::optional<gid_t> find_group(const std::string& name);
/// The number of a user or a group; 2^32-1, which is "unchanged" to chown(2), is none.
std::optional<id_t> parse_id(std::string_view text);

}  // namespace underway::os
