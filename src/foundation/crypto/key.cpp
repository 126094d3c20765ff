#include "crypto/key.hpp"

#include <openssl/ec.h>

#include "base/text.hpp"
#include "crypto/detail/openssl.hpp"
#include "crypto/digest.hpp"

namespace underway::crypto {
namespace {

/// Instead of a prompt on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

}  // namespace

PrivateKey PrivateKey::generate() {
  detail::Key key(::EVP_EC_gen("P-256"));
  if (key == nullptr) throw detail::failure("cannot make a key");
  return PrivateKey(detail::shared(std::move(key)));
}

PrivateKey PrivateKey::generate_rsa() {
  constexpr std::size_t kBits = 2048;  // what Nomad's root keys have; NIST SP 800-57: good until 2030
  detail::Key key(::EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", kBits));
  if (key == nullptr) throw detail::failure("cannot make a key");
  return PrivateKey(detail::shared(std::move(key)));
}

PrivateKey PrivateKey::from_pem(std::string_view pem) {
  detail::Key key(::PEM_read_bio_PrivateKey(detail::memory(pem).get(), nullptr, &no_passphrase, nullptr));
  if (key == nullptr) throw Error(Code::invalid, "the text is no private key in PEM").because(detail::reason());
  return PrivateKey(detail::shared(std::move(key)));
}

Secret PrivateKey::pem() const {
  const detail::Bio out = detail::memory();
  if (::PEM_write_bio_PKCS8PrivateKey(out.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    throw detail::failure("cannot write a private key");
  }
  return Secret(detail::written(out));
}

std::string PrivateKey::request(std::string_view common_name) const {
  const detail::CertificateRequest made(::X509_REQ_new());
  const detail::Bio out = detail::memory();
  const bool done =
      made != nullptr &&
      ::X509_NAME_add_entry_by_NID(::X509_REQ_get_subject_name(made.get()), NID_commonName, MBSTRING_UTF8,
                                   detail::bytes_of(common_name), static_cast<int>(common_name.size()), -1, 0) == 1 &&
      ::X509_REQ_set_pubkey(made.get(), key_.get()) == 1 &&
      ::X509_REQ_sign(made.get(), key_.get(), ::EVP_sha256()) > 0 &&
      ::PEM_write_bio_X509_REQ(out.get(), made.get()) == 1;
  if (!done) throw detail::failure("cannot make a certificate signing request");
  return std::string(detail::written(out));
}

std::string request_key_digest(std::string_view request_pem) {
  const auto request = detail::read_request(request_pem);
  unsigned char* bytes = nullptr;
  const int size = ::i2d_X509_PUBKEY(::X509_REQ_get_X509_PUBKEY(request.get()), &bytes);
  if (size <= 0) throw detail::failure("cannot read the key of a certificate signing request");
  const std::string digest = sha256({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)});
  ::OPENSSL_free(bytes);
  return hex(digest);
}

}  // namespace underway::crypto
