#pragma once
/// @file
/// Takes turns at costly work on a loop, so that whatever else is ready comes in between.

#include <list>

#include "async/event.hpp"

namespace underway::http::detail {

/// A handshake is half a millisecond of work (an ECDSA signature and the checking of another). When a thousand nodes
/// link again at once, requests and new connections would wait behind all of them; so only a few are computed before
/// the loop looks at everything else. The newest comes first: who has waited for long may have given up. Thread: one
/// loop. Must outlive its waiters.
class Turns {
 public:
  /// `at_once`: this many between two looks at the rest.
  Turns(async::Executor executor, std::size_t at_once) : executor_(std::move(executor)), at_once_(at_once) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Returns when it is the caller's turn, which lasts until it waits for something.
  async::awaitable<void> take();

 private:
  struct Waiter {
    async::Event event;
    bool granted = false;
  };
  void refill();
  void look_again();

  async::Executor executor_;
  std::size_t at_once_;
  std::size_t taken_ = 0;  ///< since the last look
  bool looking_ = false;   ///< refill is on its way
  std::list<Waiter*> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace underway::http::detail
