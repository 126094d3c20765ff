#pragma once
/// @file
/// Mounts in this process's mount namespace. A mount outlives the process: record it in the ledger first.
/// Mounts that a child makes for itself before it runs a program are steps of a LaunchPlan instead: see new_root.hpp.

#include <string>
#include <string_view>
#include <vector>

namespace underway::os {

/// Flags of mount(2) for what is read and written, and no more: none of its set-id bits, device files and programs
/// counts.
extern const unsigned long kDataOnly;

class Mount {
 public:
  /// mount(2) as it is; `data` are the file system's options. The target must exist.
  static Mount make(const std::string& source, const std::string& target, const std::string& type, unsigned long flags,
                    const std::string& data = {});
  /// `flags` beyond MS_BIND, e.g. MS_REC; MS_RDONLY is honoured (the remount that a bind needs is done).
  static Mount bind(const std::string& source, const std::string& target, unsigned long flags = 0);
  /// `options` as in tmpfs(5): "size=64m,mode=755".
  static Mount tmpfs(const std::string& target, const std::string& options = {}, unsigned long flags = 0);
  static Mount proc(const std::string& target);
  /// `lower` from top to bottom. `upper` and `work` on one file system that is not below a `lower`; both empty:
  /// read-only.
  static Mount overlay(const std::vector<std::string>& lower, const std::string& upper, const std::string& work,
                       const std::string& target, const std::string& options = {});

  Mount(Mount&& other) noexcept;
  Mount& operator=(Mount other) noexcept;
  /// Detaches lazily and silently; call unmount() where failure matters.
  ~Mount();

  const std::string& target() const { return target_; }
  /// umount2(2); throws conflict while something uses it.
  void unmount();
  /// Leaves it mounted and forgets it; hands back the target.
  std::string release() noexcept;

 private:
  explicit Mount(std::string target) : target_(std::move(target)) {}
  std::string target_;
};

/// Detaches everything mounted at `target`, layer by layer; nothing happens when it is no mount point.
void unmount_all(const std::string& target);

struct MountPoint {
  std::string target;
  std::string type;
  std::string source;
  /// What part of the file system is mounted (a bind of a directory shows it).
  std::string root;
  /// Options of the file system, e.g. "rw,cpu".
  std::string super_options;
};
/// Parses /proc/<pid>/mountinfo (proc(5)), in its order; lines that do not parse are left out.
std::vector<MountPoint> parse_mountinfo(std::string_view text);
/// The mounts this process sees.
std::vector<MountPoint> list_mounts();
bool is_mount_point(const std::string& path);

}  // namespace underway::os
