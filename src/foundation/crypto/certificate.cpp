#include "crypto/certificate.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <set>

#include "base/text.hpp"
#include "crypto/detail/openssl.hpp"

namespace underway::crypto {
namespace {

std::string text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(::ASN1_STRING_length(text))};
}

std::string common_name_of(const X509_NAME* name) {
  const int at = ::X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  return at < 0 ? std::string() : text_of(::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(name, at)));
}

std::string address_of(const ASN1_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int size = ::ASN1_STRING_length(bytes);
  if (size != 4 && size != 16) return {};
  ::inet_ntop(size == 4 ? AF_INET : AF_INET6, ::ASN1_STRING_get0_data(bytes), text.data(), text.size());
  return text.data();
}

std::vector<std::string> alternative_names_of(const X509* certificate) {
  std::vector<std::string> names;
  const detail::Owned<GENERAL_NAMES, &GENERAL_NAMES_free> all(
      static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; all != nullptr && i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type == GEN_DNS) names.push_back(text_of(name->d.dNSName));
    if (name->type == GEN_URI) names.push_back(text_of(name->d.uniformResourceIdentifier));
    if (name->type == GEN_IPADD) names.push_back(address_of(name->d.iPAddress));
  }
  return names;
}

/// Years beyond what TimePoint holds are cut to what it holds: "99991231235959Z" stands for "never" (RFC
/// 5280, 4.1.2.5).
TimePoint time_of(const ASN1_TIME* time) {
  constexpr std::int64_t kFarthest = 9'000'000'000;
  std::tm parts{};
  if (::ASN1_TIME_to_tm(time, &parts) != 1) throw Error(Code::invalid, "a certificate's time cannot be read");
  return TimePoint(std::chrono::seconds(std::clamp<std::int64_t>(::timegm(&parts), -kFarthest, kFarthest)));
}

std::string serial_of(const X509* certificate) {
  const detail::Owned<BIGNUM, &BN_free> number(::ASN1_INTEGER_to_BN(::X509_get0_serialNumber(certificate), nullptr));
  if (number == nullptr) return {};
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number.get())), '\0');
  ::BN_bn2bin(number.get(), detail::bytes_of(bytes));
  return hex(bytes);
}

}  // namespace

bool CertificateInfo::has_name(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string fingerprint(const x509_st* certificate) {
  std::string bytes(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  if (::X509_digest(certificate, ::EVP_sha256(), detail::bytes_of(bytes), &size) != 1) {
    throw detail::failure("cannot compute a certificate's fingerprint");
  }
  bytes.resize(size);
  return hex(bytes);
}

CertificateInfo describe(x509_st* certificate) {
  CertificateInfo info;
  info.common_name = common_name_of(::X509_get_subject_name(certificate));
  info.names = alternative_names_of(certificate);
  info.issuer = common_name_of(::X509_get_issuer_name(certificate));
  info.serial = serial_of(certificate);
  info.fingerprint = fingerprint(certificate);
  info.not_before = time_of(::X509_get0_notBefore(certificate));
  info.not_after = time_of(::X509_get0_notAfter(certificate));
  info.is_authority = ::X509_check_ca(certificate) > 0;
  return info;
}

std::vector<CertificateInfo> describe_certificates(std::string_view pem) {
  std::vector<CertificateInfo> out;
  for (const auto& certificate : detail::read_certificates(pem)) out.push_back(describe(certificate.get()));
  return out;
}

CertificateInfo describe_certificate(std::string_view pem) {
  return describe(detail::read_certificates(pem).front().get());
}

std::vector<std::string> split_certificates(std::string_view pem) {
  std::vector<std::string> out;
  for (const auto& certificate : detail::read_certificates(pem))
    out.push_back(detail::write_certificate(certificate.get()));
  return out;
}

std::string merge_certificates(std::string_view a, std::string_view b) {
  std::string out;
  std::set<std::string> seen;
  for (const std::string_view pem : {a, b}) {
    if (trim(pem).empty()) continue;
    for (const auto& certificate : detail::read_certificates(pem)) {
      if (seen.insert(fingerprint(certificate.get())).second) out += detail::write_certificate(certificate.get());
    }
  }
  return out;
}

}  // namespace underway::crypto
