#include "http/endpoint.hpp"

#include <fmt/format.h>
#include <boost/asio/ip/address_v6.hpp>

#include "base/error.hpp"
#include "base/numbers.hpp"

namespace underway::http {
namespace {

Error bad(std::string_view kind, std::string_view text, std::string why) {
  return Error(Code::invalid, fmt::format("'{}' is no {}", text, kind)).because(std::move(why));
}

std::uint16_t parse_port(std::string_view kind, std::string_view whole, std::string_view text) {
  if (const auto port = parse_number<std::uint16_t>(text)) return *port;
  throw bad(kind, whole, fmt::format("'{}' is no port (0 to 65535)", text));
}

/// "host:port" or "[v6]:port"; the port may be missing when `default_port` is given.
Endpoint parse_host_port(std::string_view kind, std::string_view whole, std::string_view text,
                         std::optional<std::uint16_t> default_port) {
  Endpoint endpoint;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) throw bad(kind, whole, "a ']' is missing");
    endpoint.host = std::string(text.substr(1, close - 1));
    rest = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    if (colon != text.rfind(':')) throw bad(kind, whole, "an IPv6 address is written in brackets");
    endpoint.host = std::string(text.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  if (endpoint.host.empty()) throw bad(kind, whole, "the host is missing");
  if (endpoint.host.find_first_of(" \t\r\n/@?#\\") != std::string::npos)
    throw bad(kind, whole, "the host is malformed");
  if (rest.empty() && default_port)
    endpoint.port = *default_port;
  else if (rest.starts_with(':'))
    endpoint.port = parse_port(kind, whole, rest.substr(1));
  else
    throw bad(kind, whole, "the port is missing");
  return endpoint;
}

/// The longest path that fits sun_path with its final NUL: unix(7).
constexpr std::size_t kLongestSocketPath = 107;

Endpoint parse_socket(std::string_view kind, std::string_view whole, std::string_view path) {
  if (path.starts_with("//")) path.remove_prefix(2);
  if (!path.starts_with('/')) throw bad(kind, whole, "the path of a unix socket is absolute");
  if (path.size() > kLongestSocketPath) {
    throw bad(kind, whole, fmt::format("the path has {} bytes, the kernel takes {}", path.size(), kLongestSocketPath));
  }
  Endpoint endpoint;
  endpoint.socket_path = std::string(path);
  return endpoint;
}

std::string host_port(const Endpoint& endpoint) {
  return endpoint.host.find(':') == std::string::npos ? fmt::format("{}:{}", endpoint.host, endpoint.port)
                                                      : fmt::format("[{}]:{}", endpoint.host, endpoint.port);
}

}  // namespace

Endpoint parse_endpoint(std::string_view text) {
  constexpr std::string_view kind = "address";
  if (text.starts_with("unix:")) return parse_socket(kind, text, text.substr(5));
  std::string_view rest = text;
  if (rest.starts_with("tcp://")) rest.remove_prefix(6);
  return parse_host_port(kind, text, rest, std::nullopt);
}

Endpoint parse_listener(std::string_view text, std::uint16_t otherwise) {
  boost::system::error_code failed;
  boost::asio::ip::make_address_v6(std::string(text), failed);
  if (!failed) return {.host = std::string(text), .port = otherwise};
  return parse_host_port("address", text, text, otherwise);
}

std::string to_string(const Endpoint& endpoint) {
  return endpoint.is_unix() ? "unix:" + endpoint.socket_path : host_port(endpoint);
}

Url parse_url(std::string_view text) {
  constexpr std::string_view kind = "URL";
  Url url;
  if (text.starts_with("unix:")) {
    url.endpoint = parse_socket(kind, text, text.substr(5));
    return url;
  }
  constexpr std::string_view kTlsSocket = "https+unix:";
  if (text.starts_with(kTlsSocket)) {
    url.tls = true;
    url.endpoint = parse_socket(kind, text, text.substr(kTlsSocket.size()));
    return url;
  }
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.find("://") != std::string_view::npos) {
    throw bad(kind, text, "the scheme is none of http, https and unix");
  }
  const auto slash = rest.find('/');
  if (slash != std::string_view::npos) {
    url.path = std::string(rest.substr(slash));
    while (url.path.ends_with('/')) url.path.pop_back();
    if (url.path.find_first_of("?# ") != std::string::npos) throw bad(kind, text, "a base URL has no query");
  }
  url.endpoint = parse_host_port(kind, text, rest.substr(0, slash), url.tls ? 443 : 80);
  return url;
}

std::string to_string(const Url& url) {
  if (url.endpoint.is_unix()) return (url.tls ? "https+unix://" : "unix://") + url.endpoint.socket_path;
  return fmt::format("{}://{}{}", url.tls ? "https" : "http", host_port(url.endpoint), url.path);
}

}  // namespace underway::http
