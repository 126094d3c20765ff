#include "agent/server_names.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "host/reconcile.hpp"

namespace underway::agent {
namespace {

/// Of all interfaces that are up, but for loopback and link-local ones.
std::vector<std::string> machine_addresses() {
  std::vector<std::string> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(all, &::freeifaddrs);
  for (const ifaddrs* interface = all; interface != nullptr; interface = interface->ifa_next) {
    if (interface->ifa_addr == nullptr || (interface->ifa_flags & IFF_LOOPBACK) != 0 ||
        (interface->ifa_flags & IFF_UP) == 0)
      continue;
    const bool v4 = interface->ifa_addr->sa_family == AF_INET;
    if (!v4 && interface->ifa_addr->sa_family != AF_INET6) continue;
    char text[NI_MAXHOST] = {};
    const socklen_t size = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(interface->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    out.emplace_back(text);
  }
  std::erase_if(out, [](const std::string& address) { return address.starts_with("fe80:"); });
  return out;
}

bool may_stand_in_a_certificate(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' || c == ':';
  });
}

}  // namespace

std::string hostname() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::vector<std::string> server_names(const Config& config) {
  const auto listener = config.http_endpoint();
  std::vector<std::string> names = {hostname(), config.name};
  if (listener && (listener->host == "0.0.0.0" || listener->host == "::")) {
    const auto own = machine_addresses();
    names.insert(names.end(), own.begin(), own.end());
  } else if (listener) {
    names.push_back(listener->host);
  }
  std::vector<std::string> out;
  for (const auto& name : names) {
    const bool known = name == "localhost" || name == "127.0.0.1" || name == "::1" ||
                       std::find(out.begin(), out.end(), name) != out.end();
    if (!known && may_stand_in_a_certificate(name)) out.push_back(name);
  }
  return out;
}

MachineLinks machine_links(const Config& config, const model::Cluster& cluster) {
  const auto tcp = config.http_endpoint();
  if (tcp && !config.is_alone()) {
    const bool any = tcp->host == "0.0.0.0" || tcp->host == "::";
    return {fmt::format("https://{}:{}", any ? hostname() : tcp->host, tcp->port), std::nullopt};
  }
  for (const auto& network : host::cluster_spec(cluster).networks) {
    if (!network.nat) continue;
    http::Endpoint link;
    link.host = net::to_string(network.gateway.value_or(network.cidr.host(1)));
    link.port = static_cast<std::uint16_t>(config.ports.http);
    return {fmt::format("https://{}", http::to_string(link)), link};
  }
  throw Error(Code::invalid, fmt::format("the machines of cluster '{}' cannot reach this server", cluster.name))
      .because("it listens on this machine alone, and has no address on a network of the cluster")
      .advise("set bind_addr in the agent's configuration, or nat = true in a network");
}

}  // namespace underway::agent
