#pragma once
/// @file
/// What is taken away lies here for a while, for whoever did not mean it. One directory of mode 0700 on the file system
/// of what goes into it: nothing is copied, and what was sealed stays sealed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace underway::os {

struct Discarded {
  std::string name;  ///< of its entry: "20261123T154200Z-host-demo-infra1"
  std::string what;  ///< "host-demo-infra1"
  TimePoint at{};    ///< when it was taken away
};

class Trash {
 public:
  /// How long things are kept, and what of the file system is left free of them: so many percent, and never more than
  /// so many bytes, as of a large disk a tenth is more than anybody waits for.
  struct Limits {
    Duration keep = std::chrono::hours(7 * 24);
    unsigned free_percent = 10;
    std::uint64_t free_bytes = std::uint64_t{10} << 30;
    std::size_t of_the_same = 3;
  };

  /// `directory` is made with the first thing that is put into it.
  explicit Trash(std::string directory) : Trash(std::move(directory), Limits()) {}
  Trash(std::string directory, Limits limits) : directory_(std::move(directory)), limits_(limits) {}

  /// Moves the file or directory here in one step; nothing happens when there is none. Of the same `what` the
  /// newest few are kept: a host that dies again and again fills no disk. Then collects, and that may be what was just
  /// put here: a disk without room keeps nothing. Errors: conflict when a mount is in the way.
  void put(const std::string& path, std::string_view what, TimePoint now) const;
  /// Newest first.
  std::vector<Discarded> list() const;
  /// The directory of what has this name. Throws not_found.
  std::string find(std::string_view name) const;
  void remove(const std::string& name) const;
  /// Removes what is older than it is kept and, from the oldest on, whatever the disk needs the room of.
  void collect(TimePoint now) const;

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  Limits limits_;
};

}  // namespace underway::os
