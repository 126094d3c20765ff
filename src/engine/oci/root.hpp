#pragma once
/// @file
/// The tree that becomes an image, and work in it that never leaves it: links in it are followed as its own processes
/// would follow them, with it as "/" (openat2(2), RESOLVE_IN_ROOT).

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.hpp"
#include "os/file.hpp"

namespace underway::oci {

/// "a/b" of "a/b/c", "" of "c".
std::string_view directory_of(std::string_view path);

class Root {
 public:
  explicit Root(std::string path);

  const std::string& path() const { return path_; }

  /// Where the entry `path` lies, for programs and calls that take a path: its directory is resolved and held, and its
  /// last part is not followed.
  class Place {
   public:
    Place(os::Fd directory, std::string leaf)
        : Place(std::make_shared<const os::Fd>(std::move(directory)), std::move(leaf)) {}
    Place(std::shared_ptr<const os::Fd> directory, std::string leaf)
        : directory_(std::move(directory)), leaf_(std::move(leaf)) {}
    int directory() const { return directory_->get(); }
    /// For the places of other entries there.
    const std::shared_ptr<const os::Fd>& shared_directory() const { return directory_; }
    /// "/proc/self/fd/7"
    std::string directory_path() const;
    const std::string& leaf() const { return leaf_; }
    /// "/proc/self/fd/7/leaf"
    std::string path() const;

   private:
    std::shared_ptr<const os::Fd> directory_;
    std::string leaf_;
  };
  /// Missing directories are made, with mode 0755. Throws Error(denied) when something on the way is no directory.
  Place place(std::string_view path) const;
  /// Nothing when the directory of `path` does not exist.
  std::optional<Place> find_place(std::string_view path) const;

  /// Follows links. Nothing when there is no such file. Throws too_large beyond `limit` bytes.
  std::optional<std::string> read(std::string_view path, std::size_t limit = 256U << 20) const;
  /// Follows links. Throws not_found.
  os::Fd open(std::string_view path) const;
  /// Replaces what is there, of whatever kind it is.
  void write(std::string_view path, std::string_view bytes, mode_t mode = 0644, os::Owner owner = {}) const;
  void link(std::string_view path, const std::string& target) const;
  /// Makes it, or gives one that is there this mode and owner.
  void make_directory(std::string_view path, mode_t mode, os::Owner owner) const;
  /// With all below it; nothing happens when it is not there.
  void remove(std::string_view path) const;
  /// Whether there is an entry; links are not followed.
  bool has(std::string_view path) const;
  /// Names in a directory, sorted; none when there is no such directory.
  std::vector<os::DirectoryEntry> list(std::string_view path) const;
  /// Paths that fit `pattern`, in which `*` stands for any part of one name.
  std::vector<std::string> glob(std::string_view pattern) const;

  /// By name in etc/passwd and etc/group of the tree, or by number. Without a group: the user's.
  os::Owner owner(const std::string& user, const std::string& group) const;

 private:
  /// O_PATH; nothing when it does not exist.
  os::Fd find_directory(std::string_view path) const;
  os::Fd make_directories(std::string_view path) const;

  std::string path_;
  os::Fd root_;
  bool owned_;  ///< whether owners can be given
};

}  // namespace underway::oci
