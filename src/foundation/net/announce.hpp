#pragma once
/// @file
/// Addresses that come and go: is one free before it is used, and do the neighbours hear of it after. An address that
/// moves between hosts needs both: two holders break the service for everybody, and neighbours that are not told keep
/// the old place for more than 40 s (measured).

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/address.hpp"
#include "net/namespace.hpp"

namespace underway::net {

/// How somebody else is looked for. RFC 5227 §1.1 waits up to seven seconds, made for strangers that plug in by
/// themselves; on the network of a cluster a holder answers within a millisecond, and who waits is a service that is
/// down meanwhile.
struct ProbeSchedule {
  int probes = 3;
  std::chrono::milliseconds between{5};
  std::chrono::milliseconds after_last{6};
};

/// An IPv4 address to be used on a link that is up and does not have it yet.
struct Claim {
  std::string link;
  Ip address;
};
struct Holder {
  Claim claim;
  std::string mac;  ///< "02:00:…"
};

/// Asks and tells on the links of a namespace, over a raw socket for each link that is made when it is first needed.
/// Whoever closes such a socket waits for a grace period of the kernel (synchronize_net(), 10 ms and more), so keep the
/// announcer until nobody waits for you. Thread: one at a time.
class Announcer {
 public:
  /// `in` outlives it.
  explicit Announcer(const Namespace& in);
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  /// Asks on each link whether somebody has, or asks for, the address (ARP probes, RFC 5227 §2.1.1), all at once, and
  /// hands back who does. Frames of our own hardware address do not count: probe before a link gets an address that
  /// another link may have. Errors: not_found (no such link), unavailable (link down), invalid (IPv6: the kernel asks).
  /// Blocks: yes, as long as the schedule says.
  std::vector<Holder> find_holders(const std::vector<Claim>& claims, const ProbeSchedule& schedule = {});

  /// Tells all on the link that `address` is here: gratuitous ARP in request and reply form (RFC 5227 §2.3, RFC 5944
  /// §4.6) or unsolicited neighbour advertisements (RFC 4861 §7.2.6), `frames` of them.
  /// Errors: not_found (no such link), unavailable (link down).
  void announce(const std::string& link, const Ip& address, int frames = 3);

 private:
  class LinkSocket;
  const LinkSocket& on(const std::string& link, const std::string& what);
  const Namespace& in_;
  std::map<std::string, std::unique_ptr<LinkSocket>> sockets_;
};

}  // namespace underway::net
