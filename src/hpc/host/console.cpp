#include "host/console.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text.hpp"
#include "os/fd.hpp"

namespace underway::host {
namespace {

/// What a table's column still shows; the whole is in the console.
constexpr std::size_t kLongest = 300;

/// Errors are printed as one line "error: …" and indented lines "  why: …", "  do: …" (base/error.hpp).
bool is_detail(std::string_view line) { return line.starts_with("  "); }

std::string with_reason(std::span<const std::string> error) {
  std::string text = error.front();
  for (const auto& line : error.subspan(1)) {
    const std::string_view detail = trim(line);
    if (detail.starts_with("why:")) return text + ": " + std::string(trim(detail.substr(4)));
  }
  return text;
}

/// What a host wrote is shown on an operator's terminal: no control characters, and UTF-8 or nothing but ASCII.
std::string printable(std::string text) {
  if (text.size() > kLongest) text.resize(kLongest);
  const bool ascii_only = !is_utf8(text);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (ascii_only && byte >= 0x80)) c = '?';
  }
  return text;
}

}  // namespace

std::string last_words(std::string_view console) {
  std::vector<std::string> agent, init;
  for (auto& line : split(console, '\n')) {
    if (!trim(line).empty()) (line.starts_with("underway-init: ") ? init : agent).push_back(std::move(line));
  }
  const auto& lines = agent.empty() ? init : agent;
  if (lines.empty()) return "";
  const auto head = std::find_if_not(lines.rbegin(), lines.rend(), is_detail);
  std::string words(trim(lines.back()));
  if (head != lines.rend()) words = with_reason({std::prev(head.base()), lines.end()});
  if (words.starts_with("error: ")) words.erase(0, std::string_view("error: ").size());
  return printable(std::move(words));
}

std::string last_words_in(const std::string& path) {
  std::array<char, 4096> end{};
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const off_t size = file.get() < 0 ? -1 : ::lseek(file.get(), 0, SEEK_END);
  if (size <= 0) return "";
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(end.size()));
  const ssize_t got = ::pread(file.get(), end.data(), end.size(), from);
  if (got <= 0) return "";
  std::string_view text(end.data(), static_cast<std::size_t>(got));
  if (from > 0) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);  // begins within a line
  return last_words(text);
}

}  // namespace underway::host
