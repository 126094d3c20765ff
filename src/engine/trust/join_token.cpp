#include "trust/join_token.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::trust {
namespace {

constexpr std::string_view kForm = "uj1";
constexpr std::size_t kLimit = 512;
constexpr std::size_t kDigestSize = 32;

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  });
}

}  // namespace

crypto::Secret to_text(const JoinToken& token) {
  return crypto::Secret::take(fmt::format("{}.{}.{}.{}", kForm, token.id, token.secret.bytes(),
                                          crypto::base64url_encode(unhex(token.authority_fingerprint).value())));
}

JoinToken parse_join_token(std::string_view text) {
  const Error bad =
      Error(Code::invalid, "this is no join token").advise("make one on the server: `underway node join-token create`");
  text = trim(text);
  if (text.size() > kLimit) throw bad;
  auto parts = split(text, '.');
  const bool formed = parts.size() == 4 && parts[0] == kForm && is_word(parts[1]) && is_word(parts[2]);
  JoinToken token;
  if (formed) {
    token.id = parts[1];
    token.secret = crypto::Secret::take(std::move(parts[2]));
    try {
      const std::string digest = crypto::base64url_decode(parts[3]);
      if (digest.size() == kDigestSize) token.authority_fingerprint = hex(digest);
    } catch (const Error&) {  // said below, for all that is wrong with it
    }
  }
  for (auto& part : parts) crypto::wipe(part);
  if (token.authority_fingerprint.empty()) throw bad;
  return token;
}

}  // namespace underway::trust
