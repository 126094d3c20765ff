#pragma once
/// @file
/// A node's side of trust: its key, its certificate and what it trusts, on disk; how it gets the certificate with a
/// join token, and renews it over the link. The key never leaves the node.
///
/// Files, below `directory` (0700):
///     joining.pem      0600  private key of a node that is about to join
///     node.pem         0600  private key, and certificate with its chain: replaced as a whole
///     authorities.pem  0644  what the node trusts
/// With `given` files there is nothing to join for: they are the site's, and read again at every dial.

#include <functional>

#include "async/control_loop.hpp"
#include "crypto/authority.hpp"
#include "http/client.hpp"
#include "trust/messages.hpp"

namespace underway::trust {

using async::awaitable;

struct MembershipOptions {
  std::string directory;
  std::string region = "global";
  std::string node_id, secret, name, pool;
  /// The text of a join token, asked for whenever one is needed. Throws Error when there is none.
  std::function<awaitable<crypto::Secret>()> token;
  std::string authorities_file;  ///< PEM; empty: the authority whose fingerprint is in the token
  http::TlsFiles given;          ///< certificate and key of the site's own authority
};

class Membership {
 public:
  /// Reads what is there. Throws what keeps it from being read. `clock` outlives it.
  Membership(MembershipOptions options, async::Executor executor, const Clock& clock);

  /// What to dial `server` with: plain for a URL without TLS. Joins first when there is no certificate or it has
  /// expired. Throws Error: denied (a token that is not good), invalid, not_found (no token), unavailable.
  awaitable<std::optional<http::TlsContext>> prepare(std::string server);

  /// Whether half of the certificate's life is over, or renew_now was called; not too soon after a failure.
  bool renewal_due() const;
  /// Renews by asking `ask` (a call over the link), with a new key. A failure is logged when it is the first, and tried
  /// again when it is due.
  using Ask = std::function<awaitable<Certified>(CertificateRequest)>;
  awaitable<void> renew(Ask ask);
  void renew_now() { renew_now_ = true; }

  bool joined() const { return certificate_.has_value(); }
  /// Only when joined.
  const crypto::CertificateInfo& certificate() const { return *certificate_; }

 private:
  awaitable<void> join(std::string server);
  crypto::PrivateKey joining_key() const;
  http::TlsContext first_contact(const std::string& authority_fingerprint) const;
  void accept(const crypto::PrivateKey& key, const Certified& made);
  void load();
  std::string common_name() const;

  MembershipOptions options_;
  async::Executor executor_;
  const Clock& clock_;
  std::optional<crypto::PrivateKey> key_;
  std::string chain_, authorities_;
  std::optional<crypto::CertificateInfo> certificate_;
  bool renew_now_ = false;
  std::optional<async::Streak> failing_;  ///< while it cannot be renewed
  TimePoint not_before_{};                ///< of the next try, after a failure
};

/// A token from a file, read when it is asked for.
std::function<awaitable<crypto::Secret>()> token_in(std::string file);

}  // namespace underway::trust
