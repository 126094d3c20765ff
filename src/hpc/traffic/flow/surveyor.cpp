#include "traffic/flow/surveyor.hpp"

#include <netinet/in.h>

#include <algorithm>

#include "traffic/packet/application.hpp"

namespace underway::traffic {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBurstEnds = kSecond;        // of silence
constexpr std::int64_t kClosedIdle = 30 * kSecond;  // stray segments of a connection that ended
constexpr std::int64_t kDatagramIdle = 120 * kSecond;
constexpr std::int64_t kConnectionIdle = 24 * 3600 * kSecond;  // TCP keepalive asks every two hours (tcp(7))
constexpr std::int64_t kDhcpPatience = 10 * kSecond;
constexpr std::uint8_t kLooks = 2;  // Slurm sends its length apart

/// Neighbour discovery and multicast listeners: the group is made from the address and is no door.
bool is_neighbour_discovery(std::uint8_t type) { return (type >= 130 && type <= 137) || type == 143; }

/// Makes question and answer of ICMP one conversation.
void normalise(Frame& frame) {
  if (frame.kind != Kind::ip) return;
  if (frame.protocol == IPPROTO_ICMP) {
    const std::uint16_t door = frame.type == 0 ? 8 : frame.type;
    frame.source_port = frame.destination_port = door;
  } else if (frame.protocol == IPPROTO_ICMPV6) {
    const std::uint16_t door = frame.type == 129 ? 128 : frame.type;
    frame.source_port = frame.destination_port = door;
    if (is_neighbour_discovery(frame.type)) frame.destination = {};
  }
}

/// Whether the source's address is that of the interface that sent the frame: no router took from its hops.
bool is_own_address(const Frame& frame) {
  return frame.kind == Kind::arp ? frame.type == 1 : frame.kind == Kind::ip && undiminished(frame.hops);
}

/// Who has no address yet is known by its MAC.
Address client_of(const Frame& frame, unsigned server_side) {
  const Address& client = server_side == 1 ? frame.source : frame.destination;
  if (!client.is_none()) return client;
  return Address::of_mac(server_side == 1 ? frame.source_mac : frame.destination_mac);
}

}  // namespace

Surveyor::Surveyor(Surveyed surveyed, Limits limits)
    : surveyed_(std::move(surveyed)), tally_(limits.tally), flows_(limits.flows) {}

void Surveyor::add(std::span<const net::Packet> packets) {
  while (!packets.empty()) {
    const std::size_t count = std::min(packets.size(), kBatch);
    // Three passes, so that the memory that a packet needs is on its way while others are looked at.
    for (std::size_t i = 0; i < count; ++i) {
      decoder_.decode(packets[i], frames_[i]);
      normalise(frames_[i]);
      hashes_[i] = FlowTable::hash_of(frames_[i]);
      flows_.prefetch_slot(hashes_[i]);
    }
    for (std::size_t i = 0; i < count; ++i) flows_.prefetch_flow(hashes_[i]);
    for (std::size_t i = 0; i < count; ++i) add(frames_[i], hashes_[i]);
    sweep(count / 4);
    packets = packets.subspan(count);
  }
}

void Surveyor::add(Frame& frame, std::uint64_t hash) {
  auto& seen = tally_.seen();
  ++seen.packets;
  seen.bytes += frame.length;
  if (seen.first == 0 || frame.time < seen.first) seen.first = frame.time;
  seen.last = std::max(seen.last, frame.time);
  now_ = std::max(now_, frame.time);
  if (frame.malformed != Malformed::none) {
    ++seen.malformed[static_cast<std::size_t>(frame.malformed)];
    count_station(tally_.station(frame.source_mac), 1, frame.length);
    return;
  }
  if (frame.is_udp() && (frame.destination_port == 67 || frame.source_port == 67)) {
    if (const auto message = parse_dhcp(frame)) return take_dhcp(frame, *message);
  }
  unsigned side = 0;
  std::uint32_t at = flows_.find(hash, frame, side);
  if (at != FlowTable::kNone && frame.is_tcp() && (frame.flags & (kSyn | kAck)) == kSyn &&
      (flows_[at].closed || flows_[at].last_asked != 0)) {
    finish(at);  // the same ports again
    at = FlowTable::kNone;
  }
  if (at == FlowTable::kNone) {
    at = open(frame, hash);
    side = 0;
  }
  take(flows_[at], frame, side);
}

void Surveyor::take(Flow& flow, const Frame& frame, unsigned side) {
  if (flow.looked[side] == Flow::kUnmet) [[unlikely]]
    meet(flow, frame, side);
  ++flow.packets[side];
  flow.bytes[side] += frame.length;
  flow.last = std::max(flow.last, frame.time);
  const bool from_client = side == flow.opener;
  bool speaks = true;
  if (flow.is_tcp()) {
    speaks = frame.payload_length > 1;  // a probe for life has one byte at most
    if ((frame.flags & (kFin | kRst)) != 0) {
      if (!flow.closed) --tally_.totals(flow.service).open_now;
      flow.closed = true;
      if ((frame.flags & kRst) != 0 && !from_client && !flow.answered) flow.refused = true;
    }
  }
  if (!from_client && !flow.answered && !flow.refused) {
    flow.answered = true;
    if (flow.seen && frame.cast == Cast::unicast) note_door(frame.source, frame.source_port, flow.protocol);
  }
  if (from_client && speaks) asked(flow, frame);
  if (frame.payload_captured > 0 && flow.looked[side] < kLooks) look(flow, frame, side);
  if (frame.kind == Kind::ip &&
      ((frame.protocol == IPPROTO_ICMP && frame.type == 3) || (frame.protocol == IPPROTO_ICMPV6 && frame.type == 1)))
    refuse(frame);
}

/// The first packet of a side.
void Surveyor::meet(Flow& flow, const Frame& frame, unsigned side) {
  flow.looked[side] = 0;
  flow.station[side] = tally_.station(frame.source_mac);
  if (!is_own_address(frame)) return;
  tally_.note_address(flow.station[side], frame.source);
  if (!surveyed_.has(frame.source_mac) || surveyed_.has(frame.source)) return;
  surveyed_.learn(frame.source);
  if (tally_.key(flow.service).part == Part::routes) move_to_own(flow, side);
}

/// What was taken for a routed conversation is the surveyed machine's own, on side `side`: its address was not known.
void Surveyor::move_to_own(Flow& flow, unsigned side) {
  ServiceKey key = tally_.key(flow.service);
  const unsigned server_side = 1U - flow.opener;
  key.part = side == server_side ? Part::serves : Part::opens;
  key.server = flow.address[server_side];
  const std::uint32_t service = tally_.service(key);
  auto& before = tally_.totals(flow.service);
  if (before.opens > 0) --before.opens;
  if (!flow.seen && before.inferred > 0) --before.inferred;
  const Mac mac = before.server_mac;
  const bool open = flow.is_tcp() && !flow.closed;
  if (open) --before.open_now;
  auto& after = tally_.totals(service);
  if (open) ++after.open_now;
  if (side == server_side) after.server_mac = mac;
  flow.service = service;
  flow.client = tally_.client(service, flow.address[flow.opener]);
  note_open(service, flow.client, flow.first, flow.seen);
}

/// The client sent something that wants an answer.
void Surveyor::asked(Flow& flow, const Frame& frame) {
  const bool first = flow.last_asked == 0;
  const bool burst = first || frame.time - flow.last_asked >= kBurstEnds;
  flow.last_asked = std::max<std::int64_t>(frame.time, 1);
  if (!burst) return;
  auto& totals = tally_.totals(flow.service);
  if (flow.client != Tally::kNone) {
    auto& client = tally_.client_at(flow.client);
    const std::int64_t since = frame.time - client.last_burst;
    if (client.last_burst != 0 && since >= kBurstEnds) totals.active.add(since);
    if (client.last_burst == 0 || since >= kBurstEnds) client.last_burst = frame.time;
  }
  if (flow.is_tcp() || first) return;
  if (!flow.answered && !flow.refused) ++totals.unanswered;
  if (flow.refused) ++totals.refused;
  flow.answered = flow.refused = false;
  if (!flow.follows) note_open(flow.service, flow.client, frame.time, true);
}

void Surveyor::look(Flow& flow, const Frame& frame, unsigned side) {
  if (!frame.is_tcp() && !frame.is_udp()) return;
  ++flow.looked[side];
  if (flow.follows) return;
  const std::uint16_t port = tally_.key(flow.service).port;
  const bool from_client = side == flow.opener;
  const bool tftp = frame.is_udp() && port == 69 && from_client;
  if (!tally_.worth_a_look(flow.service) && !tftp) return;
  const Application found = recognise({reinterpret_cast<const char*>(frame.payload), frame.payload_captured},
                                      frame.is_tcp(), from_client, port);
  if (found.name.empty()) return;
  flow.looked[side] = kLooks;
  tally_.totals(flow.service).name(found.name, found.hint);
  if (tftp && !found.hint.empty()) {
    expected_[next_expected_] = {frame.source, frame.destination, frame.source_port, flow.service, flow.client};
    next_expected_ = (next_expected_ + 1) % expected_.size();
  }
}

std::uint32_t Surveyor::open(const Frame& frame, std::uint64_t hash) {
  if (flows_.full()) {
    finish(flows_.choose_victim());
    ++tally_.seen().evicted;
    began_evicting_ = true;
  }
  if (surveyed_.has(frame.source_mac) && is_own_address(frame)) surveyed_.learn(frame.source);
  const Door door = find_door(frame);
  Flow flow{.address = {frame.source, frame.destination},
            .port = {frame.source_port, frame.destination_port},
            .vlan = frame.vlan,
            .number = frame.number,
            .kind = frame.kind,
            .protocol = frame.protocol,
            .opener = static_cast<std::uint8_t>(1 - door.server_side),
            .seen = door.seen,
            .follows = door.follows,
            .service = door.service,
            .client = door.client,
            .station = {Tally::kNone, Tally::kNone},
            .first = frame.time,
            .last = frame.time};
  if (door.follows) {
    answer_request(frame);
  } else {
    const ServiceKey key = key_of(frame, door.server_side);
    flow.service = tally_.service(key);
    flow.client = tally_.client(flow.service, client_of(frame, door.server_side));
    auto& totals = tally_.totals(flow.service);
    if (flow.is_tcp()) ++totals.open_now;
    if (key.part == Part::routes) {
      tally_.client(flow.service, door.server_side == 1 ? frame.destination : frame.source, true);
      totals.server_mac = surveyed_.has(frame.source_mac) ? frame.source_mac : frame.destination_mac;
      const std::uint32_t gateway = tally_.station(totals.server_mac);
      if (gateway != Tally::kNone) tally_.speaker(gateway).gateway = true;
    } else if (frame.cast == Cast::unicast) {
      totals.server_mac = door.server_side == 1 ? frame.destination_mac : frame.source_mac;
    }
    // A connection that had to be given up comes back as one whose opening was not seen: it was counted then.
    if (door.seen || !began_evicting_) note_open(flow.service, flow.client, frame.time, door.seen);
  }
  return flows_.insert(hash, flow);
}

void Surveyor::note_open(std::uint32_t service, std::uint32_t client, std::int64_t time, bool seen) {
  auto& totals = tally_.totals(service);
  ++totals.opens;
  if (!seen) ++totals.inferred;
  totals.seen_at(time);
  if (client == Tally::kNone || !seen) return;
  auto& who = tally_.client_at(client);
  if (who.last_open != 0) totals.opened.add(time - who.last_open);
  who.last_open = time;
}

void Surveyor::refuse(const Frame& icmp) {
  Frame quoted;
  if (!decode_quoted(icmp, quoted)) return;
  unsigned side = 0;
  const std::uint32_t at = flows_.find(FlowTable::hash_of(quoted), quoted, side);
  if (at != FlowTable::kNone && !flows_[at].answered) flows_[at].refused = true;
}

void Surveyor::take_dhcp(const Frame& frame, const DhcpMessage& message) {
  const std::uint32_t station = tally_.station(frame.source_mac);
  count_station(station, 1, frame.length);
  if (message.from_client) {
    if (const auto pushed_out = dhcp_.ask(frame, message)) flush_dhcp(*pushed_out);
    return;
  }
  if (undiminished(frame.hops)) tally_.note_address(station, frame.source);
  if (surveyed_.has(frame.source_mac)) surveyed_.learn(frame.source);
  const Part part = surveyed_.has(frame.source)     ? Part::serves
                    : surveyed_.has(message.client) ? Part::opens
                                                    : Part::between;
  const std::uint32_t service = tally_.service({.server = frame.source,
                                                .port = 67,
                                                .vlan = frame.vlan,
                                                .kind = Kind::ip,
                                                .protocol = IPPROTO_UDP,
                                                .part = part});
  const std::uint32_t client = tally_.client(service, Address::of_mac(message.client));
  auto& totals = tally_.totals(service);
  totals.server_mac = frame.source_mac;
  ++totals.packets[1];
  totals.bytes[1] += frame.length;
  totals.seen_at(frame.time);
  if (const auto asked = dhcp_.answer(message)) {
    totals.packets[0] += asked->packets;
    totals.bytes[0] += asked->bytes;
    totals.seen_at(asked->first);
    totals.name("dhcp", std::string(asked->type));
    // Four messages make one lease.
    const std::int64_t before = client == Tally::kNone ? 0 : tally_.client_at(client).last_open;
    if (before == 0 || asked->first - before >= kDhcpPatience) note_open(service, client, asked->first, true);
  }
  totals.name("dhcp", std::string(message.type));
}

/// Nobody answered.
void Surveyor::flush_dhcp(const DhcpAsked& asked) {
  const std::uint32_t service = tally_.service({.server = Address::v4(0xffff'ffff),
                                                .port = 67,
                                                .vlan = asked.vlan,
                                                .kind = Kind::ip,
                                                .protocol = IPPROTO_UDP,
                                                .part = surveyed_.has(asked.client_station) ? Part::opens : Part::hears,
                                                .cast = Cast::broadcast});
  const std::uint32_t client = tally_.client(service, Address::of_mac(asked.client));
  auto& totals = tally_.totals(service);
  totals.packets[0] += asked.packets;
  totals.bytes[0] += asked.bytes;
  ++totals.unanswered;
  totals.name("dhcp", std::string(asked.type));
  note_open(service, client, asked.first, true);
  totals.seen_at(asked.last);
}

void Surveyor::count_station(std::uint32_t station, std::uint64_t packets, std::uint64_t bytes) {
  if (station == Tally::kNone) return;
  auto& speaker = tally_.speaker(station);
  speaker.packets += packets;
  speaker.bytes += bytes;
}

void Surveyor::settle(Flow& flow) {
  if (flow.packets[0] + flow.packets[1] == 0) return;
  auto& totals = tally_.totals(flow.service);
  for (unsigned side = 0; side < 2; ++side) {
    const std::size_t way = side == flow.opener ? 0 : 1;
    totals.packets[way] += flow.packets[side];
    totals.bytes[way] += flow.bytes[side];
    if (flow.packets[side] > 0) count_station(flow.station[side], flow.packets[side], flow.bytes[side]);
    if (flow.packets[side] > 0 && flow.station[side] != Tally::kNone && flow.vlan != 0)
      tally_.speaker(flow.station[side]).vlan = flow.vlan;
  }
  totals.seen_at(flow.first);
  totals.seen_at(flow.last);
  totals.longest = std::max(totals.longest, flow.last - flow.first);
  flow.packets = {};
  flow.bytes = {};
}

void Surveyor::finish(std::uint32_t at) {
  Flow& flow = flows_[at];
  settle(flow);
  auto& totals = tally_.totals(flow.service);
  if (flow.is_tcp() && !flow.closed) --totals.open_now;
  if (!flow.follows && !flow.answered) ++(flow.refused ? totals.refused : totals.unanswered);
  flows_.erase(at);
}

bool Surveyor::over(const Flow& flow, std::int64_t now) const {
  const std::int64_t idle = now - flow.last;
  return idle > (flow.closed ? kClosedIdle : flow.is_tcp() ? kConnectionIdle : kDatagramIdle);
}

void Surveyor::sweep(std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) {
    const std::uint32_t at = flows_.step();
    if (at == FlowTable::kNone) return;
    if (flows_[at].used && over(flows_[at], now_)) finish(at);
  }
}

void Surveyor::fold(std::int64_t now) {
  for (std::uint32_t at = 0; at < flows_.slots(); ++at) {
    if (!flows_[at].used) continue;
    settle(flows_[at]);
    if (over(flows_[at], now)) finish(at);
  }
  while (const auto asked = dhcp_.older_than(now - kDhcpPatience)) flush_dhcp(*asked);
}

void Surveyor::end() {
  fold(now_);
  for (std::uint32_t at = 0; at < flows_.slots(); ++at) {
    if (flows_[at].used && (!flows_[at].is_tcp() || flows_[at].closed || !flows_[at].answered)) finish(at);
  }
  while (const auto asked = dhcp_.older_than(std::numeric_limits<std::int64_t>::max())) flush_dhcp(*asked);
}

}  // namespace underway::traffic
