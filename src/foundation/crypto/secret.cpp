#include "crypto/secret.hpp"

#include <openssl/crypto.h>

#include "base/random.hpp"

namespace underway::crypto {

Secret Secret::take(std::string&& bytes) {
  Secret made(bytes);
  crypto::wipe(bytes);
  return made;
}

Secret Secret::random(std::size_t size) { return take(random_bytes(size)); }

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  swap(other);
  return *this;
}

void Secret::wipe() noexcept {
  ::OPENSSL_cleanse(bytes_.data(), bytes_.size());
  bytes_.clear();
}

void wipe(std::string& text) noexcept {
  ::OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

}  // namespace underway::crypto
