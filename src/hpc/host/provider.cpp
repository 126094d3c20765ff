#include "host/provider.hpp"

#include <algorithm>

namespace underway::host {
namespace {

/// RFC 1123 §2.1, and at most what the kernel takes as a host name.
bool is_label(std::string_view name) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), good) && name.front() != '-' &&
         name.back() != '-';
}

/// Absolute, and saying what it means.
bool is_clean_path(std::string_view path) {
  return path.size() > 1 && path.front() == '/' && path.back() != '/' && path.find('\0') == std::string_view::npos &&
         (std::string(path) + "/").find("/../") == std::string::npos &&
         (std::string(path) + "/").find("/./") == std::string::npos && path.find("//") == std::string_view::npos;
}

bool is_mode(const std::string& text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("01234567") == std::string::npos;
}

void check_label(std::string_view what, const std::string& name, std::vector<std::string>& found) {
  if (is_label(name)) return;
  found.push_back(fmt::format("{} '{}' is no host name: lower-case letters, digits and '-', at most 63", what, name));
}

void check_path(std::string_view what, const std::string& path, std::vector<std::string>& found) {
  if (!is_clean_path(path))
    found.push_back(fmt::format("{} '{}' must be an absolute path without '.' and '..'", what, path));
}

void check_mode(const std::string& path, const std::string& mode, std::vector<std::string>& found) {
  if (!is_mode(mode)) found.push_back(fmt::format("mode '{}' of '{}' is no octal number", mode, path));
}

}  // namespace

std::vector<std::string> problems(const ClusterSpec& cluster) {
  std::vector<std::string> found;
  check_label("cluster", cluster.name, found);
  for (auto network = cluster.networks.begin(); network != cluster.networks.end(); ++network) {
    check_label("network", network->name, found);
    if (network->gateway && !network->cidr.contains(*network->gateway)) {
      found.push_back(fmt::format("gateway {} of network '{}' lies outside {}", to_string(*network->gateway),
                                  network->name, to_string(network->cidr)));
    }
    for (auto other = cluster.networks.begin(); other != network; ++other) {
      if (other->name == network->name) found.push_back(fmt::format("two networks are called '{}'", network->name));
      if (other->cidr.overlaps(network->cidr)) {
        found.push_back(fmt::format("networks '{}' ({}) and '{}' ({}) overlap", other->name, to_string(other->cidr),
                                    network->name, to_string(network->cidr)));
      }
    }
  }
  for (const auto& share : cluster.shares) {
    check_path("share", share.path, found);
    check_mode(share.path, share.mode, found);
  }
  return found;
}

std::vector<std::string> problems(const HostSpec& host) {
  std::vector<std::string> found;
  check_label("cluster", host.cluster, found);
  check_label("host", host.name, found);
  if (host.addresses.empty()) found.push_back(fmt::format("host '{}' has no address", host.name));
  for (const auto& directory : host.directories) {
    check_path("directory", directory.path, found);
    check_mode(directory.path, directory.mode, found);
  }
  for (const auto& bind : host.binds) {
    check_path("bind source", bind.source, found);
    check_path("bind target", bind.target, found);
  }
  for (const auto& variable : host.agent_env) {
    if (variable.find('=') == std::string::npos) found.push_back(fmt::format("'{}' is no NAME=value", variable));
  }
  if (host.cpus < 0 || host.memory_mb < 0) found.push_back("cpus and memory are not negative");
  return found;
}

}  // namespace underway::host
