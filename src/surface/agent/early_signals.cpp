#include "agent/early_signals.hpp"

#include <csignal>

#include "async/group.hpp"

namespace underway::agent {
namespace {

sigset_t both() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  return set;
}

void change(int how) {
  const sigset_t set = both();
  ::pthread_sigmask(how, &set, nullptr);
}

struct Stop {
  asio::cancellation_signal start;
  bool told = false;
};

async::awaitable<void> stop_at_signal(asio::signal_set& signals, std::shared_ptr<Stop> stop) {
  co_await signals.async_wait(asio::use_awaitable);
  stop->told = true;
  stop->start.emit(asio::cancellation_type::terminal);
}

}  // namespace

void BlockedSignals::hold() { change(SIG_BLOCK); }
void BlockedSignals::release() { change(SIG_UNBLOCK); }

UnblockedSignals::UnblockedSignals(asio::signal_set& signals, BlockedSignals& held) : signals_(signals), held_(held) {
  signals_.add(SIGINT);
  signals_.add(SIGTERM);
  held_.release();
}

UnblockedSignals::~UnblockedSignals() {
  held_.hold();
  signals_.clear();
}

async::awaitable<Started> start_until(asio::signal_set& signals, async::awaitable<void> start) {
  const async::Executor executor = co_await asio::this_coro::executor;
  const auto stop = std::make_shared<Stop>();
  async::TaskGroup listening(executor, "agent");
  listening.spawn("signals", stop_at_signal(signals, stop));
  auto until_then = asio::bind_cancellation_slot(stop->start.slot(), asio::use_awaitable);
  Started started;
  try {
    co_await asio::co_spawn(executor, std::move(start), until_then);
  } catch (const async::Cancelled& cancelled) {
    if (!stop->told || cancelled.code() != asio::error::operation_aborted) throw;
    started.done = false;
  }
  co_await listening.stop();
  started.told = stop->told;
  co_return started;
}

}  // namespace underway::agent
