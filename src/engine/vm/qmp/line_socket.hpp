#pragma once
/// @file
/// Lines over a unix socket, with a deadline for each wait and a bound on what the other side may say. Thread: one at a
/// time. No wait is longer than it is told, and no write raises SIGPIPE.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace underway::vm {

/// Until when something is waited for.
class Deadline {
 public:
  explicit Deadline(Duration within)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(within)) {}
  bool passed() const { return std::chrono::steady_clock::now() >= end_; }
  /// For poll(2), rounded up.
  int milliseconds() const;
  Duration left() const;

 private:
  std::chrono::steady_clock::time_point end_;
};

/// To who listens at an address below a directory, however long its path is (unix(7) allows 107 bytes); empty: nobody
/// does, and errno says why.
os::Fd connect_socket(const std::string& directory, const std::string& name);

/// Listens there, in place of whoever did before, for who runs in that directory. Errors: as of bind(2).
os::Fd listen_socket(const std::string& directory, const std::string& name);

class LineSocket {
 public:
  /// The answers to a schema's question are 200 KiB; nothing that is asked here comes near.
  static constexpr std::size_t kMaxLine = 4U << 20;

  /// As connect_socket, and waits until somebody listens. Errors: unavailable after `within`, naming `who`.
  static LineSocket connect(const std::string& directory, const std::string& name, const std::string& who,
                            Duration within);
  LineSocket(os::Fd socket, std::string who);

  int fd() const { return socket_.get(); }
  /// With a descriptor beside its bytes (SCM_RIGHTS) unless it is -1. Errors: unavailable (nobody reads), timeout.
  void send(std::string_view bytes, const Deadline& deadline, int descriptor = -1);
  /// Without its end; nothing when none came in time. Errors: unavailable (the other side has closed), too_large.
  std::optional<std::string> receive(const Deadline& deadline);

 private:
  os::Fd socket_;
  std::string who_;
  std::string buffer_;
  std::size_t searched_ = 0;
};

}  // namespace underway::vm
