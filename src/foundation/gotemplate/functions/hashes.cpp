// Digests of texts, in lower-case hexadecimal.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/functions/library.hpp"

#include <openssl/evp.h>

namespace underway::gotemplate {

namespace {

/// RFC 1950, 8.2.
std::uint32_t adler32(std::string_view text) {
  constexpr std::uint32_t kModulus = 65521;
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : text) {
    a = (a + static_cast<unsigned char>(c)) % kModulus;
    b = (b + a) % kModulus;
  }
  return b << 16U | a;
}

}  // namespace

std::string digest(std::string_view algorithm, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const EVP_MD* method = EVP_get_digestbyname(std::string(algorithm).c_str());
  if (method == nullptr || EVP_Digest(text.data(), text.size(), bytes, &size, method, nullptr) != 1)
    throw Error(Code::unsupported, fmt::format("this machine's OpenSSL refuses {}", algorithm));
  return hex({reinterpret_cast<const char*>(bytes), size});
}

std::vector<Function> hash_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"sha1sum", "text string", "SHA-1.", kSprig, [](const Call& c) -> Value { return digest("sha1", c.text(0)); }},
      {"sha256sum", "text string", "SHA-256.", kSprig,
       [](const Call& c) -> Value { return digest("sha256", c.text(0)); }},
      {"sha512sum", "text string", "SHA-512.", kSprig,
       [](const Call& c) -> Value { return digest("sha512", c.text(0)); }},
      {"adler32sum", "text string", "Adler-32, as a decimal number.", kSprig,
       [](const Call& c) -> Value { return fmt::to_string(adler32(c.text(0))); }},
  };
}

}  // namespace underway::gotemplate
