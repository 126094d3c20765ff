#pragma once
/// @file
/// The files of a machine whose root is some directory: "/", "/proc/4711/root", a backup. Every path is resolved inside
/// of it, absolute symbolic links too (openat2(2), RESOLVE_IN_ROOT), so a link in somebody's root never leads into
/// ours.

#include <optional>
#include <string>
#include <vector>

#include "os/fd.hpp"
#include "os/file.hpp"

namespace underway::inspection::detail {

class RootView {
 public:
  /// Errors: not_found, denied.
  explicit RootView(std::string path);

  const std::string& path() const { return path_; }
  /// The text of a plain file; nothing when there is none. Errors: denied, too_large.
  std::optional<std::string> find_text(const std::string& file, std::size_t limit) const;
  /// As find_text; what goes wrong is noted in `gaps`, and there is no text.
  std::optional<std::string> find_text(const std::string& file, std::size_t limit,
                                       std::vector<std::string>& gaps) const;
  /// Sorted; empty when there is no such directory. What goes wrong is noted in `gaps`.
  std::vector<os::DirectoryEntry> entries(const std::string& directory, std::vector<std::string>& gaps) const;
  /// The path behind all symbolic links: Debian's /usr/sbin/slurmctld is /usr/sbin/slurmctld-wlm. As given when there
  /// is no such file.
  std::string real_path(const std::string& file) const;
  bool exists(const std::string& file) const;
  bool is_directory(const std::string& file) const;

 private:
  std::optional<os::Fd> open(const std::string& file, unsigned flags) const;

  std::string path_;
  os::Fd fd_;
};

}  // namespace underway::inspection::detail
