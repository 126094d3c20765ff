#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "overlay/overlay.hpp"

namespace underway::overlay {

const describe::Enumeration& description(describe::Tag<Kind>) {
  static const auto kEnumeration = describe::enumeration<Kind>("Kind");
  return kEnumeration;
}

std::uint64_t smallest(Kind kind) {
  constexpr std::uint64_t kMiB = 1U << 20;
  switch (kind) {
    case Kind::directory:
      return 0;
    case Kind::ext4:
      return 16 * kMiB;  // a journal of 4 MiB, and room beside it
    case Kind::xfs:
      return 300 * kMiB;  // mkfs.xfs 6.1 refuses less
    case Kind::btrfs:
    case Kind::raid1:
      return 256 * kMiB;  // mkfs.btrfs 6.2 takes 110 and 128 MiB, with no room for chunks of data beside the metadata
  }
  return 0;
}

std::vector<std::string> problems(const Spec& spec) {
  std::vector<std::string> list;
  const auto kind = describe::spell(spec.kind);
  if (spec.size_bytes < smallest(spec.kind))
    list.push_back(fmt::format("an overlay of kind {} needs at least {}, not {}", kind,
                               human_bytes(smallest(spec.kind)), human_bytes(spec.size_bytes)));
  if (spec.size_bytes > std::uint64_t{1} << 50) list.push_back("an overlay larger than 1 PiB is a mistake");
  if (spec.kind == Kind::directory && !spec.paths.empty())
    list.push_back("an overlay of kind directory lies with the capsule: it takes no paths");
  if (spec.kind == Kind::raid1 && spec.paths.size() != 2)
    list.push_back(fmt::format("raid1 takes two paths, on two file systems, not {}", spec.paths.size()));
  if (spec.kind != Kind::raid1 && spec.paths.size() > 1)
    list.push_back(fmt::format("an overlay of kind {} takes one path, not {}", kind, spec.paths.size()));
  for (const auto& path : spec.paths) {
    const auto parts = split(path, '/');
    const auto odd = [](const std::string& part) { return part == ".." || part == "."; };
    if (!path.starts_with('/') || std::any_of(parts.begin(), parts.end(), odd))
      list.push_back(fmt::format("'{}' is no absolute path", path));
  }
  return list;
}

}  // namespace underway::overlay
