#pragma once
/// @file
/// Writes numbered lines to two files in turn, each on the disk before the next: what a crash, or a snapshot, may leave
/// of it is a prefix without a gap.

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.hpp"

namespace underway::overlay {

class Writer {
 public:
  explicit Writer(const std::string& upper);
  Writer(const Writer&) = delete;
  ~Writer();
  /// For an overlay that is frozen by stopping its writers.
  void hold(bool stop);
  /// Lines that are on the disk for certain.
  std::uint64_t written() const { return written_; }
  /// Waits until it has written some more.
  void more(std::uint64_t lines) const;
  /// The longest that a line took.
  Duration longest() const { return Duration{longest_}; }
  void stop();

 private:
  void run();
  std::string upper_;
  std::mutex held_;
  std::atomic<bool> wanted_ = false;
  std::atomic<std::uint64_t> written_ = 0;
  std::atomic<std::int64_t> longest_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

/// How many lines both files hold; -1: there is a gap.
std::int64_t lines_in(const std::string& upper);

}  // namespace underway::overlay
