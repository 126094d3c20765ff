#pragma once
/// @file
/// Walking a directory tree that others may change meanwhile, without leaving it: nothing is followed, and every
/// directory is opened below the root (openat2, RESOLVE_BENEATH).

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "os/fd.hpp"

namespace underway::overlay {

class Tree {
 public:
  explicit Tree(const std::string& root);

  struct Item {
    std::string path;  ///< below the root, without a leading slash; empty: the root
    struct stat stat = {};
    /// For calls that take no descriptor and must not follow the last component (lgetxattr): good while visiting.
    std::string reach;
  };
  /// In order of names, a directory before what it holds; `visit` says whether to go into a directory. What vanishes
  /// meanwhile is left out. The root is not visited.
  void walk(const std::function<bool(const Item&)>& visit) const;

  /// An item; nothing when there is none, or a component on the way is a link.
  std::optional<struct stat> find(const std::string& path) const;
  /// open(2) below the root, no link followed. Nothing when it is not there.
  std::optional<os::Fd> open(const std::string& path, int flags) const;
  const os::Fd& root() const { return root_; }

 private:
  os::Fd root_;
  std::string name_;
};

/// An extended attribute; nothing when there is none.
std::optional<std::string> find_attribute(const std::string& reach, const std::string& name);

bool is_whiteout(const struct stat& stat);

}  // namespace underway::overlay
