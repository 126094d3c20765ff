// The words for what goes wrong with certificates: what an operator needs to know which one, and what about it.
#include <fmt/format.h>
#include <openssl/err.h>

#include <ctime>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/certificate.hpp"
#include "http/detail/tls_context.hpp"

namespace underway::http::detail {
namespace {

/// `info` is the certificate of the chain that is not good, `leaf` the one at its beginning.
std::string distrust(const crypto::CertificateInfo& info, const crypto::CertificateInfo& leaf, int verdict,
                     const std::string& expected_name) {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("the certificate of '{}' expired at {}", info.common_name, format_time(info.not_after));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      // OpenSSL has compared with time(2).
      return fmt::format("the certificate of '{}' is valid from {} only, and here it is {}", info.common_name,
                         format_time(info.not_before),
                         format_time(from_unix_nanos(std::int64_t{std::time(nullptr)} * 1'000'000'000)));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format("the certificate of '{}' is for {}, and not for '{}'", info.common_name,
                         info.names.empty() ? "no name" : join(info.names, ", "), expected_name);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format("the certificate of '{}' is of authority '{}', which is not trusted here", leaf.common_name,
                         info.issuer);
    default:
      return fmt::format("the certificate of '{}': {}", info.common_name, ::X509_verify_cert_error_string(verdict));
  }
}

}  // namespace

std::string tls_reason() {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  if (code == 0) return "the TLS library gave no reason";
  const char* reason = ::ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("TLS error {:#x}", code);
}

std::string describe_distrust(X509_STORE_CTX* context, const std::string& expected_name) {
  const int verdict = ::X509_STORE_CTX_get_error(context);
  X509* certificate = ::X509_STORE_CTX_get_current_cert(context);
  if (certificate == nullptr) return ::X509_verify_cert_error_string(verdict);
  try {
    return distrust(crypto::describe(certificate), crypto::describe(::X509_STORE_CTX_get0_cert(context)), verdict,
                    expected_name);
  } catch (const Error&) {  // a certificate that cannot be described, and OpenSSL's C between us and who could catch
    return ::X509_verify_cert_error_string(verdict);
  }
}

std::string describe_refusal(unsigned long error, X509* own) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return {};
  const char* why = nullptr;
  switch (ERR_GET_REASON(error)) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "the peer demands a certificate, and we have none to show";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      why = "it has expired";
      break;
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      why = "it does not trust its authority";
      break;
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      why = "it is not good there";
      break;
    default:
      return {};
  }
  if (own == nullptr) return fmt::format("the peer refuses our certificate: {}", why);
  const crypto::CertificateInfo info = crypto::describe(own);
  return fmt::format("the peer refuses our certificate of '{}' (by '{}', until {}): {}", info.common_name, info.issuer,
                     format_time(info.not_after), why);
}

}  // namespace underway::http::detail
