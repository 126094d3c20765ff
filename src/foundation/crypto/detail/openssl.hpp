#pragma once
/// @file
/// OpenSSL's objects as owned values, and its queue of errors as an Error.

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace underway::crypto::detail {

template <auto Free>
struct Deleter {
  void operator()(auto* object) const { Free(object); }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Deleter<Free>>;

using Bio = Owned<BIO, &BIO_free_all>;
using Certificate = Owned<X509, &X509_free>;
using CertificateRequest = Owned<X509_REQ, &X509_REQ_free>;
using Cipher = Owned<EVP_CIPHER_CTX, &EVP_CIPHER_CTX_free>;
using DigestContext = Owned<EVP_MD_CTX, &EVP_MD_CTX_free>;
using Key = Owned<EVP_PKEY, &EVP_PKEY_free>;
/// The same for whoever is copied.
std::shared_ptr<evp_pkey_st> shared(Key key);
using KeyContext = Owned<EVP_PKEY_CTX, &EVP_PKEY_CTX_free>;

inline unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
inline const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// What the library says of the last failure of this thread; its queue is emptied.
std::string reason();
/// Error(internal) with that reason.
Error failure(std::string what);

Bio memory(std::string_view bytes);
Bio memory();
/// What was written to a BIO of memory().
std::string_view written(const Bio& bio);

/// The certificates of a PEM text, in its order. Throws Error(invalid): none, too many, or one that cannot be read.
std::vector<Certificate> read_certificates(std::string_view pem);
/// Throws Error(invalid).
CertificateRequest read_request(std::string_view pem);
std::string write_certificate(X509* certificate);

}  // namespace underway::crypto::detail
