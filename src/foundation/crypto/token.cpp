#include "crypto/token.hpp"

#include <fmt/format.h>

#include "base/random.hpp"
#include "crypto/digest.hpp"

namespace underway::crypto {
namespace {

std::string salted(std::string_view salt, std::string_view token) {
  return fmt::format("{}${}", salt, base64url_encode(hmac_sha256(salt, token)));
}

}  // namespace

Secret make_token() { return Secret::take(base64url_encode(Secret::random(32).bytes())); }

std::string hash_token(std::string_view token) { return salted(base64url_encode(random_bytes(16)), token); }

bool token_matches(std::string_view token, std::string_view hash) {
  const std::size_t end = hash.find('$');
  if (end == std::string_view::npos || end == 0) return false;
  return equal_in_constant_time(salted(hash.substr(0, end), token), hash);
}

}  // namespace underway::crypto
