#pragma once
/// @file
/// File descriptors as owned values. Everything opened here is close-on-exec.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

namespace underway::os {

class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int raw) noexcept : raw_(raw) {}
  Fd(Fd&& other) noexcept : raw_(other.release()) {}
  Fd& operator=(Fd other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Fd() { reset(); }

  int get() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(raw_, -1); }
  void reset() noexcept;
  /// A second descriptor of the same open file, numbered at least `lowest`.
  Fd duplicate(int lowest = 3) const;

 private:
  int raw_ = -1;
};

/// open(2) with O_CLOEXEC added; the error names the path.
Fd open_file(const std::string& path, int flags, mode_t mode = 0600);
Fd open_directory(const std::string& path);

struct Pipe {
  Fd read;
  Fd write;
};
/// pipe2(2); `flags` such as O_NONBLOCK.
Pipe open_pipe(int flags = 0);

/// An anonymous file that holds `bytes` and can never change again (memfd_create(2) with all seals).
Fd sealed_memory(const std::string& name, std::string_view bytes);

/// Writes everything; `what` names the object in errors ("cannot write <what>"). Blocks on a blocking descriptor.
void write_all(const Fd& fd, std::string_view bytes, std::string_view what);
/// Reads to the end; throws too_large beyond `limit` bytes.
std::string read_all(const Fd& fd, std::size_t limit, std::string_view what);
void set_nonblocking(const Fd& fd, bool on);

/// Waits until `fd` shows one of the poll(2) `events`; false when `milliseconds` passed first (-1: no limit).
bool wait_for(int fd, short events, int milliseconds);

}  // namespace underway::os
