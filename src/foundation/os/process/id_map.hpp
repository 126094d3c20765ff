#pragma once
/// @file
/// Numbers of users and groups on both sides of a user namespace (user_namespaces(7)). Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::os {

/// `count` numbers, from `inside` on in the namespace and from `outside` on in its parent.
struct IdRange {
  std::uint32_t inside = 0, outside = 0, count = 0;
  bool operator==(const IdRange&) const = default;
};
using IdMap = std::vector<IdRange>;

/// Lines of /proc/<pid>/uid_map and gid_map. Throws invalid.
IdMap parse_id_map(std::string_view text);
/// What those files take.
std::string to_text(const IdMap& map);
/// What the parent calls it; nothing when the namespace has no such number.
std::optional<std::uint32_t> find_outside(const IdMap& map, std::uint32_t inside);
/// Whether every number is the same on both sides.
bool is_identity(const IdMap& map);

}  // namespace underway::os
