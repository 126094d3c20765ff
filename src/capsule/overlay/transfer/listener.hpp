#pragma once
/// @file
/// Hearing of what is replaced in an overlay, within moments and without looking: files that are closed after they were
/// written, or renamed, or removed, and directories. By inotify(7) on each directory of the upper layer, where what is
/// written through an overlayfs arrives as well.
///
/// Not heard of is what is written without being closed, as databases do, and a new name for a file that is there
/// (link). Nor, before Linux 6.5, that a file was closed: overlayfs wrote to its layers unheard until then
/// ("ovl: enable fsnotify events on underlying real files"). For all of it, look_at() of transfer.hpp.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "os/fd.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::overlay {

/// Thread: any.
class Listener {
 public:
  /// Blocks: looks at every path. Errors: exhausted when there are more than `directories`, or the kernel allows no
  /// more watches (each takes about a KiB of its memory).
  explicit Listener(std::string upper, std::size_t directories = 20'000);

  /// Can be read from when there is something to hear. Not to be read by anybody else.
  const os::Fd& events() const { return events_; }
  /// How often something was replaced since the beginning; more when it cannot be told. What happened before the call
  /// counts. Blocks when there are new directories; of a flood of them some are left for the next call, and count.
  /// Errors, after which it hears nothing for sure: as of the constructor; unavailable when the upper layer was taken
  /// away, by an unmount or because another one has its place.
  std::uint64_t hear();
  /// hear(), and what look_at() says, for less: directories are read again only when a name in them has come or gone.
  struct Found {
    std::uint64_t heard = 0;
    std::string look;
  };
  Found look();

 private:
  void begin();
  void listen();
  void add(const std::string& reach, std::string path);
  void add_below(const std::string& path);

  std::string upper_;
  std::size_t limit_;
  std::mutex mutex_;
  os::Fd events_;
  std::map<int, std::string> directories_;  ///< by watch
  std::uint64_t heard_ = 0;
  std::uint64_t names_ = 0;  ///< how often a name came or went
  bool deaf_ = false;        ///< the upper layer is not what it was
  /// All paths, in the order of a walk, as they were at that count of names.
  struct Listed {
    std::uint64_t names = 0;
    std::vector<std::string> paths;
  };
  std::optional<Listed> listed_;
};

}  // namespace underway::overlay
