#include "rpmmd/names.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::rpmmd {
namespace {

constexpr std::size_t kLongestWord = 256;
constexpr std::size_t kLongestLocation = 4096;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// What is not printed as it is would let a name write into an operator's terminal.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kLongestWord)) out += is_control(c) ? '?' : c;
  return out;
}

/// Of "%2e" and its like.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' ? unhex(text.substr(i + 1, 2)) : std::nullopt;
    if (byte && byte->size() == 1) {
      out += *byte;
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string_view problem_of_path(std::string_view path) {
  if (path.empty()) return "it is empty";
  if (path.size() > kLongestLocation) return "it is longer than 4096 bytes";
  if (path.front() == '/') return "it is absolute";
  if (std::any_of(path.begin(), path.end(), is_control)) return "it has control characters";
  if (path.find("://") != std::string_view::npos) return "it leads to another server";
  if (path.find('\\') != std::string_view::npos) return "it has a backslash";
  for (const auto& part : split(path, '/'))
    if (part == "..") return "it leads out of the repository";
  return {};
}

}  // namespace

std::string to_string(const Nevra& nevra) {
  return fmt::format("{}-{}:{}-{}.{}", nevra.name, nevra.epoch, nevra.version, nevra.release, nevra.arch);
}

void check_word(std::string_view word, std::string_view what) {
  const auto bad = [](char c) { return is_control(c) || c == ' ' || c == '/'; };
  if (!word.empty() && word.size() <= kLongestWord && std::none_of(word.begin(), word.end(), bad)) return;
  throw Error(Code::invalid, fmt::format("{} '{}' is none", what, shown(word)))
      .because(word.empty()                 ? "it is empty"
               : word.size() > kLongestWord ? "it is longer than 256 bytes"
                                            : "it has blanks, control characters or '/'");
}

void check_location(std::string_view location) {
  auto problem = problem_of_path(location);
  if (problem.empty()) problem = problem_of_path(unescape(location));
  if (problem.empty()) return;
  throw Error(Code::invalid, fmt::format("the location '{}' is refused", shown(location)))
      .because(std::string(problem));
}

void check_checksum(const Checksum& checksum, std::string_view what) {
  struct Type {
    std::string_view name;
    std::size_t digits;
  };
  static constexpr std::array<Type, 7> kTypes = {
      {{"sha256", 64}, {"sha512", 128}, {"sha384", 96}, {"sha224", 56}, {"sha", 40}, {"sha1", 40}, {"md5", 32}}};
  const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.name == checksum.type; });
  if (type == kTypes.end())
    throw Error(Code::unsupported, fmt::format("the checksum of {} is of an unknown type", what))
        .because(fmt::format("'{}'", shown(checksum.type)));
  const bool digits = std::all_of(checksum.hex.begin(), checksum.hex.end(),
                                  [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
  if (!digits || checksum.hex.size() != type->digits)
    throw Error(Code::invalid, fmt::format("the checksum of {} is no {}", what, checksum.type))
        .because(fmt::format("'{}'", shown(checksum.hex)));
}

}  // namespace underway::rpmmd
