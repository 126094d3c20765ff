#pragma once
/// @file
/// Putting differences into a tree, each reached from the root without following a link. Whatever stands in the way of
/// a path is replaced, so that the same differences may be put in again after a crash.

#include <sys/stat.h>

#include <optional>
#include <set>

#include "os/fd.hpp"
#include "overlay/transfer/detail/entry.hpp"

namespace underway::overlay {

class Applier {
 public:
  /// `trash`: a directory of the same file system, beside the tree.
  Applier(const std::string& tree, std::string trash);

  void put(const Entry& entry, bool fresh);
  /// Into the file that was put last.
  void write(std::uint64_t offset, std::string_view bytes);
  void zero(std::uint64_t offset, std::uint64_t length);
  void remove(const std::string& path);
  /// The times of directories, and all of it on the disk.
  void finish(const Index& index);

 private:
  struct Place {
    const os::Fd* parent;
    std::string name;
  };
  os::Fd open_beneath(const std::string& path, int flags) const;
  const os::Fd& parent_directory(const std::string& path);
  void make_parents(const std::string& path);
  Place place(const std::string& path);
  std::optional<struct stat> look(const Place& place) const;
  void clear(const Place& place);
  void close_file();
  void put_directory(const Entry& entry);
  void put_file(const Entry& entry, bool fresh);
  void put_hard_link(const Entry& entry);
  static std::string reach_of(const Place& place);
  /// `fd`: of a file that is open.
  void dress(const std::string& reach, const Entry& entry, int fd = -1) const;

  std::string name_;
  std::string trash_;
  os::Fd root_;
  os::Fd trash_fd_;
  std::uint64_t discarded_ = 0;
  std::string parent_path_;
  os::Fd parent_;
  std::set<std::string> touched_;  ///< directories whose times it may have changed
  std::optional<Entry> open_;      ///< without blocks
  os::Fd file_;
  std::string open_reach_;
};

}  // namespace underway::overlay
