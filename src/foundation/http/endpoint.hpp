#pragma once
/// @file
/// Addresses: where a server listens, and what a client dials.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace underway::http {

/// Where to listen or dial: a TCP host and port, or a unix socket.
struct Endpoint {
  std::string host = {};         ///< name or address, without brackets; unused for a unix socket
  std::uint16_t port = 0;        ///< 0 when listening: any free port
  std::string socket_path = {};  ///< not empty: a unix socket
  unsigned socket_mode = 0600;   ///< permissions of a unix socket that is listened on

  bool is_unix() const { return !socket_path.empty(); }
  bool operator==(const Endpoint&) const = default;
};

/// Parses "host:port", "[::1]:port", "unix:/path" and "unix:///path". Throws Error(invalid).
Endpoint parse_endpoint(std::string_view text);
/// Where to listen, at port `otherwise` unless the text has one: "host", "host:port", "::1", "[::1]", "[::1]:port".
/// Throws Error(invalid).
Endpoint parse_listener(std::string_view text, std::uint16_t otherwise);
/// "127.0.0.1:4646", "[::1]:4646", "unix:/run/x.sock".
std::string to_string(const Endpoint& endpoint);

/// A base address as in NOMAD_ADDR: "http://host:4646", "https://host/prefix", "unix:///run/x.sock", "host:4646"; and
/// "https+unix:///run/x.sock", TLS over a unix socket.
struct Url {
  Endpoint endpoint;
  bool tls = false;
  std::string path = {};  ///< without a trailing slash; prefixed to every target

  bool operator==(const Url&) const = default;
};

/// Throws Error(invalid). A missing scheme is http; a missing port is the scheme's.
Url parse_url(std::string_view text);
std::string to_string(const Url& url);

}  // namespace underway::http
