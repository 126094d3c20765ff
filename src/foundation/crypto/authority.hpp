#pragma once
/// @file
/// A certificate authority: it signs the certificates of servers, nodes and command lines. What a certificate may say
/// is decided here, never by the request: of a request only its public key is used.

#include "crypto/certificate.hpp"
#include "crypto/key.hpp"

namespace underway::crypto {

/// Nomad's names of the roles, which its servers and clients look for: "server.global.nomad".
std::string server_name(std::string_view region, std::string_view domain = "nomad");
std::string client_name(std::string_view region, std::string_view domain = "nomad");
std::string cli_name(std::string_view region, std::string_view domain = "nomad");

/// What a certificate is to say.
struct Leaf {
  std::string common_name;
  std::vector<std::string> names;  ///< DNS names, addresses, and URIs ("scheme://…")
  Duration lifetime = std::chrono::hours(24 * 30);
  bool server = false;  ///< may be shown by a server
  bool client = true;   ///< may be shown by a client
};

struct Credentials {
  std::string certificate;  ///< PEM, with what leads to the authority
  Secret key;               ///< PEM
};

/// Who an authority is (X.520); what is empty is not said.
struct Subject {
  std::string common_name;
  std::string country;  ///< two letters: ISO 3166
  std::string province, locality, street_address, postal_code, organization, organizational_unit;
};

class Authority {
 public:
  static Authority make(std::string_view common_name, Duration lifetime, TimePoint now);
  /// `domains`: unless empty, a certificate of it is good only for names in these (RFC 5280, 4.2.1.10). Throws
  /// Error(invalid): something that cannot stand in a certificate.
  static Authority make(const Subject& subject, Duration lifetime, TimePoint now,
                        const std::vector<std::string>& domains = {});
  /// Throws Error(invalid): no authority's certificate, or a key that is not its.
  static Authority load(std::string_view certificate_pem, std::string_view key_pem);

  const std::string& certificate() const { return certificate_; }
  const CertificateInfo& info() const { return info_; }
  Secret key_pem() const { return key_.pem(); }

  /// Signs the key of a request. Throws Error(invalid): no request, a key too weak, a signature that does not prove it,
  /// a name that cannot stand in a certificate. Valid from five minutes ago (of a short life: a tenth
  /// of it), for clocks that are behind; never longer than the authority itself.
  std::string sign_request(std::string_view request_pem, const Leaf& leaf, TimePoint now) const;
  /// Makes the key as well.
  Credentials issue(const Leaf& leaf, TimePoint now) const;
  /// A certificate of this authority for `other`: who trusts this one follows a chain that holds it to `other`'s. So a
  /// new authority is trusted by those who know only the old one.
  std::string vouch_for(const Authority& other, TimePoint now) const;

 private:
  Authority(std::string certificate, PrivateKey key);

  std::string certificate_;
  PrivateKey key_;
  CertificateInfo info_;
};

/// Verifies that the first certificate of `chain` is of one of `authorities` (PEM bundles both) at `now`.
/// Throws Error(denied) saying why not.
void verify_certificate(std::string_view chain, std::string_view authorities, TimePoint now);

}  // namespace underway::crypto
