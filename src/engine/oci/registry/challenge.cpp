#include "oci/registry/challenge.hpp"

#include "base/text.hpp"

namespace underway::oci {
namespace {

constexpr std::size_t kMost = 16;
/// Characters of a token (RFC 9110, section 5.6.2), without letters and digits.
constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

bool in_token(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kTokenMarks.find(c) != std::string_view::npos;
}

class ChallengeReader {
 public:
  explicit ChallengeReader(std::string_view text) : rest_(text) {}

  void skip(std::string_view characters) {
    const auto end = rest_.find_first_not_of(characters);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
  }
  std::string token() {
    std::size_t size = 0;
    while (size < rest_.size() && in_token(rest_[size])) ++size;
    const std::string out(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return out;
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string value() {
    if (!take('"')) return token();
    std::string out;
    while (!rest_.empty() && !take('"')) {
      if (take('\\') && rest_.empty()) break;
      out += rest_.front();
      rest_.remove_prefix(1);
    }
    return out;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::vector<Challenge> parse_challenges(std::string_view header) {
  std::vector<Challenge> out;
  ChallengeReader reader(header);
  while (!reader.done() && out.size() <= kMost) {
    reader.skip(" \t,");
    const std::string word = reader.token();
    if (word.empty()) break;
    reader.skip(" \t");
    // A word before '=' is a parameter of the scheme before it; any other begins a scheme.
    if (!reader.take('=')) {
      out.push_back({lower(word), {}});
      continue;
    }
    reader.skip(" \t");
    const std::string value = reader.value();
    if (!out.empty() && out.back().parameters.size() < kMost) out.back().parameters.try_emplace(lower(word), value);
  }
  return out;
}

}  // namespace underway::oci
