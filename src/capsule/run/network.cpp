#include "run/network.hpp"

#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "net/sysctl.hpp"

namespace underway::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kLinkKind = "capsule-link";
/// The kernel lets a port forward some microseconds after both its ends are up; what is sent before is lost.
constexpr auto kForwardingPatience = std::chrono::seconds{5};
constexpr auto kIpv6Patience = std::chrono::seconds{5};

/// An address, always the same hardware address, on whichever host: neighbours that missed the announcement still
/// reach it. Not that of a host with the address (02:00:…), which would hide that somebody has it.
std::string mac_of(const net::Ip& ip) {
  const auto& b = ip.bytes();
  return ip.family() == net::Ip::Family::v4
             ? fmt::format("02:02:{:02x}:{:02x}:{:02x}:{:02x}", b[0], b[1], b[2], b[3])
             : fmt::format("02:03:{:02x}:{:02x}:{:02x}:{:02x}", b[12], b[13], b[14], b[15]);
}

void require_bridges(const net::Netlink& here, const std::vector<Port>& ports) {
  std::vector<std::string> bridges;
  const auto links = here.links();
  for (const auto& link : links) {
    if (link.kind == "bridge") bridges.push_back(link.name);
  }
  for (const auto& port : ports) {
    if (std::find(bridges.begin(), bridges.end(), port.bridge) != bridges.end()) continue;
    const bool other =
        std::any_of(links.begin(), links.end(), [&](const auto& link) { return link.name == port.bridge; });
    throw Error(other ? Code::invalid : Code::not_found,
                fmt::format("cannot join network '{}': this host has no bridge '{}'", port.network, port.bridge))
        .because(other             ? fmt::format("'{}' is a link of another kind", port.bridge)
                 : bridges.empty() ? std::string("it has no bridge at all")
                                   : fmt::format("its bridges are {}", join(bridges, ", ")))
        .advise(
            "make the bridge with the host's interface as a port, set `bridges = true` in the pool of local hosts, "
            "or name another in `bridge`");
  }
}

void wait_forwarding(const net::Netlink& here, const Port& port) {
  const auto deadline = steady_clock::now() + kForwardingPatience;
  while (!here.port_forwards(port.host_link)) {
    if (steady_clock::now() > deadline) {
      throw Error(Code::timeout, fmt::format("bridge '{}' does not forward for '{}'", port.bridge, port.host_link))
          .because(fmt::format("not within {}", human_duration(kForwardingPatience)))
          .advise("a bridge with spanning tree makes new ports wait: switch it off, or set its forward delay to 0");
    }
    std::this_thread::sleep_for(milliseconds{1});
  }
}

Error in_use(const std::vector<std::string>& who) {
  return Error(Code::conflict, "an address of the capsule is already in use")
      .because(who)
      .advise("stop what uses it, or give the capsule another; nothing was started");
}

bool has_ipv6(const Port& port) {
  return std::any_of(port.addresses.begin(), port.addresses.end(),
                     [](const auto& cidr) { return cidr.ip.family() == net::Ip::Family::v6; });
}

/// The kernel's own probing (RFC 4862 §5.4) in milliseconds instead of seconds, as ours of IPv4 addresses.
void hasten_ipv6(const net::Namespace& in, const std::string& link) {
  std::string name = link;
  std::replace(name.begin(), name.end(), '.', '/');
  net::set_sysctl(in, fmt::format("net.ipv6.conf.{}.accept_ra", name), "0");
  net::set_sysctl(in, fmt::format("net.ipv6.conf.{}.router_solicitation_delay", name), "0");
  net::set_sysctl(in, fmt::format("net.ipv6.conf.{}.dad_transmits", name), "2");
  net::set_sysctl(in, fmt::format("net.ipv6.neigh.{}.retrans_time_ms", name), "15");
}

}  // namespace

std::vector<Port> ports_of(const std::vector<NetworkConfig>& networks, const std::string& owner) {
  std::vector<Port> ports;
  for (const auto& network : networks) {
    Port port;
    port.network = network.name;
    port.bridge = network.bridge_name();
    // ':' is no part of a link's name: always hashed.
    port.host_link = net::link_name(fmt::format("cap:{}.{}", owner, network.name));
    port.interface = network.interface.empty() ? fmt::format("eth{}", ports.size()) : network.interface;
    if (network.vlan != 0) port.tagged = net::link_name(fmt::format("{}.{}", port.interface, network.vlan));
    port.vlan = network.vlan;
    port.mtu = network.mtu;
    for (const auto& text : network.addresses) {
      const auto cidr = net::parse_cidr(text);
      if (!cidr) throw Error(Code::invalid, fmt::format("'{}' is no address with a prefix", text));
      port.addresses.push_back(*cidr);
    }
    port.mac = network.mac;
    if (port.mac.empty() && !port.addresses.empty()) port.mac = mac_of(port.addresses.front().ip);
    port.gateway = network.gateway;
    port.routes = network.routes;
    ports.push_back(std::move(port));
  }
  return ports;
}

Network Network::plug(const std::vector<NetworkConfig>& networks, const std::string& owner, os::Ledger* ledger) {
  auto ports = ports_of(networks, owner);
  net::Netlink here(net::Namespace::current());
  require_bridges(here, ports);
  if (ledger != nullptr) {
    std::vector<os::LedgerItem> items;
    for (const auto& port : ports)
      items.push_back({.kind = std::string(kLinkKind), .object = port.host_link, .owner = owner});
    ledger->record(items);
  }
  Network made(net::Namespace::create(fmt::format("capsule {}", owner)), std::move(ports));
  net::Netlink at(made.inside_);
  at.set_up("lo");
  for (const auto& port : made.ports_) {
    here.remove_link(port.host_link);  // of a run that nobody cleared away
    here.add_veth({.name = port.host_link, .peer = &made.inside_, .peer_name = port.interface, .master = port.bridge});
    if (port.mtu != 0) {
      here.set_mtu(port.host_link, static_cast<unsigned>(port.mtu));
      at.set_mtu(port.interface, static_cast<unsigned>(port.mtu));
    }
    at.set_up(port.interface);
    if (port.tagged.empty()) continue;
    at.add_vlan(port.tagged, port.interface, static_cast<int>(port.vlan));
    at.set_up(port.tagged);
  }
  return made;
}

void Network::require_free(const net::ProbeSchedule& schedule) {
  const net::Netlink here(net::Namespace::current());
  std::vector<net::Claim> claims;
  for (const auto& port : ports_) {
    if (!port.addresses.empty()) wait_forwarding(here, port);
    for (const auto& cidr : port.addresses) {
      if (cidr.ip.family() == net::Ip::Family::v4) claims.push_back({port.link(), cidr.ip});
    }
  }
  std::vector<std::string> who;
  for (const auto& holder : announcer().find_holders(claims, schedule)) {
    const auto port = std::find_if(ports_.begin(), ports_.end(),
                                   [&](const auto& candidate) { return candidate.link() == holder.claim.link; });
    who.push_back(
        fmt::format("{} on network '{}' is that of {}", to_string(holder.claim.address), port->network, holder.mac));
  }
  if (!who.empty()) throw in_use(who);
}

void Network::use_addresses() {
  net::Netlink at(inside_);
  for (const auto& port : ports_) {
    if (!port.mac.empty()) at.set_mac(port.interface, port.mac);
    if (!port.mac.empty() && !port.tagged.empty()) at.set_mac(port.tagged, port.mac);
    if (has_ipv6(port)) hasten_ipv6(inside_, port.link());
    for (const auto& cidr : port.addresses) at.add_address(port.link(), cidr);
  }
  std::vector<std::string> who;
  const auto deadline = steady_clock::now() + kIpv6Patience;
  for (const auto& port : ports_) {
    for (const auto& cidr : port.addresses) {
      if (cidr.ip.family() == net::Ip::Family::v4) continue;
      auto state = at.address_state(port.link(), cidr.ip);
      while (state == net::AddressState::tentative && steady_clock::now() < deadline) {
        std::this_thread::sleep_for(milliseconds{2});
        state = at.address_state(port.link(), cidr.ip);
      }
      if (state == net::AddressState::duplicate)
        who.push_back(
            fmt::format("{} on network '{}': the kernel found another holder", to_string(cidr.ip), port.network));
    }
  }
  if (!who.empty()) throw in_use(who);
  for (const auto& port : ports_) {
    for (const auto& [to, via] : port.routes) {
      at.set_route({.to = net::parse_cidr(to), .via = net::parse_ip(via), .link = port.link()});
    }
    if (!port.gateway.empty()) at.set_route({.via = net::parse_ip(port.gateway), .link = port.link()});
  }
}

net::Announcer& Network::announcer() {
  if (!announcer_) announcer_ = std::make_unique<net::Announcer>(inside_);
  return *announcer_;
}

void Network::announce() {
  for (const auto& port : ports_) {
    for (const auto& cidr : port.addresses) announcer().announce(port.link(), cidr.ip);
  }
}

void Network::set(const std::map<std::string, std::string>& sysctl) const {
  for (const auto& [key, value] : sysctl) net::set_sysctl(inside_, key, value);
}

void silence(const os::Ledger& ledger, const std::string& owner) {
  for (const auto& open : ledger.unsettled(owner)) {
    if (open.item.kind != kLinkKind) continue;
    try {
      net::Netlink(net::Namespace::current()).set_down(open.item.object);
    } catch (const Error& e) {
      // Gone with its namespace, as a rule.
      if (e.code() != Code::not_found) log::warn("{}: its link is not taken down: {}", owner, e.one_line());
    }
  }
}

void register_undo(os::Ledger& ledger) {
  ledger.on_undo(std::string(kLinkKind),
                 [](const os::LedgerItem& item) { net::Netlink(net::Namespace::current()).remove_link(item.object); });
}

}  // namespace underway::run
