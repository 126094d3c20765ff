#pragma once
/// @file
/// SIGINT and SIGTERM while an agent starts. They end it at once, as everybody's default is, unless there is something
/// to tidy up: then they wait until the loop hears of them, and end the start where it waits.

#include <boost/asio/signal_set.hpp>

#include "async/loop.hpp"

namespace underway::agent {

/// Both wait while they are held, on this thread and on those that it makes meanwhile.
class BlockedSignals {
 public:
  BlockedSignals() { hold(); }
  ~BlockedSignals() { release(); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  void hold();
  void release();
};

/// While it lives, `signals` has both; then they are held again.
class UnblockedSignals {
 public:
  UnblockedSignals(asio::signal_set& signals, BlockedSignals& held);
  ~UnblockedSignals();
  UnblockedSignals(const UnblockedSignals&) = delete;
  UnblockedSignals& operator=(const UnblockedSignals&) = delete;

 private:
  asio::signal_set& signals_;
  BlockedSignals& held_;
};

struct Started {
  bool done = true;   ///< false: a signal ended it before
  bool told = false;  ///< a signal came, perhaps too late to end it
};
/// Throws what `start` does.
async::awaitable<Started> start_until(asio::signal_set& signals, async::awaitable<void> start);

}  // namespace underway::agent
