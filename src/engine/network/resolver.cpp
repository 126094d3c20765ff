#include "network/resolver.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace underway::network {

std::string resolver_file(const std::optional<model::Dns>& dns, const std::string& of_host) {
  if (!dns) return of_host;
  std::string text;
  // What the group does not say is as on the host.
  for (const auto& line : split(of_host, '\n')) {
    const auto word = split(trim(line), ' ').front();
    const bool given = (word == "nameserver" && !dns->servers.empty()) ||
                       (word == "options" && !dns->options.empty()) ||
                       ((word == "search" || word == "domain") && !dns->searches.empty());
    if (!given && !trim(line).empty()) text += std::string(line) + "\n";
  }
  for (const auto& server : dns->servers) text += fmt::format("nameserver {}\n", server);
  if (!dns->searches.empty()) text += fmt::format("search {}\n", join(dns->searches, " "));
  if (!dns->options.empty()) text += fmt::format("options {}\n", join(dns->options, " "));
  return text;
}

bool is_local_resolver(const std::string& text) {
  bool any = false;
  for (const auto& line : split(text, '\n')) {
    const auto trimmed = trim(line);
    if (!trimmed.starts_with("nameserver")) continue;
    any = true;
    const auto server = trim(trimmed.substr(10));
    if (!server.starts_with("127.") && server != "::1") return false;
  }
  return any;
}

std::string hosts_file(const std::string& address, const std::string& name) {
  std::string text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  if (!name.empty()) text += fmt::format("{} {}\n", address.empty() ? "127.0.1.1" : address, name);
  return text;
}

}  // namespace underway::network
