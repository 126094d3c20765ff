#include "http/detail/turns.hpp"

namespace underway::http::detail {

async::awaitable<void> Turns::take() {
  look_again();
  if (taken_ < at_once_) {
    ++taken_;
    co_return;
  }
  Waiter waiter;
  const auto place = waiting_.insert(waiting_.end(), &waiter);
  // Whoever is cancelled leaves the queue; refill has taken out those that it granted.
  struct Leave {
    std::list<Waiter*>& list;
    std::list<Waiter*>::iterator place;
    const bool& granted;
    ~Leave() {
      if (!granted) list.erase(place);
    }
  } leave{waiting_, place, waiter.granted};
  while (!waiter.granted) co_await waiter.event.wait();
}

void Turns::refill() {
  looking_ = false;
  taken_ = 0;
  for (; taken_ < at_once_ && !waiting_.empty(); ++taken_) {
    Waiter* newest = waiting_.back();
    waiting_.pop_back();
    newest->granted = true;
    newest->event.notify_all();
  }
  if (taken_ > 0) look_again();
}

/// Behind all that is ready now.
void Turns::look_again() {
  if (std::exchange(looking_, true)) return;
  asio::post(executor_, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) refill();
  });
}

}  // namespace underway::http::detail
