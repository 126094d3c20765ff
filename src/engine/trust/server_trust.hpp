#pragma once
/// @file
/// A server's side of trust: the built-in authority on disk, and the server's own certificate, which is made at every
/// start, lives in memory only, and is replaced before it ends while connections run on.
///
/// Files, below `directory` (0700):
///     authority.pem   0600  private key, own certificate, then what former authorities said: replaced as a whole
///     ca.pem          0644  what others must trust: for people, `-ca-cert`, `client.ca_file`

#include "http/tls.hpp"
#include "trust/identity.hpp"
#include "trust/messages.hpp"

namespace underway::trust {

struct ServerTrustOptions {
  std::string directory;
  std::string region = "global";
  std::vector<std::string> names = {};  ///< of the server, beside its role's: host names and addresses
  Duration authority_lifetime = std::chrono::hours(24 * 3650);
  Duration server_lifetime = std::chrono::hours(24 * 30);
  Duration node_lifetime = std::chrono::hours(48);
};

class ServerTrust {
 public:
  /// Opens the authority, or makes it. Throws what keeps it from being read or written. `clock` outlives it.
  /// Blocks, here and below where something is made: some milliseconds (disk).
  ServerTrust(ServerTrustOptions options, const Clock& clock);

  /// For listeners that nodes link to: asks for certificates. Replaced by everything below.
  const std::shared_ptr<http::TlsHolder>& tls() const { return tls_; }
  /// For listeners that let nobody in without a certificate.
  const std::shared_ptr<http::TlsHolder>& demanding_tls() const { return demanding_tls_; }
  const crypto::Authority& authority() const { return kept_.authority; }
  const crypto::CertificateInfo& certificate() const { return certificate_; }
  /// PEM bundle: the authority, and the former ones that nodes may still have certificates of.
  std::string authorities() const;
  const ServerTrustOptions& options() const { return options_; }

  /// The certificate of a node for the key of `request`, good for options().node_lifetime, or `at_most`. Throws
  /// Error(invalid) when that is no request.
  Certified certify_node(const Identity& identity, const std::string& name, const std::string& request,
                         std::optional<Duration> at_most = {}) const;

  /// A new key and certificate for the server, used by new connections.
  void renew_certificate();
  /// A new authority. The former one vouches for it and is trusted until every certificate that it gave has ended.
  void rotate_authority();
  /// What is due by the clock: renewal at half of the certificate's life, the end of trust in former authorities.
  /// Returns what was done, in words; empty when nothing was due.
  std::string keep_fresh();

 private:
  /// What authority.pem holds.
  struct Kept {
    crypto::Authority authority;
    std::string vouched = {};  ///< PEM: the authority by the one before it, that one by the one before, …
    std::string former = {};   ///< PEM bundle
  };
  static Kept parse(std::string_view text);
  static Kept open_or_make(const ServerTrustOptions& options, TimePoint now);
  void keep(Kept kept);
  bool former_are_over() const;

  ServerTrustOptions options_;
  const Clock& clock_;
  Kept kept_;
  crypto::CertificateInfo certificate_;
  std::shared_ptr<http::TlsHolder> tls_, demanding_tls_;
};

}  // namespace underway::trust
