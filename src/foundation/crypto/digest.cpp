#include "crypto/digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/detail/openssl.hpp"

namespace underway::crypto {

std::string sha256(std::string_view bytes) {
  std::string out(32, '\0');
  if (::EVP_Digest(bytes.data(), bytes.size(), detail::bytes_of(out), nullptr, ::EVP_sha256(), nullptr) != 1) {
    throw detail::failure("cannot compute a SHA-256 digest");
  }
  return out;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string out(32, '\0');
  if (::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), detail::bytes_of(bytes), bytes.size(),
             detail::bytes_of(out), nullptr) == nullptr) {
    throw detail::failure("cannot compute an HMAC");
  }
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string base64url_encode(std::string_view bytes) {
  std::string out = base64_encode(bytes);
  while (out.ends_with('=')) out.pop_back();
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

std::string base64url_decode(std::string_view text) {
  std::string padded(text);
  for (char& c : padded) {
    if (c == '+' || c == '/' || c == '=') throw Error(Code::invalid, "the text is not base64url");
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  }
  padded.append((4 - padded.size() % 4) % 4, '=');
  std::string out = base64_decode(padded);
  // Unused bits of the last character could differ: then two texts would mean the same.
  if (base64url_encode(out) != text) throw Error(Code::invalid, "the text is not base64url");
  return out;
}

}  // namespace underway::crypto
