// Who opened at which door, and which part the surveyed machine has in it.
#include <netinet/in.h>

#include "traffic/flow/surveyor.hpp"
#include "traffic/packet/ports.hpp"

namespace underway::traffic {
namespace {

constexpr std::size_t kMostDoors = 65'536;

}  // namespace

/// The first data of TFTP answer a request that was sent elsewhere.
void Surveyor::answer_request(const Frame& data) {
  Frame request = data;
  request.source_port = 69;
  unsigned side = 0;
  const std::uint32_t at = flows_.find(FlowTable::hash_of(request), request, side);
  if (at != FlowTable::kNone) flows_[at].answered = true;
}

Surveyor::Door Surveyor::find_door(const Frame& frame) const {
  if (frame.kind == Kind::arp) return {.server_side = frame.type == 2 ? 0U : 1U, .seen = frame.type != 2};
  if (frame.kind != Kind::ip || frame.cast != Cast::unicast) return {};
  if (frame.is_udp()) return find_udp_door(frame);
  if (frame.protocol == IPPROTO_ICMP) return {.server_side = frame.type == 0 ? 0U : 1U, .seen = frame.type != 0};
  if (frame.protocol == IPPROTO_ICMPV6) return {.server_side = frame.type == 129 ? 0U : 1U, .seen = frame.type != 129};
  if (frame.protocol != IPPROTO_TCP) return {};
  if ((frame.flags & kSyn) != 0) return {.server_side = (frame.flags & kAck) == 0 ? 1U : 0U};
  if (known_door(frame.destination, frame.destination_port, frame.protocol)) return {.server_side = 1, .seen = false};
  if (known_door(frame.source, frame.source_port, frame.protocol)) return {.server_side = 0, .seen = false};
  const unsigned source = server_likeness(frame.source_port);
  const unsigned destination = server_likeness(frame.destination_port);
  const bool to_server = source != destination ? destination > source : frame.destination_port <= frame.source_port;
  return {.server_side = to_server ? 1U : 0U, .seen = false};
}

Surveyor::Door Surveyor::find_udp_door(const Frame& frame) const {
  for (const auto& expected : expected_) {
    if (expected.service != Tally::kNone && expected.client == frame.destination &&
        expected.client_port == frame.destination_port && expected.server == frame.source)
      return {.server_side = 0, .follows = true, .service = expected.service, .client = expected.who};
  }
  if (known_door(frame.destination, frame.destination_port, frame.protocol)) return {};
  if (known_door(frame.source, frame.source_port, frame.protocol)) return {.server_side = 0, .seen = false};
  if (server_likeness(frame.source_port) > server_likeness(frame.destination_port))
    return {.server_side = 0, .seen = false};
  return {};
}

bool Surveyor::known_door(const Address& server, std::uint16_t port, std::uint8_t protocol) const {
  const std::array<std::uint64_t, 3> door{server.high, server.low, (std::uint64_t{protocol} << 16U) | port};
  return doors_.find(mix(mix(door[0], door[1]), door[2]), [&](std::uint32_t at) { return door_list_[at] == door; }) !=
         OpenIndex::kNone;
}

void Surveyor::note_door(const Address& server, std::uint16_t port, std::uint8_t protocol) {
  if (port == 0 || door_list_.size() >= kMostDoors || known_door(server, port, protocol)) return;
  const std::array<std::uint64_t, 3> door{server.high, server.low, (std::uint64_t{protocol} << 16U) | port};
  doors_.insert(mix(mix(door[0], door[1]), door[2]), static_cast<std::uint32_t>(door_list_.size()));
  door_list_.push_back(door);
}

Part Surveyor::part_of(const Frame& frame, unsigned server_side) {
  const Address& server = server_side == 1 ? frame.destination : frame.source;
  const Address& client = server_side == 1 ? frame.source : frame.destination;
  const bool from_us = surveyed_.has(frame.source_mac) || frame.outgoing;
  if (frame.kind == Kind::ethernet)
    return from_us                                ? Part::opens
           : frame.cast != Cast::unicast          ? Part::hears
           : surveyed_.has(frame.destination_mac) ? Part::serves
                                                  : Part::between;
  if (frame.kind == Kind::ip && frame.cast != Cast::unicast)
    return from_us || surveyed_.has(frame.source) ? Part::opens : Part::hears;
  if (surveyed_.has(server)) return Part::serves;
  if (surveyed_.has(client)) return Part::opens;
  if (frame.kind == Kind::arp) return Part::between;
  const bool to_us = surveyed_.has(frame.destination_mac);
  if (!from_us && !to_us) return Part::between;
  // Neighbours need no router: one of the two is an address of the surveyed machine that had not shown itself.
  if (!surveyed_.neighbours(server, client)) return Part::routes;
  return (to_us ? server_side == 1 : server_side == 0) ? Part::serves : Part::opens;
}

ServiceKey Surveyor::key_of(const Frame& frame, unsigned server_side) {
  ServiceKey key{.server = server_side == 1 ? frame.destination : frame.source,
                 .port = server_side == 1 ? frame.destination_port : frame.source_port,
                 .vlan = frame.vlan,
                 .number = frame.number,
                 .kind = frame.kind,
                 .protocol = frame.protocol,
                 .part = part_of(frame, server_side),
                 .cast = frame.kind == Kind::arp ? Cast::unicast : frame.cast};
  if (key.part == Part::routes || (frame.kind == Kind::arp && key.part != Part::serves)) key.server = {};
  return key;
}

}  // namespace underway::traffic
