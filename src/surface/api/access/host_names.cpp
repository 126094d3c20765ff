#include "api/access/host_names.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace underway::api {

namespace {

/// "[::1]:4646" and "Localhost.:4646" without port, brackets, final dot and capitals.
std::string host_of(std::string_view authority) {
  if (authority.starts_with('[')) return lower(authority.substr(1, authority.find(']') - 1));
  std::string host = lower(authority.substr(0, authority.rfind(':')));
  if (host.ends_with('.')) host.pop_back();
  return host;
}

bool is_address(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 || ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool changes_something(const http::Request& request) {
  if (request.headers.has_token("Upgrade", "websocket")) return true;
  return request.method != "GET" && request.method != "HEAD" && request.method != "OPTIONS";
}

}  // namespace

HostNames::HostNames(std::vector<std::string> names) {
  for (const auto& name : names) names_.push_back(lower(name));
}

bool HostNames::knows(const std::string& host) const {
  return is_address(host) || host == "localhost" || host.ends_with(".localhost") ||
         std::find(names_.begin(), names_.end(), host) != names_.end();
}

std::optional<http::Response> HostNames::refusal(const http::Request& request) const {
  if (request.remote.uid) return std::nullopt;
  const auto host = request.headers.find("Host");
  if (!host || host->empty()) return std::nullopt;
  if (const std::string name = host_of(*host); !knows(name)) {
    return http::text(403,
                      fmt::format("'{}' is no name of this server, which asks for no token: a page of the web could "
                                  "have led a browser here by it; use an address or one of: localhost{}{}; or turn "
                                  "on ACL, then any name will do",
                                  name.substr(0, 100), names_.empty() ? "" : ", ", join(names_, ", ")));
  }
  const auto origin = request.headers.find("Origin");
  if (!origin || !changes_something(request)) return std::nullopt;
  const auto scheme = origin->find("://");
  if (scheme != std::string_view::npos && lower(origin->substr(scheme + 3)) == lower(*host)) return std::nullopt;
  return http::text(403,
                    fmt::format("a page of '{}' may change nothing here: this server asks for no token, so it takes "
                                "changes from its own pages and from programs alone",
                                origin->substr(0, 100)));
}

}  // namespace underway::api
