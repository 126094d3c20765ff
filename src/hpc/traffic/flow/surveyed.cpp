#include "traffic/flow/surveyed.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "traffic/packet/decoder.hpp"
#include "traffic/packet/ports.hpp"

namespace underway::traffic {

bool Surveyed::has(Mac mac) const { return mac != 0 && std::find(macs.begin(), macs.end(), mac) != macs.end(); }

bool Surveyed::has(const Address& address) const {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

void Surveyed::learn(const Address& address) {
  constexpr std::size_t kMost = 256;
  if (address.is_none() || address.is_mac() || address.is_multicast() || addresses.size() >= kMost) return;
  if (!has(address)) addresses.push_back(address);
}

bool Surveyed::neighbours(const Address& a, const Address& b) const {
  if (a.is_link_local() || b.is_link_local()) return true;
  const auto first = to_ip(a);
  const auto second = to_ip(b);
  return first && second && std::any_of(networks.begin(), networks.end(), [&](const net::Cidr& network) {
           return network.contains(*first) && network.contains(*second);
         });
}

bool Surveyed::is_local(const Address& address) const { return neighbours(address, address); }

Surveyed parse_surveyed(const std::vector<std::string>& texts) {
  Surveyed surveyed;
  for (const auto& text : texts) {
    if (const auto mac = parse_mac(text)) {
      surveyed.macs.push_back(*mac);
    } else if (const auto ip = net::parse_ip(text)) {
      surveyed.learn(from_ip(*ip));
    } else if (const auto cidr = net::parse_cidr(text)) {
      surveyed.learn(from_ip(cidr->ip));
      surveyed.networks.push_back(cidr->network());
    } else {
      throw Error(Code::invalid, fmt::format("'{}' is no MAC and no IP address", text))
          .advise("write 02:00:00:00:00:01, 10.1.0.1 or 10.1.0.1/16");
    }
  }
  return surveyed;
}

namespace {

/// What the front of a capture tells of one MAC.
struct Candidate {
  std::set<Mac> peers;
  std::set<std::uint16_t> doors;  ///< ports that it answered at
  std::set<Address> own;
  std::uint64_t packets = 0;
};

constexpr std::size_t kMostCandidates = 65'536;

using Candidates = std::map<Mac, Candidate>;

void look_at(const Frame& frame, Candidates& candidates, std::set<Address>& local) {
  if (frame.source_mac == 0 || frame.malformed != Malformed::none) return;
  if (candidates.size() >= kMostCandidates && !candidates.contains(frame.source_mac)) return;
  Candidate& sender = candidates[frame.source_mac];
  ++sender.packets;
  if (frame.kind == Kind::arp) {
    if (!frame.source.is_none()) {
      sender.own.insert(frame.source);
      local.insert(frame.source);
    }
    if (!frame.destination.is_none()) local.insert(frame.destination);
  }
  if (frame.kind == Kind::ip && undiminished(frame.hops) && !frame.source.is_none()) {
    sender.own.insert(frame.source);
    if (!frame.source.is_link_local()) local.insert(frame.source);
  }
  if (frame.cast != Cast::unicast || frame.destination_mac == 0) return;
  if (candidates.size() < kMostCandidates || candidates.contains(frame.destination_mac)) {
    sender.peers.insert(frame.destination_mac);
    Candidate& receiver = candidates[frame.destination_mac];
    receiver.peers.insert(frame.source_mac);
    ++receiver.packets;
  }
  const bool accepts =
      frame.kind == Kind::ip &&
      (frame.protocol == IPPROTO_TCP ? (frame.flags & (kSyn | kAck)) == (kSyn | kAck)
                                     : frame.protocol == IPPROTO_UDP && server_likeness(frame.source_port) >
                                                                            server_likeness(frame.destination_port));
  if (accepts && sender.doors.size() < 1024) sender.doors.insert(frame.source_port);
}

/// The smallest network with all of `members`, at least a /24 or /64.
net::Cidr common(const std::vector<net::Ip>& members) {
  const bool v4 = members.front().family() == net::Ip::Family::v4;
  net::Cidr network{members.front(), v4 ? 24 : 64};
  while (network.prefix > 0 &&
         !std::all_of(members.begin(), members.end(), [&](const net::Ip& ip) { return network.contains(ip); }))
    --network.prefix;
  return network.network();
}

/// Addresses that share 16 bits (IPv6: 64) are taken to be neighbours.
std::vector<net::Cidr> networks_of(const std::set<Address>& local) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<net::Ip>> groups;
  for (const auto& address : local) {
    const auto ip = to_ip(address);
    if (!ip || address.is_link_local() || address.is_multicast()) continue;
    groups[address.is_v4() ? std::pair(std::uint64_t{0}, std::uint64_t{address.as_v4() >> 16U})
                           : std::pair(address.high, std::uint64_t{0})]
        .push_back(*ip);
  }
  std::vector<net::Cidr> networks;
  networks.reserve(groups.size());
  for (const auto& [key, members] : groups) networks.push_back(common(members));
  return networks;
}

/// The MACs of the machine whose addresses are given: those that answer for them.
void find_macs(Surveyed& surveyed, const Candidates& candidates) {
  for (const auto& [mac, candidate] : candidates) {
    const bool owns = std::any_of(candidate.own.begin(), candidate.own.end(),
                                  [&](const Address& address) { return surveyed.has(address); });
    if (owns) surveyed.macs.push_back(mac);
  }
}

void choose(Surveyed& surveyed, const Candidates& candidates) {
  const auto weight = [](const Candidate& c) { return std::tuple(c.peers.size(), c.doors.size(), c.packets); };
  const auto best = std::max_element(candidates.begin(), candidates.end(),
                                     [&](const auto& a, const auto& b) { return weight(a.second) < weight(b.second); });
  if (best == candidates.end() || best->second.peers.empty()) return;
  surveyed.macs.push_back(best->first);
  surveyed.inferred = true;
}

}  // namespace

void infer(Surveyed& surveyed, std::span<const net::Packet> packets) {
  Decoder decoder;
  Candidates candidates;
  std::set<Address> local;
  Frame frame;
  for (const auto& packet : packets) {
    decoder.decode(packet, frame);
    if (frame.outgoing) {  // a cooked capture says so itself
      surveyed.learn(frame.source);
      if (frame.source_mac != 0 && !surveyed.has(frame.source_mac)) surveyed.macs.push_back(frame.source_mac);
    }
    look_at(frame, candidates, local);
  }
  if (surveyed.macs.empty() && !surveyed.addresses.empty()) find_macs(surveyed, candidates);
  if (surveyed.empty()) choose(surveyed, candidates);
  for (const auto mac : surveyed.macs) {
    const auto found = candidates.find(mac);
    if (found == candidates.end()) continue;
    for (const auto& address : found->second.own) surveyed.learn(address);
  }
  if (surveyed.networks.empty()) surveyed.networks = networks_of(local);
}

}  // namespace underway::traffic
