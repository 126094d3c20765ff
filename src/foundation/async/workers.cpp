#include "async/workers.hpp"

#include <malloc.h>

#include <algorithm>

#include <fmt/format.h>

namespace underway::async {
namespace {

/// Below it nothing is worth the time that giving back takes.
constexpr Duration kMuchWork = std::chrono::milliseconds(30);

}  // namespace

Workers::Turn::Turn(Workers& workers, std::string client) : workers_(workers), client_(std::move(client)) {
  auto& own = workers_.clients_[client_];
  if (own.waiting.size() >= workers_.limits_.waiting_of_one || workers_.waiting_ >= workers_.limits_.waiting) {
    throw Error(Code::unavailable, "too much waits to be computed")
        .because(fmt::format("{} requests of this caller wait, {} of all", own.waiting.size(), workers_.waiting_))
        .advise("try again in a moment");
  }
  if (own.waiting.empty() && !own.working) workers_.turns_.push_back(client_);
  own.waiting.push_back(this);
  ++workers_.waiting_;
  workers_.grant();
}

Workers::Turn::~Turn() {
  const auto found = workers_.clients_.find(client_);
  auto& own = found->second;
  if (granted_) {
    own.working = false;
    --workers_.working_;
    if (!own.waiting.empty()) workers_.turns_.push_back(client_);
  } else {
    std::erase(own.waiting, this);
    --workers_.waiting_;
    if (own.waiting.empty()) workers_.turns_.remove(client_);
  }
  if (own.waiting.empty() && !own.working) workers_.clients_.erase(found);
  workers_.grant();
}

awaitable<void> Workers::Turn::wait() {
  while (!granted_) co_await granted_event_.wait();
}

void Workers::grant() {
  while (working_ < limits_.threads && !turns_.empty()) {
    auto& next = clients_.at(turns_.front());
    turns_.pop_front();
    Turn* const turn = next.waiting.front();
    next.waiting.pop_front();
    --waiting_;
    next.working = true;
    ++working_;
    turn->granted_ = true;
    turn->granted_event_.notify_all();
  }
}

void Workers::tidy(const Allowance& spent) {
  if (spent.spent() >= kMuchWork) ::malloc_trim(0);
}

}  // namespace underway::async
