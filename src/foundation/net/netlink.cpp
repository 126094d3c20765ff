#include "net/netlink.hpp"

#include <linux/if_addr.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/link/vlan.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include "base/error.hpp"

namespace underway::net {
namespace {

/// libnl hands out counted C objects, each with its own way back.
template <class T, void (*release)(T*)>
struct Release {
  void operator()(T* object) const { release(object); }
};
template <class T, void (*release)(T*)>
using Owned = std::unique_ptr<T, Release<T, release>>;

using LinkObject = Owned<rtnl_link, rtnl_link_put>;
using AddressObject = Owned<rtnl_addr, rtnl_addr_put>;
using RouteObject = Owned<rtnl_route, rtnl_route_put>;
using Cache = Owned<nl_cache, nl_cache_free>;
using PlainAddress = Owned<nl_addr, nl_addr_put>;

/// libnl folds errno values into its own codes (netlink/errno.h); unfolded again, so that Error's codes stay right.
Error nl_error(int code, std::string what) {
  switch (code < 0 ? -code : code) {
    case NLE_EXIST:
      return errno_error(EEXIST, std::move(what));
    case NLE_OBJ_NOTFOUND:
    case NLE_NODEV:
    case NLE_NOADDR:
      return errno_error(ENOENT, std::move(what));
    case NLE_PERM:
    case NLE_NOACCESS:
      return errno_error(EPERM, std::move(what));
    case NLE_BUSY:
      return errno_error(EBUSY, std::move(what));
    case NLE_INVAL:
    case NLE_RANGE:
      return errno_error(EINVAL, std::move(what));
    case NLE_OPNOTSUPP:
      return errno_error(EOPNOTSUPP, std::move(what));
    case NLE_NOMEM:
      return errno_error(ENOMEM, std::move(what));
    default:
      return Error(Code::internal, std::move(what)).because(nl_geterror(code));
  }
}

PlainAddress to_plain(const Ip& ip, int prefix) {
  const bool four = ip.family() == Ip::Family::v4;
  PlainAddress address(nl_addr_build(four ? AF_INET : AF_INET6, ip.bytes().data(), four ? 4 : 16));
  if (!address) throw errno_error(ENOMEM, "cannot build a netlink address");
  nl_addr_set_prefixlen(address.get(), prefix);
  return address;
}

std::optional<Ip> from_plain(const nl_addr* address) {
  std::array<std::uint8_t, 16> bytes{};
  const auto* raw = static_cast<const std::uint8_t*>(nl_addr_get_binary_addr(address));
  const auto size = nl_addr_get_len(address);
  if (size > bytes.size()) return std::nullopt;
  std::copy_n(raw, size, bytes.begin());
  if (nl_addr_get_family(address) == AF_INET6) return Ip::v6(bytes);
  if (nl_addr_get_family(address) != AF_INET) return std::nullopt;
  return Ip::v4(std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
                bytes[3]);
}

Link describe_link(rtnl_link* object) {
  Link link;
  link.index = rtnl_link_get_ifindex(object);
  link.name = rtnl_link_get_name(object);
  if (const char* kind = rtnl_link_get_type(object)) link.kind = kind;
  if (nl_addr* mac = rtnl_link_get_addr(object)) {
    char text[64] = {};
    link.mac = nl_addr2str(mac, text, sizeof text);
  }
  link.master = rtnl_link_get_master(object);
  link.up = (rtnl_link_get_flags(object) & IFF_UP) != 0;
  link.mtu = rtnl_link_get_mtu(object);
  return link;
}

/// The form that rtnl_link_set_addr wants.
PlainAddress parse_mac(const std::string& mac) {
  nl_addr* address = nullptr;
  if (const int code = nl_addr_parse(mac.c_str(), AF_LLC, &address); code < 0) {
    throw Error(Code::invalid, fmt::format("'{}' is no hardware address", mac));
  }
  return PlainAddress(address);
}

bool is_link_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxLinkName && name != "." && name != ".." &&
         name.find_first_of("/: \t\n%") == std::string::npos;
}

}  // namespace

std::string link_name(const std::string& wanted) {
  if (is_link_name(wanted)) return wanted;
  std::uint32_t hash = 2166136261U;  // FNV-1a, 32 bits: stable across processes and versions, as clean-up needs
  std::string readable;
  for (const char c : wanted) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    if (readable.size() < 6 && is_link_name(std::string(1, c)) && c != '.') readable += c;
  }
  return fmt::format("{}-{:08x}", readable, hash);
}

class Netlink::Socket {
 public:
  explicit Socket(const Namespace& in) : label(in.label()) {
    in.run([&] { connect(); });
  }
  ~Socket() {
    if (raw != nullptr) nl_socket_free(raw);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  std::string where(std::string_view what) const { return fmt::format("{} in network namespace '{}'", what, label); }

  /// The kernel's current view of one link; empty when there is none of that name.
  LinkObject find(const std::string& name) const {
    rtnl_link* found = nullptr;
    const int code = rtnl_link_get_kernel(raw, 0, name.c_str(), &found);
    if (code == -NLE_OBJ_NOTFOUND || code == -NLE_NODEV) return nullptr;
    if (code < 0) throw nl_error(code, where(fmt::format("cannot look up link '{}'", name)));
    return LinkObject(found);
  }

  LinkObject get(const std::string& name) const {
    auto link = find(name);
    if (!link) throw Error(Code::not_found, where(fmt::format("no link '{}'", name)));
    return link;
  }

  /// Sends `changes` for the link `name`.
  void change(const std::string& name, rtnl_link* changes, std::string_view verb) const {
    const auto link = get(name);
    const int code = rtnl_link_change(raw, link.get(), changes, 0);
    if (code < 0) throw nl_error(code, where(fmt::format("cannot {} link '{}'", verb, name)));
  }

  void each_address(const std::string& link, const std::function<void(rtnl_addr*, const Ip&)>& look) const;

  nl_sock* raw = nullptr;
  std::string label;

 private:
  void connect() {
    raw = nl_socket_alloc();
    if (raw == nullptr) throw errno_error(ENOMEM, where("cannot open a netlink socket"));
    const int code = nl_connect(raw, NETLINK_ROUTE);
    if (code < 0) {
      nl_socket_free(std::exchange(raw, nullptr));
      throw nl_error(code, where("cannot open a netlink socket"));
    }
  }
};

Netlink::Netlink(const Namespace& in) : socket_(std::make_unique<Socket>(in)) {}
Netlink::~Netlink() = default;
Netlink::Netlink(Netlink&&) noexcept = default;
Netlink& Netlink::operator=(Netlink&&) noexcept = default;

std::vector<Link> Netlink::links() const {
  nl_cache* raw = nullptr;
  const int code = rtnl_link_alloc_cache(socket_->raw, AF_UNSPEC, &raw);
  if (code < 0) throw nl_error(code, socket_->where("cannot list the links"));
  const Cache cache(raw);
  std::vector<Link> links;
  for (nl_object* object = nl_cache_get_first(raw); object != nullptr; object = nl_cache_get_next(object)) {
    links.push_back(describe_link(reinterpret_cast<rtnl_link*>(object)));
  }
  return links;
}

std::optional<Link> Netlink::find_link(const std::string& name) const {
  const auto link = socket_->find(name);
  if (!link) return std::nullopt;
  return describe_link(link.get());
}

Link Netlink::get_link(const std::string& name) const { return describe_link(socket_->get(name).get()); }

void Netlink::add_bridge(const std::string& name) {
  const LinkObject bridge(rtnl_link_bridge_alloc());
  rtnl_link_set_name(bridge.get(), name.c_str());
  rtnl_link_set_flags(bridge.get(), IFF_UP);
  const int code = rtnl_link_add(socket_->raw, bridge.get(), NLM_F_CREATE | NLM_F_EXCL);
  if (code < 0) throw nl_error(code, socket_->where(fmt::format("cannot create bridge '{}'", name)));
}

void Netlink::add_veth(const VethPair& pair) {
  const LinkObject link(rtnl_link_veth_alloc());
  const LinkObject peer(rtnl_link_veth_get_peer(link.get()));
  rtnl_link_set_name(link.get(), pair.name.c_str());
  rtnl_link_set_flags(link.get(), IFF_UP);
  if (!pair.master.empty()) rtnl_link_set_master(link.get(), get_link(pair.master).index);
  rtnl_link_set_name(peer.get(), pair.peer_name.c_str());
  rtnl_link_set_ns_fd(peer.get(), pair.peer->fd());
  if (!pair.peer_mac.empty()) {
    const auto mac = parse_mac(pair.peer_mac);
    rtnl_link_set_addr(peer.get(), mac.get());
  }
  const int code = rtnl_link_add(socket_->raw, link.get(), NLM_F_CREATE | NLM_F_EXCL);
  if (code < 0) {
    throw nl_error(code, socket_->where(fmt::format("cannot create veth '{}'", pair.name)) +
                             fmt::format(" with peer '{}' in '{}'", pair.peer_name, pair.peer->label()));
  }
}

void Netlink::add_vlan(const std::string& name, const std::string& parent, int id) {
  const auto what = [&] {
    return socket_->where(fmt::format("cannot create VLAN link '{}' (tag {} on '{}')", name, id, parent));
  };
  if (id < 1 || id > 4094) throw Error(Code::invalid, what()).because("a tag is between 1 and 4094");
  const LinkObject link(rtnl_link_vlan_alloc());
  rtnl_link_set_name(link.get(), name.c_str());
  rtnl_link_set_link(link.get(), get_link(parent).index);
  rtnl_link_vlan_set_id(link.get(), static_cast<std::uint16_t>(id));
  const int code = rtnl_link_add(socket_->raw, link.get(), NLM_F_CREATE | NLM_F_EXCL);
  if (code == -NLE_OPNOTSUPP) {
    throw Error(Code::unsupported, what())
        .because("this kernel has no VLAN links (CONFIG_VLAN_8021Q, module 8021q)")
        .advise("load the module 8021q, or let the switch untag: one bridge for each VLAN");
  }
  if (code < 0) throw nl_error(code, what());
}

bool Netlink::remove_link(const std::string& name) {
  const auto link = socket_->find(name);
  if (!link) return false;
  const int code = rtnl_link_delete(socket_->raw, link.get());
  // Gone between look-up and request: the other end's namespace died. That is what was wanted.
  if (code == -NLE_NODEV || code == -NLE_OBJ_NOTFOUND) return false;
  if (code < 0) throw nl_error(code, socket_->where(fmt::format("cannot delete link '{}'", name)));
  return true;
}

void Netlink::rename_link(const std::string& name, const std::string& to) {
  const LinkObject changes(rtnl_link_alloc());
  rtnl_link_set_name(changes.get(), to.c_str());
  socket_->change(name, changes.get(), fmt::format("rename to '{}'", to));
}

void Netlink::set_master(const std::string& name, const std::string& bridge) {
  const LinkObject changes(rtnl_link_alloc());
  rtnl_link_set_master(changes.get(), get_link(bridge).index);
  socket_->change(name, changes.get(), fmt::format("put into bridge '{}'", bridge));
}

void Netlink::clear_master(const std::string& name) {
  const LinkObject changes(rtnl_link_alloc());
  rtnl_link_set_master(changes.get(), 0);
  socket_->change(name, changes.get(), "take out of its bridge");
}

bool Netlink::port_forwards(const std::string& name) const {
  const int index = get_link(name).index;
  nl_cache* raw = nullptr;
  const int code = rtnl_link_alloc_cache(socket_->raw, AF_BRIDGE, &raw);
  if (code < 0) throw nl_error(code, socket_->where("cannot list the ports of bridges"));
  const Cache cache(raw);
  const LinkObject port(rtnl_link_get(raw, index));
  if (!port) throw Error(Code::not_found, socket_->where(fmt::format("link '{}' is no port of a bridge", name)));
  return rtnl_link_bridge_get_port_state(port.get()) == BR_STATE_FORWARDING;
}

void Netlink::set_hairpin(const std::string& name) {
  const LinkObject changes(rtnl_link_alloc());
  rtnl_link_set_family(changes.get(), AF_BRIDGE);  // a port of a bridge, not a link of kind bridge
  rtnl_link_set_ifindex(changes.get(), get_link(name).index);
  rtnl_link_bridge_set_flags(changes.get(), RTNL_BRIDGE_HAIRPIN_MODE);
  const int code = rtnl_link_change(socket_->raw, changes.get(), changes.get(), 0);
  if (code < 0) throw nl_error(code, socket_->where(fmt::format("cannot set the hairpin mode of '{}'", name)));
}

void Netlink::set_mac(const std::string& name, const std::string& mac) {
  const LinkObject changes(rtnl_link_alloc());
  rtnl_link_set_addr(changes.get(), parse_mac(mac).get());
  socket_->change(name, changes.get(), fmt::format("give hardware address {} to", mac));
}

void Netlink::set_mtu(const std::string& name, unsigned mtu) {
  const LinkObject changes(rtnl_link_alloc());
  rtnl_link_set_mtu(changes.get(), mtu);
  socket_->change(name, changes.get(), fmt::format("set MTU {} of", mtu));
}

void Netlink::set_up(const std::string& name) {
  const LinkObject changes(rtnl_link_alloc());
  rtnl_link_set_flags(changes.get(), IFF_UP);
  socket_->change(name, changes.get(), "set up");
}

void Netlink::set_down(const std::string& name) {
  const LinkObject changes(rtnl_link_alloc());
  rtnl_link_unset_flags(changes.get(), IFF_UP);
  socket_->change(name, changes.get(), "set down");
}

namespace {

AddressObject interface_address(int link, const Cidr& cidr) {
  AddressObject object(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(object.get(), link);
  const auto local = to_plain(cidr.ip, cidr.prefix);
  rtnl_addr_set_local(object.get(), local.get());
  if (cidr.ip.family() == Ip::Family::v4 && cidr.prefix < 31) {
    const auto broadcast = to_plain(cidr.broadcast(), 32);
    rtnl_addr_set_broadcast(object.get(), broadcast.get());
  }
  return object;
}

}  // namespace

void Netlink::add_address(const std::string& link, const Cidr& address) {
  const auto object = interface_address(get_link(link).index, address);
  const int code = rtnl_addr_add(socket_->raw, object.get(), NLM_F_REPLACE);
  if (code < 0 && code != -NLE_EXIST) {
    throw nl_error(code, socket_->where(fmt::format("cannot give address {} to link '{}'", to_string(address), link)));
  }
}

bool Netlink::remove_address(const std::string& link, const Cidr& address) {
  const auto object = interface_address(get_link(link).index, address);
  const int code = rtnl_addr_delete(socket_->raw, object.get(), 0);
  if (code == -NLE_NOADDR || code == -NLE_OBJ_NOTFOUND) return false;
  if (code < 0) {
    throw nl_error(code,
                   socket_->where(fmt::format("cannot take address {} from link '{}'", to_string(address), link)));
  }
  return true;
}

void Netlink::Socket::each_address(const std::string& link,
                                   const std::function<void(rtnl_addr*, const Ip&)>& look) const {
  const int index = rtnl_link_get_ifindex(get(link).get());
  nl_cache* found = nullptr;
  const int code = rtnl_addr_alloc_cache(raw, &found);
  if (code < 0) throw nl_error(code, where("cannot list the addresses"));
  const Cache cache(found);
  for (nl_object* object = nl_cache_get_first(found); object != nullptr; object = nl_cache_get_next(object)) {
    auto* address = reinterpret_cast<rtnl_addr*>(object);
    nl_addr* local = rtnl_addr_get_local(address);
    if (rtnl_addr_get_ifindex(address) != index || local == nullptr) continue;
    if (const auto ip = from_plain(local)) look(address, *ip);
  }
}

std::vector<Cidr> Netlink::addresses(const std::string& link) const {
  std::vector<Cidr> addresses;
  socket_->each_address(
      link, [&](rtnl_addr* address, const Ip& ip) { addresses.push_back({ip, rtnl_addr_get_prefixlen(address)}); });
  return addresses;
}

AddressState Netlink::address_state(const std::string& link, const Ip& wanted) const {
  auto state = AddressState::absent;
  socket_->each_address(link, [&](rtnl_addr* address, const Ip& ip) {
    if (ip != wanted) return;
    const unsigned flags = rtnl_addr_get_flags(address);
    state = (flags & IFA_F_DADFAILED) != 0   ? AddressState::duplicate
            : (flags & IFA_F_TENTATIVE) != 0 ? AddressState::tentative
                                             : AddressState::ready;
  });
  return state;
}

void Netlink::set_route(const Route& route) {
  const Ip any = route.via && route.via->family() == Ip::Family::v6 ? Ip::v6({}) : Ip();
  const Cidr to = route.to ? route.to->network() : Cidr{any, 0};
  const RouteObject object(rtnl_route_alloc());
  const auto destination = to_plain(to.ip, to.prefix);
  rtnl_route_set_family(object.get(), to.ip.family() == Ip::Family::v4 ? AF_INET : AF_INET6);
  rtnl_route_set_dst(object.get(), destination.get());
  rtnl_nexthop* hop = rtnl_route_nh_alloc();
  rtnl_route_add_nexthop(object.get(), hop);  // the route owns it from here
  if (!route.link.empty()) rtnl_route_nh_set_ifindex(hop, get_link(route.link).index);
  if (route.via) {
    const auto gateway = to_plain(*route.via, route.via->bits());
    rtnl_route_nh_set_gateway(hop, gateway.get());
  } else {
    rtnl_route_set_scope(object.get(), RT_SCOPE_LINK);
  }
  const int code = rtnl_route_add(socket_->raw, object.get(), NLM_F_CREATE | NLM_F_REPLACE);
  if (code < 0) {
    throw nl_error(code, socket_->where(fmt::format("cannot set the route to {}{}", to_string(to),
                                                    route.via ? " via " + to_string(*route.via) : "")));
  }
}

}  // namespace underway::net
