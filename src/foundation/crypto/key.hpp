#pragma once
/// @file
/// Private keys: those of certificates (ECDSA over P-256: what every TLS peer takes), with the requests that prove one
/// without showing it, and those of RSA, for signatures that everybody verifies.

#include <memory>

#include "crypto/secret.hpp"

struct evp_pkey_st;

namespace underway::crypto {

class PrivateKey {
 public:
  static PrivateKey generate();
  /// RSA of 2048 bits. Computes for 50 to 300 ms: not on the loop.
  static PrivateKey generate_rsa();
  /// Any kind of key, in PEM without a passphrase. Throws Error(invalid).
  static PrivateKey from_pem(std::string_view pem);
  /// PKCS #8.
  Secret pem() const;
  /// A certificate signing request in PEM (PKCS #10): the way a key gets its certificate and never leaves its machine.
  std::string request(std::string_view common_name) const;

  evp_pkey_st* native() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

/// SHA-256 of the public key in a certificate signing request, hexadecimal. Throws Error(invalid).
std::string request_key_digest(std::string_view request_pem);

}  // namespace underway::crypto
