#include "pool/digest.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace underway::pool {

std::string to_hex(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * digest.size());
  for (const auto byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::optional<Digest> parse_hex(std::string_view text) {
  Digest out{};
  if (text.size() != 2 * out.size()) return {};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return {};
    out[i / 2] = static_cast<std::uint8_t>(out[i / 2] << 4 | (digit ? c - '0' : c - 'a' + 10));
  }
  return out;
}

Digest digest_of_sha256(std::string_view raw) {
  Digest out{};
  if (raw.size() != out.size()) throw Error(Code::internal, "a SHA-256 digest has 32 bytes");
  std::copy(raw.begin(), raw.end(), out.begin());
  return out;
}

}  // namespace underway::pool
