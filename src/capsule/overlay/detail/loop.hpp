#pragma once
/// @file
/// Loop devices (loop(4)). A device is attached with LO_FLAGS_AUTOCLEAR: the kernel detaches it when the last user is
/// gone, be that we or a mount, so that neither needs undoing. Device nodes that are missing (a host made of
/// namespaces has none) are made.

#include <optional>
#include <string>
#include <vector>

#include "os/fd.hpp"

namespace underway::overlay {

class Loop {
 public:
  /// Direct input and output where the file allows it: no second copy in the page cache.
  /// Errors: exhausted when no device is free, naming what the others hold.
  static Loop attach(const std::string& file);
  const std::string& device() const { return device_; }

 private:
  Loop(os::Fd fd, std::string device) : fd_(std::move(fd)), device_(std::move(device)) {}
  os::Fd fd_;
  std::string device_;
};

/// The device that holds this very file (by device and inode number); nothing when none does.
std::optional<std::string> find_loop(const std::string& file);
/// btrfs remembers the devices it has seen, and takes them into a mount that does not name them.
void forget_btrfs_device(const std::string& device);
/// Lets the device know that its file has grown.
void grow_loop(const std::string& device);

}  // namespace underway::overlay
