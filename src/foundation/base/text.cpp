#include "base/text.hpp"

#include "base/error.hpp"
#include "base/numbers.hpp"

#include <boost/beast/core/detail/base64.hpp>

#include <cctype>
#include <utility>

namespace underway {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  for (const auto& item : split(text, ',')) {
    if (const auto word = trim(item); !word.empty()) out.emplace_back(word);
  }
  return out;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const auto& part : parts) {
    if (&part != parts.data()) out += separator;
    out += part;
  }
  return out;
}

std::string join_some(std::span<const std::string> parts, std::size_t most) {
  if (parts.size() <= most) return join(parts, ", ");
  return fmt::format("{} and {} more", join(parts.first(most), ", "), parts.size() - most);
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // Greedy with one remembered star: linear in practice, quadratic at worst, never exponential.
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

/// Edits that lead from one to the other: insert, delete, replace, swap neighbours ("optimal string alignment").
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1), above(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j < row.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  constexpr std::size_t kLongest = 200;  // no name is longer; the word may come from a hostile file
  if (word.size() > kLongest) return best;
  for (const auto& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t edits = distance(word, candidate);
    if (edits < best_distance) {
      best_distance = edits;
      best = candidate;
    }
  }
  return best;
}

std::size_t utf8_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool is_overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool is_surrogate = lead == 0xed && second > 0x9f;
  return is_overlong || is_surrogate || (lead == 0xf4 && second > 0x8f) ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string escape_html(std::string_view text) {
  constexpr std::string_view kSpecial("\0\"'&<>", 6);
  constexpr std::string_view kWritten[] = {"\uFFFD", "&#34;", "&#39;", "&amp;", "&lt;", "&gt;"};
  std::string out;
  for (const char c : text) {
    if (const auto at = kSpecial.find(c); at != std::string_view::npos)
      out += kWritten[at];
    else
      out += c;
  }
  return out;
}

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto b = static_cast<unsigned char>(c);
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

namespace b64 = boost::beast::detail::base64;

std::optional<std::string> unhex(std::string_view text) {
  std::string bytes;
  for (; text.size() > 1; text.remove_prefix(2)) {
    const auto byte = parse_number<unsigned char>(text.substr(0, 2), 16);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return text.empty() ? std::optional(std::move(bytes)) : std::nullopt;
}

std::string base64_encode(std::string_view bytes) {
  std::string out(b64::encoded_size(bytes.size()), '\0');
  out.resize(b64::encode(out.data(), bytes.data(), bytes.size()));
  return out;
}

std::string base64_decode(std::string_view text) {
  std::string out(b64::decoded_size(text.size()) + 3, '\0');
  const auto [written, read] = b64::decode(out.data(), text.data(), text.size());
  const std::string_view rest = text.substr(read);
  if (text.size() % 4 != 0 || !(rest.empty() || rest == "=" || rest == "==")) {
    throw Error(Code::invalid, "the text is not base64")
        .because(fmt::format("stopped at byte {} of {}", read, text.size()));
  }
  out.resize(written);
  return out;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kNames)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 || value >= 100 ? fmt::format("{:.0f} {}", value, kNames[unit])
                                   : fmt::format("{:.1f} {}", value, kNames[unit]);
}

}  // namespace underway
