#include "writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "os/fd.hpp"
#include "os/file.hpp"

namespace underway::overlay {
namespace {

constexpr std::size_t kLine = 512;

}  // namespace

Writer::Writer(const std::string& upper) : upper_(upper), thread_([this] { run(); }) {}
Writer::~Writer() { stop(); }

void Writer::stop() {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
}

void Writer::hold(bool stop) {
  wanted_ = stop;  // a mutex alone would go to whoever has just let it go
  if (stop)
    held_.lock();
  else
    held_.unlock();
}

void Writer::more(std::uint64_t lines) const {
  const auto until = written_ + lines;
  while (written_ < until) std::this_thread::yield();
}

void Writer::run() {
  const std::array<os::Fd, 2> files = {os::open_file(upper_ + "/even", O_WRONLY | O_CREAT | O_APPEND),
                                       os::open_file(upper_ + "/odd", O_WRONLY | O_CREAT | O_APPEND)};
  for (std::uint64_t n = 0; !ending_; ++n) {
    const auto since = std::chrono::steady_clock::now();
    while (wanted_) std::this_thread::yield();
    const std::lock_guard<std::mutex> lock(held_);
    auto line = std::to_string(n);
    line.resize(kLine - 1, ' ');
    const auto& file = files.at(n % 2);
    os::write_all(file, line + "\n", "a line");
    ::fdatasync(file.get());
    written_ = n + 1;
    longest_ = std::max(longest_.load(), Duration(std::chrono::steady_clock::now() - since).count());
  }
}

std::int64_t lines_in(const std::string& upper) {
  const auto even = os::read_file(upper + "/even", 1U << 30), odd = os::read_file(upper + "/odd", 1U << 30);
  for (std::uint64_t n = 0;; ++n) {
    const auto& text = n % 2 == 0 ? even : odd;
    const auto& other = n % 2 == 0 ? odd : even;
    const auto at = n / 2 * kLine;
    if (at + kLine > text.size()) return (n + 1) / 2 * kLine < other.size() ? -1 : static_cast<std::int64_t>(n);
    if (text.compare(at, std::to_string(n).size() + 1, std::to_string(n) + " ") != 0) return -1;
  }
}

}  // namespace underway::overlay
