#pragma once
/// @file
/// What a certificate says.

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

struct x509_st;

namespace underway::crypto {

struct CertificateInfo {
  std::string common_name;
  std::vector<std::string> names;  ///< alternative names: DNS names, addresses ("10.0.0.7", "::1"), URIs
  std::string issuer;              ///< the common name of who signed it
  std::string serial;              ///< hexadecimal
  std::string fingerprint;         ///< SHA-256 of the certificate, hexadecimal
  TimePoint not_before, not_after;
  bool is_authority = false;

  bool has_name(std::string_view name) const;
  /// Half of its life is over: time to renew.
  bool is_half_spent(TimePoint now) const { return now - not_before >= (not_after - not_before) / 2; }
  bool is_expired(TimePoint now) const { return now >= not_after; }
};

CertificateInfo describe(x509_st* certificate);
/// SHA-256, hexadecimal.
std::string fingerprint(const x509_st* certificate);
/// Those of a PEM text, in its order; a chain begins with its leaf. Throws Error(invalid).
std::vector<CertificateInfo> describe_certificates(std::string_view pem);
/// The first of a PEM text. Throws Error(invalid).
CertificateInfo describe_certificate(std::string_view pem);

/// Each certificate of a PEM text as a text of its own; other things in it are left out. Throws Error(invalid).
std::vector<std::string> split_certificates(std::string_view pem);
/// Two PEM bundles as one, each certificate once.
std::string merge_certificates(std::string_view a, std::string_view b);

}  // namespace underway::crypto
