#include "archive/file.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::archive {
namespace {

constexpr std::size_t kLongestPath = 4096;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

Error refused(std::string_view path, std::string_view package, std::string why) {
  std::string shown(path.substr(0, 256));
  std::replace_if(shown.begin(), shown.end(), is_control, '?');
  return Error(Code::denied, fmt::format("'{}' holds '{}'", package, shown)).because(std::move(why));
}

void check_bytes(std::string_view path, std::string_view package) {
  if (path.empty()) throw refused(path, package, "a nameless entry");
  if (path.size() > kLongestPath) throw refused(path, package, "a path of more than 4096 bytes");
  if (std::any_of(path.begin(), path.end(), is_control)) throw refused(path, package, "a path with control characters");
}

}  // namespace

std::string absolute(std::string_view relative, std::string_view package) {
  check_bytes(relative, package);
  if (relative.front() == '/') throw refused(relative, package, "an absolute path");
  std::string out;
  for (const auto& part : split(relative, '/')) {
    if (part == "..") throw refused(relative, package, "a path with '..', which could lead anywhere");
    if (part.empty() || part == ".") continue;
    out += '/';
    out += part;
  }
  return out.empty() ? "/" : out;
}

void check_absolute(std::string_view path, std::string_view package) {
  check_bytes(path, package);
  if (path.front() != '/') throw refused(path, package, "a path that is not absolute");
  if (path == "/") return;
  for (const auto& part : split(path.substr(1), '/'))
    if (part.empty() || part == "." || part == "..")
      throw refused(path, package, "a path with '..', '.' or '//', which could lead anywhere");
}

}  // namespace underway::archive
