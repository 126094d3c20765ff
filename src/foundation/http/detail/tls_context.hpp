#pragma once
/// @file
/// What a TlsContext holds, and the words for what goes wrong with certificates.

#include <openssl/ssl.h>

#include <string>

#include "http/tls.hpp"

namespace underway::http {

struct TlsContext::Native {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context{nullptr, &SSL_CTX_free};
  std::string server_name;
  std::string pinned_authority;
  bool is_server = false;
  bool verify = true;
  bool tells_instead_of_refusing = false;  ///< ClientCertificates::requested
};

namespace detail {

/// What the TLS library says of the last failure; its queue is emptied.
std::string tls_reason();
/// Why `context` does not trust the certificate it looks at: "the certificate of 'node-7' expired at …".
std::string describe_distrust(X509_STORE_CTX* context, const std::string& expected_name);
/// What the peer said about our certificate in an alert; empty when the failure is no such alert.
std::string describe_refusal(unsigned long error, X509* own);

/// In tls_transport.cpp: the callbacks of verification, whose connection is the SSL's app data.
int on_verified(int ok, X509_STORE_CTX* context);
int verify_pinned(X509_STORE_CTX* context, void*);

}  // namespace detail
}  // namespace underway::http
