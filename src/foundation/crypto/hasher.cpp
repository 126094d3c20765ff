#include "crypto/hasher.hpp"

#include "crypto/detail/openssl.hpp"

namespace underway::crypto {

struct Hasher::Context {
  detail::DigestContext digest{::EVP_MD_CTX_new()};
};

Hasher::Hasher() : context_(std::make_unique<Context>()) {
  if (!context_->digest || ::EVP_DigestInit_ex(context_->digest.get(), ::EVP_sha256(), nullptr) != 1)
    throw detail::failure("cannot begin a SHA-256 digest");
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::add(std::string_view bytes) {
  if (::EVP_DigestUpdate(context_->digest.get(), bytes.data(), bytes.size()) != 1)
    throw detail::failure("cannot go on with a SHA-256 digest");
}

std::string Hasher::finish() {
  std::string out(32, '\0');
  if (::EVP_DigestFinal_ex(context_->digest.get(), detail::bytes_of(out), nullptr) != 1)
    throw detail::failure("cannot compute a SHA-256 digest");
  return out;
}

}  // namespace underway::crypto
