#include "traffic/live.hpp"

#include <poll.h>

#include <algorithm>

#include "base/error.hpp"
#include "traffic/journal.hpp"

namespace underway::traffic {
namespace {

constexpr std::size_t kLiveBatch = 256;

Surveyed surveyed_of(const net::Namespace& in, const LiveOptions& options) {
  if (!options.surveyed.empty()) return parse_surveyed(options.surveyed);
  const auto own = net::own_addresses(in);
  std::vector<std::string> texts = own.macs;
  for (const auto& address : own.addresses) texts.push_back(net::to_string(address));
  return parse_surveyed(texts);
}

class Live {
 public:
  Live(const net::Namespace& in, const LiveOptions& options)
      : options_(options),
        capture_(net::Capture::open(in, options.capture)),
        surveyor_(surveyed_of(in, options), options.limits),
        journal_(options.journal, options.source, surveyor_.surveyed()),
        began_(std::chrono::steady_clock::now()) {
    begin_interval();
  }

  LiveProgress run(const std::function<void(const LiveProgress&)>& progress) {
    auto next_write = began_ + options_.interval;
    auto next_progress = began_;
    for (;;) {
      const auto now = std::chrono::steady_clock::now();
      const bool over = options_.length > Duration{0} && now - began_ >= options_.length;
      if (now >= next_progress) {
        progress(state());
        next_progress = now + std::chrono::seconds(1);
      }
      if (now >= next_write) {
        write();
        next_write = now + options_.interval;
      }
      if (over || stopped()) break;
      auto until = std::min(next_progress, next_write);
      if (options_.length > Duration{0}) until = std::min(until, began_ + options_.length);
      take_until(until);
    }
    drain();
    surveyor_.end();
    write();
    return state();
  }

  /// The interface is gone: what was seen is kept.
  void save() {
    surveyor_.end();
    write();
  }

 private:
  bool stopped() const {
    pollfd poll{options_.stop_fd, POLLIN, 0};
    return options_.stop_fd >= 0 && ::poll(&poll, 1, 0) > 0;
  }

  void take_until(std::chrono::steady_clock::time_point until) {
    for (;;) {
      // A storm of packets must not keep the clock from being looked at.
      for (int batches = 0; batches < 64; ++batches) {
        if (!take()) break;
      }
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= Duration{0}) return;
      std::array<pollfd, 2> poll{{{capture_.fd(), POLLIN, 0}, {options_.stop_fd, POLLIN, 0}}};
      const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      if (::poll(poll.data(), poll.size(), static_cast<int>(milliseconds)) < 0 && errno != EINTR)
        throw errno_error(errno, "cannot wait for packets");
      if ((poll[1].revents & POLLIN) != 0) return;
    }
  }

  bool take() {
    const std::size_t count = capture_.next(batch_);
    surveyor_.add(std::span(batch_).first(count));
    for (std::size_t i = 0; i < count; ++i) bytes_ += batch_[i].length;
    packets_ += count;
    return count > 0;
  }

  /// What is in the ring already.
  void drain() {
    for (int batches = 0; batches < 65'536 && take();) ++batches;
  }

  std::int64_t wall_clock() const { return unix_nanos(options_.clock->now()); }

  void begin_interval() {
    auto& seen = surveyor_.tally().seen();
    if (seen.first == 0) seen.first = wall_clock();
  }

  void write() {
    const std::int64_t now = wall_clock();
    surveyor_.fold(now);
    auto& seen = surveyor_.tally().seen();
    const std::uint64_t lost = capture_.counts().lost;
    seen.lost += lost - lost_;
    lost_ = lost;
    seen.last = std::max(seen.last, now);
    journal_.set_surveyed(surveyor_.surveyed());
    journal_.append(surveyor_.tally());
    begin_interval();
  }

  LiveProgress state() {
    return {.running = std::chrono::steady_clock::now() - began_,
            .packets = packets_,
            .bytes = bytes_,
            .lost = capture_.counts().lost,
            .doors = surveyor_.tally().service_count(),
            .conversations = surveyor_.flow_count(),
            .journal_bytes = journal_.size()};
  }

  const LiveOptions& options_;
  net::Capture capture_;
  Surveyor surveyor_;
  Journal journal_;
  std::chrono::steady_clock::time_point began_;
  std::uint64_t packets_ = 0, bytes_ = 0, lost_ = 0;
  std::array<net::Packet, kLiveBatch> batch_;
};

}  // namespace

LiveProgress capture_live(const net::Namespace& in, const LiveOptions& options,
                          const std::function<void(const LiveProgress&)>& progress) {
  Live live(in, options);
  try {
    return live.run(progress);
  } catch (const Error& e) {
    if (e.code() == Code::unavailable) live.save();
    throw;
  }
}

}  // namespace underway::traffic
