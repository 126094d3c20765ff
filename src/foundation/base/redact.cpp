#include "base/redact.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/text.hpp"

namespace underway {
namespace {

constexpr auto kNone = std::string_view::npos;

struct UserPart {
  std::size_t begin = 0, at = 0;  ///< "user:password" and the '@' behind it
};

/// Where the user and the password of a URL stand.
std::optional<UserPart> find_user(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == kNone) return std::nullopt;
  const std::size_t begin = scheme + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  if (const auto at = url.substr(begin, end - begin).rfind('@'); at != kNone) return UserPart{begin, begin + at};
  // A password may have a '/' that nobody has escaped: then what looks like a port is none.
  const auto colon = url.substr(begin, end - begin).rfind(':');
  const auto at = url.find('@', end);
  if (colon == kNone || at == kNone) return std::nullopt;
  const auto port = url.substr(begin + colon + 1, end - begin - colon - 1);
  if (std::ranges::all_of(port, is_digit) || port.ends_with(']')) return std::nullopt;
  return UserPart{begin, at};
}

/// Whether what stands under this name is nobody's business.
bool names_a_secret(std::string_view word) {
  const std::string text = lower(word);
  for (const char* part : {"passw", "secret", "token", "apikey", "api-key", "api_key", "credential"})
    if (text.find(part) != std::string::npos) return true;
  return false;
}

/// "x=y" and "http://user:password@host" inside one word.
std::string redact_word(const std::string& word) {
  const auto equals = word.find('=');
  if (equals != std::string::npos && names_a_secret(std::string_view(word).substr(0, equals)))
    return word.substr(0, equals + 1).append(kRedacted);
  return redact_url(word, UrlUser::named);
}

}  // namespace

bool is_redacted(std::string_view text) { return text.find(kRedacted) != kNone; }

std::string redact_url(std::string_view url, UrlUser user) {
  std::string out(url);
  const auto place = find_user(url);
  if (!place) return out;
  switch (user) {
    case UrlUser::named: {
      const auto colon = url.find(':', place->begin);
      return colon < place->at ? out.replace(colon + 1, place->at - colon - 1, kRedacted) : out;
    }
    case UrlUser::hidden:
      return out.replace(place->begin, place->at - place->begin, kRedacted);
    case UrlUser::absent:
      return out.erase(place->begin, place->at + 1 - place->begin);
  }
  return out;
}

std::vector<std::string> redact_command(std::vector<std::string> words) {
  bool next = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto& word = words[i];
    if (next) {
      word = kRedacted;
      next = false;
      continue;
    }
    const bool flag = word.starts_with('-');
    next = flag && word.find('=') == std::string::npos && names_a_secret(word) &&
           lower(word).find("file") == std::string::npos;
    // The short flag of the clients of MySQL: -pSECRET, in one word.
    if (word.size() > 2 && word.starts_with("-p") && lower(words[0]).find("mysql") != std::string::npos)
      word = std::string("-p").append(kRedacted);
    else
      word = redact_word(word);
  }
  return words;
}

std::string redact_values(std::string text, std::span<const SecretValue> secrets, std::size_t shortest) {
  // The longest first: one that begins another would leave that one's rest.
  std::vector<const SecretValue*> by_length;
  for (const auto& secret : secrets) by_length.push_back(&secret);
  std::ranges::sort(by_length, std::ranges::greater{}, [](const auto* secret) { return secret->value.size(); });
  for (const auto* secret : by_length) {
    const auto& [value, shown] = *secret;
    if (value.size() < std::max<std::size_t>(shortest, 1)) continue;
    for (auto at = text.find(value); at != std::string::npos; at = text.find(value, at + shown.size()))
      text.replace(at, value.size(), shown);
  }
  return text;
}

}  // namespace underway
