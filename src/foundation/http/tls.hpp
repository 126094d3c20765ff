#pragma once
/// @file
/// TLS as a parameter: without a TlsContext a connection is plain, with one it is TLS, mutual where the server demands
/// a client's certificate. Nothing else in this library differs between the two.

#include <memory>
#include <string>

namespace underway::http {

struct TlsFiles {
  std::string certificate = {};  ///< PEM, with its chain; a client without one is anonymous
  std::string key = {};          ///< PEM
  std::string authority = {};    ///< PEM bundle that the other side's certificate must chain to
};

/// Immutable and shared: one serves many connections. TLS 1.2 at least.
class TlsContext {
 public:
  /// `demand_client_certificate`: refuse peers without a certificate of `files.authority`.
  /// Throws Error(invalid) naming the file that cannot be used.
  static TlsContext server(const TlsFiles& files, bool demand_client_certificate = false);
  /// Verifies the server against `files.authority` (or the system's authorities without it) and the name it was dialled
  /// under, or `server_name` when given. `verify` false accepts anyone: for `-tls-skip-verify` only.
  static TlsContext client(const TlsFiles& files, std::string server_name = {}, bool verify = true);

  struct Native;
  const std::shared_ptr<const Native>& native() const { return native_; }

 private:
  explicit TlsContext(std::shared_ptr<const Native> native) : native_(std::move(native)) {}
  std::shared_ptr<const Native> native_;
};

}  // namespace underway::http
