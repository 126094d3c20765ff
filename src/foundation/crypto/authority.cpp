#include "crypto/authority.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>

#include "base/random.hpp"
#include "crypto/detail/openssl.hpp"

namespace underway::crypto {
namespace {

constexpr std::size_t kNameLimit = 253;  // of a DNS name: RFC 1035, 2.3.4

/// How far back a certificate begins, for clocks that are behind; little of a short life.
Duration slack(Duration lifetime) { return std::min<Duration>(std::chrono::minutes(5), lifetime / 10); }

std::string name_of(std::string_view role, std::string_view region, std::string_view domain) {
  return fmt::format("{}.{}.{}", role, region, domain);
}

Error cannot_say(std::string_view name) {
  return Error(Code::invalid, fmt::format("'{}' cannot stand in a certificate", name));
}

void check(bool done, const char* what) {
  if (!done) throw detail::failure(what);
}

bool is_dns_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameLimit && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' || c == '*';
  });
}

bool is_uri(std::string_view name) {
  return name.find("://") != std::string_view::npos && name.size() <= 2048 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; });
}

using GeneralName = detail::Owned<GENERAL_NAME, &GENERAL_NAME_free>;

GeneralName general_name(const std::string& name) {
  GeneralName out(::GENERAL_NAME_new());
  std::array<unsigned char, 16> address{};
  const int size = ::inet_pton(AF_INET, name.c_str(), address.data()) == 1    ? 4
                   : ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1 ? 16
                                                                              : 0;
  if (size == 0 && !is_dns_name(name) && !is_uri(name)) throw cannot_say(name);
  ASN1_STRING* value = size > 0 ? ::ASN1_OCTET_STRING_new() : ::ASN1_IA5STRING_new();
  check(out != nullptr && value != nullptr, "cannot write a certificate's names");
  const void* bytes = size > 0 ? static_cast<const void*>(address.data()) : name.data();
  ::ASN1_STRING_set(value, bytes, size > 0 ? size : static_cast<int>(name.size()));
  ::GENERAL_NAME_set0_value(out.get(), size > 0 ? GEN_IPADD : is_uri(name) ? GEN_URI : GEN_DNS, value);
  return out;
}

void set_names(X509* certificate, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const detail::Owned<GENERAL_NAMES, &GENERAL_NAMES_free> all(::GENERAL_NAMES_new());
  check(all != nullptr, "cannot write a certificate's names");
  for (const auto& name : names) sk_GENERAL_NAME_push(all.get(), general_name(name).release());
  check(::X509_add1_ext_i2d(certificate, NID_subject_alt_name, all.get(), 0, X509V3_ADD_DEFAULT) == 1,
        "cannot write a certificate's names");
}

void set_common_name(X509* certificate, std::string_view name) {
  if (name.empty() || name.size() > 64) throw cannot_say(name);  // ub-common-name: RFC 5280, appendix A.1
  check(::X509_NAME_add_entry_by_NID(::X509_get_subject_name(certificate), NID_commonName, MBSTRING_UTF8,
                                     detail::bytes_of(name), static_cast<int>(name.size()), -1, 0) == 1,
        "cannot write a certificate's subject");
}

/// OpenSSL knows how long each may be, and that a country has two letters.
void set_subject(X509* certificate, const Subject& subject) {
  for (const auto& [what, value] :
       {std::pair(NID_countryName, &subject.country), std::pair(NID_stateOrProvinceName, &subject.province),
        std::pair(NID_localityName, &subject.locality), std::pair(NID_streetAddress, &subject.street_address),
        std::pair(NID_postalCode, &subject.postal_code), std::pair(NID_organizationName, &subject.organization),
        std::pair(NID_organizationalUnitName, &subject.organizational_unit)}) {
    if (value->empty()) continue;
    if (::X509_NAME_add_entry_by_NID(::X509_get_subject_name(certificate), what, MBSTRING_UTF8,
                                     detail::bytes_of(*value), static_cast<int>(value->size()), -1, 0) != 1)
      throw cannot_say(*value).because(detail::reason());
  }
}

void permit_only(X509* certificate, const std::vector<std::string>& domains) {
  if (domains.empty()) return;
  const detail::Owned<NAME_CONSTRAINTS, &NAME_CONSTRAINTS_free> all(::NAME_CONSTRAINTS_new());
  check(all != nullptr, "cannot write a certificate's constraints");
  all->permittedSubtrees = sk_GENERAL_SUBTREE_new_null();
  for (const auto& domain : domains) {
    if (!is_dns_name(domain)) throw cannot_say(domain);
    detail::Owned<GENERAL_SUBTREE, &GENERAL_SUBTREE_free> tree(::GENERAL_SUBTREE_new());
    check(tree != nullptr, "cannot write a certificate's constraints");
    ::GENERAL_NAME_free(tree->base);
    tree->base = general_name(domain).release();
    sk_GENERAL_SUBTREE_push(all->permittedSubtrees, tree.release());
  }
  check(::X509_add1_ext_i2d(certificate, NID_name_constraints, all.get(), 1, X509V3_ADD_DEFAULT) == 1,
        "cannot write a certificate's constraints");
}

void set_times(X509* certificate, TimePoint from, TimePoint to) {
  const auto seconds = [](TimePoint time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  };
  check(::ASN1_TIME_set(::X509_getm_notBefore(certificate), seconds(from)) != nullptr &&
            ::ASN1_TIME_set(::X509_getm_notAfter(certificate), seconds(to)) != nullptr,
        "cannot write a certificate's times");
}

void set_serial(X509* certificate) {
  std::string bytes = random_bytes(16);
  bytes[0] = static_cast<char>((bytes[0] & 0x3f) | 0x40);  // positive, and of one length
  const detail::Owned<BIGNUM, &BN_free> number(
      ::BN_bin2bn(detail::bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
  check(number != nullptr && ::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(certificate)) != nullptr,
        "cannot write a certificate's serial number");
}

/// `value` is ours, never a caller's: the syntax of X509V3_EXT_conf_nid would let it say more than one thing.
void extend(X509* certificate, X509* issuer, int what, const char* value) {
  X509V3_CTX context{};
  ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const detail::Owned<X509_EXTENSION, &X509_EXTENSION_free> extension(
      ::X509V3_EXT_conf_nid(nullptr, &context, what, value));
  check(extension != nullptr && ::X509_add_ext(certificate, extension.get(), -1) == 1,
        "cannot write a certificate's extensions");
}

detail::Certificate start_certificate(std::string_view common_name, EVP_PKEY* key, TimePoint from, TimePoint to) {
  detail::Certificate made(::X509_new());
  check(
      made != nullptr && ::X509_set_version(made.get(), X509_VERSION_3) == 1 && ::X509_set_pubkey(made.get(), key) == 1,
      "cannot make a certificate");
  set_serial(made.get());
  set_times(made.get(), from, to);
  set_common_name(made.get(), common_name);
  return made;
}

/// `issuer` is `certificate` itself when it signs itself.
std::string finish_certificate(X509* certificate, X509* issuer, const PrivateKey& signer) {
  check(::X509_set_issuer_name(certificate, ::X509_get_subject_name(issuer)) == 1,
        "cannot write a certificate's issuer");
  extend(certificate, issuer, NID_subject_key_identifier, "hash");
  extend(certificate, issuer, NID_authority_key_identifier, "keyid:always");
  const bool is_edwards = ::EVP_PKEY_get_base_id(signer.native()) == EVP_PKEY_ED25519;
  check(::X509_sign(certificate, signer.native(), is_edwards ? nullptr : ::EVP_sha256()) > 0,
        "cannot sign a certificate");
  return detail::write_certificate(certificate);
}

void become_authority(X509* certificate) {
  extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  extend(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
}

/// 112 bits of strength at least: NIST SP 800-57, part 1, table 2.
void expect_strong(EVP_PKEY* key) {
  if (key != nullptr && ::EVP_PKEY_get_security_bits(key) >= 112) return;
  throw Error(Code::invalid, "the key of the certificate signing request is too weak")
      .advise("use ECDSA over P-256, Ed25519, or RSA with 2048 bits at least");
}

std::string certify(EVP_PKEY* key, const Leaf& leaf, const PrivateKey& signer, std::string_view issuer_pem,
                    TimePoint now) {
  const auto issuer = detail::read_certificates(issuer_pem);
  const TimePoint end = std::min(now + leaf.lifetime, describe(issuer.front().get()).not_after);
  const detail::Certificate made = start_certificate(leaf.common_name, key, now - slack(leaf.lifetime), end);
  extend(made.get(), issuer.front().get(), NID_basic_constraints, "critical,CA:FALSE");
  extend(made.get(), issuer.front().get(), NID_key_usage, "critical,digitalSignature");
  extend(made.get(), issuer.front().get(), NID_ext_key_usage,
         leaf.server && leaf.client ? "serverAuth,clientAuth"
         : leaf.server              ? "serverAuth"
                                    : "clientAuth");
  set_names(made.get(), leaf.names);
  return finish_certificate(made.get(), issuer.front().get(), signer);
}

}  // namespace

std::string server_name(std::string_view region, std::string_view domain) { return name_of("server", region, domain); }
std::string client_name(std::string_view region, std::string_view domain) { return name_of("client", region, domain); }
std::string cli_name(std::string_view region, std::string_view domain) { return name_of("cli", region, domain); }

Authority::Authority(std::string certificate, PrivateKey key)
    : certificate_(std::move(certificate)), key_(std::move(key)), info_(describe_certificate(certificate_)) {}

Authority Authority::make(std::string_view common_name, Duration lifetime, TimePoint now) {
  return make(Subject{.common_name = std::string(common_name)}, lifetime, now);
}

Authority Authority::make(const Subject& subject, Duration lifetime, TimePoint now,
                          const std::vector<std::string>& domains) {
  PrivateKey key = PrivateKey::generate();
  const detail::Certificate made =
      start_certificate(subject.common_name, key.native(), now - slack(lifetime), now + lifetime);
  set_subject(made.get(), subject);
  become_authority(made.get());
  permit_only(made.get(), domains);
  std::string pem = finish_certificate(made.get(), made.get(), key);
  return {std::move(pem), std::move(key)};
}

Authority Authority::load(std::string_view certificate_pem, std::string_view key_pem) {
  PrivateKey key = PrivateKey::from_pem(key_pem);
  const auto certificates = detail::read_certificates(certificate_pem);
  X509* own = certificates.front().get();
  if (::X509_check_ca(own) <= 0) {
    throw Error(Code::invalid, fmt::format("the certificate of '{}' is no authority's", describe(own).common_name));
  }
  if (::X509_check_private_key(own, key.native()) != 1) {
    detail::reason();
    throw Error(Code::invalid, fmt::format("the private key is not that of authority '{}'", describe(own).common_name));
  }
  return {std::string(certificate_pem), std::move(key)};
}

std::string Authority::sign_request(std::string_view request_pem, const Leaf& leaf, TimePoint now) const {
  const auto request = detail::read_request(request_pem);
  EVP_PKEY* key = ::X509_REQ_get0_pubkey(request.get());
  expect_strong(key);
  if (::X509_REQ_verify(request.get(), key) != 1) {
    throw Error(Code::invalid, "the certificate signing request is not signed by its own key")
        .because(detail::reason());
  }
  return certify(key, leaf, key_, certificate_, now);
}

Credentials Authority::issue(const Leaf& leaf, TimePoint now) const {
  const PrivateKey key = PrivateKey::generate();
  return {.certificate = certify(key.native(), leaf, key_, certificate_, now), .key = key.pem()};
}

std::string Authority::vouch_for(const Authority& other, TimePoint now) const {
  const auto issuer = detail::read_certificates(certificate_);
  const TimePoint end = std::min(info_.not_after, other.info_.not_after);
  const detail::Certificate made =
      start_certificate(other.info_.common_name, other.key_.native(), now - slack(end - now), end);
  become_authority(made.get());
  return finish_certificate(made.get(), issuer.front().get(), key_);
}

void verify_certificate(std::string_view chain, std::string_view authorities, TimePoint now) {
  const auto shown = detail::read_certificates(chain);
  const detail::Owned<X509_STORE, &X509_STORE_free> trusted(::X509_STORE_new());
  const detail::Owned<X509_STORE_CTX, &X509_STORE_CTX_free> context(::X509_STORE_CTX_new());
  STACK_OF(X509)* rest = sk_X509_new_null();
  const auto free_stack = [](STACK_OF(X509) * stack) { sk_X509_free(stack); };
  const std::unique_ptr<STACK_OF(X509), decltype(free_stack)> owned(rest, free_stack);
  check(trusted != nullptr && context != nullptr && rest != nullptr, "cannot verify a certificate");
  for (const auto& certificate : detail::read_certificates(authorities))
    ::X509_STORE_add_cert(trusted.get(), certificate.get());
  for (const auto& intermediate : shown) sk_X509_push(rest, intermediate.get());
  check(::X509_STORE_CTX_init(context.get(), trusted.get(), shown.front().get(), rest) == 1,
        "cannot verify a certificate");
  ::X509_STORE_CTX_set_time(context.get(), 0,
                            std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
  if (::X509_verify_cert(context.get()) == 1) return;
  const int verdict = ::X509_STORE_CTX_get_error(context.get());
  detail::reason();
  const CertificateInfo info = describe(shown.front().get());
  throw Error(Code::denied, fmt::format("the certificate of '{}' is not trusted", info.common_name))
      .because(verdict == X509_V_ERR_CERT_HAS_EXPIRED ? fmt::format("it expired at {}", format_time(info.not_after))
                                                      : ::X509_verify_cert_error_string(verdict));
}

}  // namespace underway::crypto
