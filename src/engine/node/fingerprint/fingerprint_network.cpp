#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "node/fingerprint/fingerprint.hpp"
#include "os/file.hpp"

namespace underway::node {

namespace {

/// The device of the default route with the smallest metric (proc(5), /proc/net/route); empty when there is none.
std::string default_device(std::string_view routes) {
  std::string device;
  std::int64_t best = 0;
  for (const std::string& line : split(routes, '\n')) {
    std::vector<std::string> fields;
    for (const std::string& field : split(line, '\t'))
      if (!trim(field).empty()) fields.emplace_back(trim(field));
    if (fields.size() < 8 || fields[1] != "00000000" || fields[7] != "00000000") continue;
    const auto metric = leading_number_or<std::int64_t>(fields[6], 0);
    if (device.empty() || metric < best) {
      device = fields[0];
      best = metric;
    }
  }
  return device;
}

struct Address {
  std::string device;
  std::string ip;
  int prefix = 0;
  bool loopback = false;
};

std::vector<Address> list_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<Address> addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_UP) == 0 || entry->ifa_netmask == nullptr) continue;
    sockaddr_in address{};
    sockaddr_in mask{};
    std::memcpy(&address, entry->ifa_addr, sizeof address);
    std::memcpy(&mask, entry->ifa_netmask, sizeof mask);
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    addresses.push_back(
        {entry->ifa_name, text, __builtin_popcount(mask.sin_addr.s_addr), (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return addresses;
}

const Address* choose(const std::vector<Address>& addresses, const std::string& device) {
  if (!device.empty())
    for (const auto& address : addresses)
      if (address.device == device) return &address;
  for (const auto& address : addresses)
    if (!address.loopback) return &address;
  return addresses.empty() ? nullptr : &addresses.front();
}

/// Whether the address lies in "10.0.0.0/8"; throws invalid when that is none.
bool lies_in(const std::string& ip, const std::string& cidr, const std::string& name) {
  const std::size_t slash = cidr.find('/');
  in_addr network{}, address{};
  const unsigned bits =
      slash == std::string::npos ? 33 : leading_number_or(std::string_view(cidr).substr(slash + 1), 33U);
  if (bits > 32 || ::inet_pton(AF_INET, cidr.substr(0, slash).c_str(), &network) != 1)
    throw Error(Code::invalid, fmt::format("host_network '{}': '{}' is no IPv4 network", name, cidr))
        .advise("write it as \"10.20.0.0/16\"");
  ::inet_pton(AF_INET, ip.c_str(), &address);
  const std::uint32_t mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
  return (ntohl(address.s_addr) & mask) == (ntohl(network.s_addr) & mask);
}

bool is_on(const Address& address, const model::NodeNetwork& network) {
  if (!network.device.empty() && address.device != network.device) return false;
  return network.cidr.empty() || lies_in(address.ip, network.cidr, network.name);
}

std::string wanted(const model::NodeNetwork& network) {
  std::string text = "wanted:";
  if (!network.device.empty()) text += fmt::format(" on interface '{}'", network.device);
  if (!network.cidr.empty()) text += fmt::format(" in {}", network.cidr);
  return text;
}

}  // namespace

void fingerprint_network(const Machine& machine, const Options& options, Findings& findings) {
  std::string device = options.network_interface;
  const auto addresses = list_addresses();
  if (device.empty()) device = default_device(os::find_file(machine.path("/proc/net/route")).value_or(""));
  const Address* address = choose(addresses, device);
  if (!options.network_interface.empty() && (address == nullptr || address->device != options.network_interface))
    throw Error(Code::invalid, fmt::format("network_interface '{}' has no IPv4 address", options.network_interface))
        .advise("name an interface that `ip -4 addr` shows with an address, or leave network_interface out");
  if (address != nullptr) {
    findings.attributes["unique.network.ip-address"] = address->ip;
    findings.networks.push_back(
        {"default", address->device, address->ip, fmt::format("{}/{}", address->ip, address->prefix)});
  }
  for (const auto& network : options.host_networks) {
    const auto on_it = std::ranges::find_if(addresses, [&](const Address& a) { return is_on(a, network); });
    if (on_it == addresses.end())
      throw Error(Code::invalid, fmt::format("host_network '{}' has no IPv4 address here", network.name))
          .because(wanted(network))
          .advise("see `ip -4 addr`, and correct its cidr or interface");
    findings.networks.push_back(
        {network.name, on_it->device, on_it->ip, fmt::format("{}/{}", on_it->ip, on_it->prefix)});
  }
}

}  // namespace underway::node
