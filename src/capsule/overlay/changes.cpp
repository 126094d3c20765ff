#include "overlay/changes.hpp"

#include <memory>

#include "overlay/detail/tree.hpp"

namespace underway::overlay {
namespace {

std::string_view type_name(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "file";
    case S_IFDIR:
      return "directory";
    case S_IFLNK:
      return "link";
    case S_IFIFO:
      return "fifo";
    case S_IFSOCK:
      return "socket";
    default:
      return "device";
  }
}

std::optional<std::string> mark(const Tree::Item& item, const std::string& name) {
  return find_attribute(item.reach, "trusted.overlay." + name);
}

/// What happened to `item`, which is no whiteout; nothing for a directory that is there for others' sake.
std::optional<ChangeKind> judge_marks(const Tree::Item& item, bool opaque, bool renamed) {
  if (renamed) return ChangeKind::modified;
  const bool copied_up = mark(item, "origin").has_value();
  if (S_ISDIR(item.stat.st_mode)) return opaque || !copied_up ? std::optional(ChangeKind::added) : std::nullopt;
  return copied_up ? ChangeKind::modified : ChangeKind::added;
}

std::optional<ChangeKind> judge_image(const Tree::Item& item, bool opaque, bool renamed,
                                      const std::optional<Below>& before) {
  if (renamed) return ChangeKind::modified;
  if (!before) return ChangeKind::added;
  if (!S_ISDIR(item.stat.st_mode)) return ChangeKind::modified;
  if (!S_ISDIR(before->mode)) return ChangeKind::modified;
  if (opaque) return ChangeKind::replaced;
  const bool same =
      before->mode == item.stat.st_mode && before->uid == item.stat.st_uid && before->gid == item.stat.st_gid;
  return same ? std::nullopt : std::optional(ChangeKind::modified);
}

Change describe_item(const Tree::Item& item, ChangeKind kind) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  const auto& stat = item.stat;
  Change change{.path = "/" + item.path, .kind = kind};
  if (kind == ChangeKind::deleted) return change;
  change.type = type_name(stat.st_mode);
  change.size_bytes = S_ISREG(stat.st_mode) ? static_cast<std::uint64_t>(stat.st_size) : 0;
  change.mode = stat.st_mode & 07777U;
  change.uid = stat.st_uid;
  change.gid = stat.st_gid;
  change.modified_ns = stat.st_mtim.tv_sec * kBillion + stat.st_mtim.tv_nsec;
  return change;
}

/// A redirect is absolute, or a name in the same directory.
std::string resolve_redirect(const std::string& redirect, const std::string& path) {
  if (redirect.empty() || redirect.front() == '/') return redirect;
  const auto slash = path.rfind('/');
  return "/" + (slash == std::string::npos ? redirect : path.substr(0, slash + 1) + redirect);
}

}  // namespace

const describe::Enumeration& description(describe::Tag<ChangeKind>) {
  static const auto kEnumeration = describe::enumeration<ChangeKind>("ChangeKind");
  return kEnumeration;
}

FindBelow below_directory(const std::string& root) {
  return [tree = std::make_shared<Tree>(root)](const std::string& path) -> std::optional<Below> {
    const auto found = tree->find(path);
    if (!found) return std::nullopt;
    return Below{.mode = found->st_mode, .uid = found->st_uid, .gid = found->st_gid};
  };
}

std::vector<Change> changes(const std::string& upper, const FindBelow& below) {
  std::vector<Change> list;
  Tree(upper).walk([&](const Tree::Item& item) {
    if (is_whiteout(item.stat)) {
      list.push_back(describe_item(item, ChangeKind::deleted));
      return false;
    }
    const bool directory = S_ISDIR(item.stat.st_mode);
    const bool opaque = directory && mark(item, "opaque") == "y";
    const auto redirect = directory ? mark(item, "redirect") : std::nullopt;
    const auto kind = below ? judge_image(item, opaque, redirect.has_value(), below(item.path))
                            : judge_marks(item, opaque, redirect.has_value());
    if (!kind) return true;
    list.push_back(describe_item(item, *kind));
    if (redirect) list.back().from = resolve_redirect(*redirect, item.path);
    return true;
  });
  return list;
}

}  // namespace underway::overlay
