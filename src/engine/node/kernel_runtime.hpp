#pragma once
/// @file
/// The real outside: the system's clock and timers, the pool, and child processes.

#include <random>

#include "node/runtime.hpp"

namespace underway::node {

class KernelRuntime final : public Runtime {
 public:
  /// All outlive it.
  KernelRuntime(async::Loop& loop, async::Pool& pool, const Clock& clock) : loop_(loop), pool_(pool), clock_(clock) {}

  async::Executor executor() override { return loop_.executor(); }
  TimePoint now() const override { return clock_.now(); }
  double jitter() override { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }
  std::shared_ptr<void> after(Duration span, std::function<void()> callback) override;
  void on_pool(std::function<void()> job, std::function<void(std::exception_ptr)> done) override;
  awaitable<ProbeAnswer> probe(ProbeRequest request) override;
  std::shared_ptr<Program> start_program(std::vector<std::string> argv, std::string input, Duration within) override;

 private:
  async::Loop& loop_;
  async::Pool& pool_;
  const Clock& clock_;
  std::minstd_rand random_{std::random_device{}()};
};

/// Waits until `fd` is readable. `fd` stays the caller's and must stay open.
awaitable<void> readable(int fd);
/// Reads what is there, up to 64 KiB; empty at the end (a terminal's hang-up, EIO, is one).
awaitable<std::string> read_some(int fd);
/// Writes everything to a non-blocking descriptor.
awaitable<void> write_fully(int fd, std::string bytes);

}  // namespace underway::node
