#include "adoption/plan/silence.hpp"

#include <netinet/in.h>

#include "base/error.hpp"
#include "net/capture_file.hpp"

namespace underway::adoption {
namespace {

constexpr std::size_t kMostConversations = 10'000;

/// The door of a packet: of both ports the one that looks more like a service's.
std::string what_of(const traffic::Frame& frame) {
  if (frame.malformed != traffic::Malformed::none) return "unreadable";
  if (frame.protocol != IPPROTO_TCP && frame.protocol != IPPROTO_UDP)
    return frame.protocol == IPPROTO_ICMP || frame.protocol == IPPROTO_ICMPV6 ? "icmp"
                                                                              : fmt::format("ip/{}", frame.protocol);
  const auto port = std::min(frame.source_port, frame.destination_port);
  return fmt::format("{}/{}", frame.protocol == IPPROTO_TCP ? "tcp" : "udp", port);
}

}  // namespace

bool Party::has(const traffic::Address& address, traffic::Mac mac) const {
  if (mac != 0 && std::find(macs.begin(), macs.end(), mac) != macs.end()) return true;
  const auto ip = traffic::to_ip(address);
  return ip && std::any_of(networks.begin(), networks.end(), [&](const net::Cidr& network) {
           return network.ip.family() == ip->family() && network.contains(*ip);
         });
}

Party parse_party(const std::vector<std::string>& texts) {
  Party out;
  for (const auto& text : texts) {
    if (const auto mac = traffic::parse_mac(text))
      out.macs.push_back(*mac);
    else if (const auto network = net::parse_cidr(text))
      out.networks.push_back(network->network());
    else if (const auto ip = net::parse_ip(text))
      out.networks.push_back({*ip, ip->bits()});
    else
      throw Error(Code::invalid, fmt::format("'{}' is no address, network or MAC", text))
          .advise("write it as 10.1.1.7, 10.1.0.0/16 or 02:00:00:00:00:01");
  }
  return out;
}

SilenceCheck::SilenceCheck(Party nodes, Party server, TimePoint after)
    : nodes_(std::move(nodes)), server_(std::move(server)), after_(unix_nanos(after)) {}

void SilenceCheck::add(const net::Packet& packet) {
  traffic::Frame frame;
  decoder_.decode(packet, frame);
  ++sums_.packets;
  sums_.last = std::max(sums_.last, frame.time);
  if (frame.time < after_) return;
  if (frame.malformed != traffic::Malformed::none) ++sums_.unread;
  const bool from_node = nodes_.has(frame.source, frame.source_mac);
  const bool to_node = nodes_.has(frame.destination, frame.destination_mac);
  if (!from_node && !to_node) return;
  ++sums_.seen_of_nodes;
  if (frame.kind != traffic::Kind::ip || frame.cast != traffic::Cast::unicast) return;
  const bool from_server = server_.has(frame.source, frame.source_mac);
  const bool to_server = server_.has(frame.destination, frame.destination_mac);
  if (!(from_node && to_server) && !(to_node && from_server)) return;
  if (counts_.size() >= kMostConversations) return;
  const bool by_node = from_node && to_server;
  auto& count = counts_[{to_string(by_node ? frame.source : frame.destination), what_of(frame), by_node}];
  ++count.packets;
  if (count.first == 0) count.first = frame.time;
  count.last = std::max(count.last, frame.time);
}

Silence SilenceCheck::result() const {
  Silence out = sums_;
  for (const auto& [key, count] : counts_)
    out.broken_by.push_back({key.node, key.what, key.by_node, count.packets, count.first, count.last});
  std::sort(out.broken_by.begin(), out.broken_by.end(),
            [](const Conversation& a, const Conversation& b) { return a.packets > b.packets; });
  return out;
}

Silence check_silence(const std::vector<std::string>& captures, Party nodes, Party server, TimePoint after) {
  SilenceCheck check(std::move(nodes), std::move(server), after);
  net::CaptureFiles files(captures);
  std::vector<net::Packet> batch(256);
  while (const auto n = files.next(batch))
    for (std::size_t i = 0; i < n; ++i) check.add(batch[i]);
  Silence out = check.result();
  out.lost = static_cast<std::int64_t>(files.lost());
  out.problems = files.problems();
  return out;
}

}  // namespace underway::adoption
