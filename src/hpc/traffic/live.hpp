#pragma once
/// @file
/// A survey of what passes now: from an interface's ring, through a surveyor, into a journal.

#include "base/clock.hpp"
#include "net/capture.hpp"
#include "traffic/flow/surveyor.hpp"

#include <functional>
#include <string>

namespace underway::traffic {

struct LiveOptions {
  net::CaptureOptions capture;
  std::string source;   ///< how the journal calls it: "mgmt/prov0"
  std::string journal;  ///< path; made or continued
  /// Of the machine; empty: what the namespace answers to.
  std::vector<std::string> surveyed;
  Duration length{0};                            ///< 0: until it is stopped
  Duration interval = std::chrono::seconds(60);  ///< what a crash may lose
  int stop_fd = -1;                              ///< readable: end cleanly
  Surveyor::Limits limits;
  const Clock* clock = nullptr;  ///< outlives the call, and is there: dates what the journal holds
};

struct LiveProgress {
  Duration running{0};
  std::uint64_t packets = 0;  ///< read
  std::uint64_t bytes = 0;    ///< on the wire
  std::uint64_t lost = 0;     ///< the ring had no room
  std::size_t doors = 0;
  std::size_t conversations = 0;
  std::uint64_t journal_bytes = 0;
};

/// Captures in `in` until its length has passed, `stop_fd` is readable or the interface is gone (then it throws
/// unavailable, after the journal was written). Calls `progress` about once a second. Blocks: yes.
LiveProgress capture_live(const net::Namespace& in, const LiveOptions& options,
                          const std::function<void(const LiveProgress&)>& progress);

}  // namespace underway::traffic
