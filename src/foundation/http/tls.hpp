#pragma once
/// @file
/// TLS as a parameter: without a TlsContext a connection is plain, with one it is TLS, mutual where the server asks for
/// a client's certificate. Nothing else in this library differs between the two.

#include <memory>
#include <string>
#include <string_view>

namespace underway::http {

struct TlsFiles {
  std::string certificate = {};  ///< PEM, with its chain; a client without one is anonymous
  std::string key = {};          ///< PEM
  std::string authority = {};    ///< PEM bundle that the other side's certificate must chain to
};

/// The same as texts, which the caller keeps during the call.
struct TlsTexts {
  std::string_view certificate = {};
  std::string_view key = {};
  std::string_view authority = {};
};

/// What a server does about the certificates of its clients.
enum class ClientCertificates {
  ignored,
  /// A client may show one. Handlers see in Peer whether it did, and what was wrong with it: the handshake succeeds, so
  /// that a refusal can say why.
  requested,
  demanded,  ///< a client without a good one does not get past the handshake
};

/// Immutable and shared: one serves many connections. TLS 1.2 at least. Where clients show certificates, sessions are
/// not resumed: a certificate that has expired or was replaced would live on in them.
class TlsContext {
 public:
  /// Throws Error(invalid) naming the file that cannot be used.
  static TlsContext server(const TlsFiles& files, ClientCertificates clients = ClientCertificates::ignored);
  static TlsContext server(const TlsTexts& texts, ClientCertificates clients = ClientCertificates::ignored);
  /// Verifies the server against `files.authority` (or the system's authorities without it) and the name it was dialled
  /// under, or `server_name` when given. `verify` false accepts anyone: for `-tls-skip-verify` only.
  static TlsContext client(const TlsFiles& files, std::string server_name = {}, bool verify = true);
  static TlsContext client(const TlsTexts& texts, std::string server_name = {}, bool verify = true);
  /// For the first contact, when the authority is known by its fingerprint alone (SHA-256, hexadecimal): the server
  /// must show that authority with its certificate.
  static TlsContext pinning_client(std::string authority_fingerprint, std::string server_name = {});

  struct Native;
  const std::shared_ptr<const Native>& native() const { return native_; }

 private:
  explicit TlsContext(std::shared_ptr<const Native> native) : native_(std::move(native)) {}
  std::shared_ptr<const Native> native_;
};

/// What new connections use. It is replaced while old ones run on with what they began with. Thread: one loop.
class TlsHolder {
 public:
  explicit TlsHolder(TlsContext context) : context_(std::move(context)) {}
  const TlsContext& current() const { return context_; }
  void replace(TlsContext context) { context_ = std::move(context); }

 private:
  TlsContext context_;
};

}  // namespace underway::http
