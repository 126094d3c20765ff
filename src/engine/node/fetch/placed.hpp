#pragma once
/// @file
/// What a fetch has put in place, taken away again when the rest of it fails: half an archive is nothing that a task
/// could use, and it would fill the disk of who tries again.

#include <cstdint>
#include <set>
#include <string>

#include "node/streams/file_access.hpp"

namespace underway::node::fetch {

/// What the file `name` in `directory` takes, if there is one.
std::int64_t disk_bytes_of(int directory, const std::string& name);

class Placed {
 public:
  /// `below`: a path below the root that was there before, and stays.
  explicit Placed(const Beneath& root, const std::string& below = {})
      : root_(root), below_(normalise(below).value_or("")) {}
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  /// Unless it is to be kept: removes what was added, and the directories above it that are empty then.
  ~Placed();

  /// `path` below the root will be there from now on.
  void add(const std::string& path);
  void keep() { kept_ = true; }

 private:
  void take_back(const std::string& path) const;

  const Beneath& root_;
  std::string below_;
  std::set<std::string> paths_;  ///< with their parents, which come before them
  bool kept_ = false;
};

}  // namespace underway::node::fetch
