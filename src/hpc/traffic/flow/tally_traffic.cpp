#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "traffic/flow/tally.hpp"

namespace underway::traffic {
namespace {

std::int64_t number(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
}

Protocol protocol_of(const ServiceKey& key) {
  if (key.kind == Kind::arp) return Protocol::arp;
  if (key.kind == Kind::ethernet) return Protocol::other;
  switch (key.protocol) {
    case 6:
      return Protocol::tcp;
    case 17:
      return Protocol::udp;
    case 1:
      return Protocol::icmp;
    case 58:
      return Protocol::icmp6;
    default:
      return Protocol::other;
  }
}

Pattern pattern_of(const ServiceKey& key, const Totals& totals) {
  if (key.cast == Cast::broadcast && totals.packets[1] == 0) return Pattern::broadcast;
  if (key.cast == Cast::multicast && totals.packets[1] == 0) return Pattern::multicast;
  if (key.kind == Kind::ip && key.protocol == 6) return Pattern::connection;
  return totals.packets[1] > 0 && totals.packets[0] > 0 ? Pattern::request_response : Pattern::one_way;
}

ServiceFlow flow_of(const ServiceKey& key, const Totals& totals) {
  ServiceFlow flow;
  flow.protocol = protocol_of(key);
  if (flow.protocol == Protocol::other) flow.number = key.kind == Kind::ethernet ? key.number : key.protocol;
  flow.vlan = key.vlan;
  flow.part = key.part;
  flow.pattern = pattern_of(key, totals);
  flow.server = to_string(key.server);
  flow.server_mac = key.cast == Cast::unicast ? mac_text(totals.server_mac) : "";
  flow.port = key.port;
  flow.opening = totals.inferred == 0              ? Opening::seen
                 : totals.inferred >= totals.opens ? Opening::inferred
                                                   : Opening::mixed;
  flow.opens = number(totals.opens);
  flow.refused = number(totals.refused);
  flow.unanswered = number(totals.unanswered);
  flow.open_now = number(totals.open_now);
  flow.packets_to_server = number(totals.packets[0]);
  flow.packets_to_clients = number(totals.packets[1]);
  flow.bytes_to_server = number(totals.bytes[0]);
  flow.bytes_to_clients = number(totals.bytes[1]);
  flow.first = totals.first;
  flow.last = totals.last;
  flow.longest = Duration{totals.longest};
  flow.opened = totals.opened.rhythm();
  flow.active = totals.active.rhythm();
  flow.application = totals.application;
  flow.hints = totals.hints;
  return flow;
}

/// Doors that kernels hand out one after the other are one door: port 0. One that many opened is a service all the
/// same.
constexpr std::uint16_t kFirstPassing = 32'768;
constexpr std::size_t kMostPassing = 8;
constexpr std::uint64_t kOpensOfService = 10;

bool passing(const Tally::Service& service) {
  return service.key.kind == Kind::ip && (service.key.protocol == 6 || service.key.protocol == 17) &&
         service.key.cast == Cast::unicast && service.key.port >= kFirstPassing &&
         service.totals.opens < kOpensOfService;
}

struct ByDoor {
  static auto order(const ServiceKey& k) {
    return std::tuple(k.part, k.server, k.kind, k.protocol, k.number, k.port, k.vlan, k.cast);
  }
  bool operator()(const ServiceKey& a, const ServiceKey& b) const { return order(a) < order(b); }
};

ServiceKey without_port(ServiceKey key) {
  key.port = 0;
  return key;
}

/// Services, those of passing doors as one.
struct Merged {
  std::vector<std::pair<ServiceKey, Totals>> doors;
  std::vector<std::size_t> door_of_service;
  std::vector<std::vector<Address>> opened_by, opened_to;  ///< by door
};

Merged merge(const Tally& tally) {
  std::map<ServiceKey, std::size_t, ByDoor> passing_at;
  for (const auto& service : tally.services()) {
    if (passing(service)) ++passing_at[without_port(service.key)];
  }
  Merged merged;
  std::map<ServiceKey, std::size_t, ByDoor> door_of_key;
  for (const auto& service : tally.services()) {
    ServiceKey key = service.key;
    if (passing(service) && passing_at[without_port(key)] > kMostPassing) key = without_port(key);
    const auto [at, made] = door_of_key.try_emplace(key, merged.doors.size());
    if (made) merged.doors.emplace_back(key, Totals{});
    merged.doors[at->second].second.add(service.totals);
    merged.door_of_service.push_back(at->second);
  }
  merged.opened_by.resize(merged.doors.size());
  merged.opened_to.resize(merged.doors.size());
  for (const auto& client : tally.clients()) {
    auto& lists = client.destination ? merged.opened_to : merged.opened_by;
    lists[merged.door_of_service[client.service]].push_back(client.address);
  }
  return merged;
}

/// Puts at most `most` of them in `out`; returns how many there are.
std::int64_t list(std::vector<Address> addresses, std::size_t most, std::vector<std::string>& out) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  for (std::size_t i = 0; i < std::min(addresses.size(), most); ++i) out.push_back(to_string(addresses[i]));
  return static_cast<std::int64_t>(addresses.size());
}

void add_flows(Merged merged, std::vector<ServiceFlow>& flows) {
  for (std::size_t i = 0; i < merged.doors.size(); ++i) {
    const auto& [key, totals] = merged.doors[i];
    if (totals.packets[0] + totals.packets[1] == 0) continue;
    ServiceFlow flow = flow_of(key, totals);
    flow.client_count = list(std::move(merged.opened_by[i]), ServiceFlow::kMaxClients, flow.clients);
    flow.destination_count = list(std::move(merged.opened_to[i]), ServiceFlow::kMaxDestinations, flow.destinations);
    flows.push_back(std::move(flow));
  }
  const auto order = [](const ServiceFlow& flow) {
    return std::tuple(flow.part, -flow.client_count, -flow.opens, flow.server, flow.protocol, flow.port, flow.number,
                      flow.vlan, flow.pattern);
  };
  std::sort(flows.begin(), flows.end(),
            [&](const ServiceFlow& a, const ServiceFlow& b) { return order(a) < order(b); });
}

void add_stations(const std::vector<Tally::Speaker>& speakers, std::vector<Station>& stations) {
  for (const auto& speaker : speakers) {
    Station station{.mac = mac_text(speaker.mac),
                    .addresses = {},
                    .vlan = speaker.vlan,
                    .packets = number(speaker.packets),
                    .bytes = number(speaker.bytes),
                    .gateway = speaker.gateway};
    list(speaker.addresses, Tally::kAddressesOfStation, station.addresses);
    stations.push_back(std::move(station));
  }
  std::sort(stations.begin(), stations.end(), [](const Station& a, const Station& b) { return a.mac < b.mac; });
}

}  // namespace

Traffic Tally::to_traffic() const {
  Traffic traffic;
  traffic.first = seen_.first;
  traffic.last = seen_.last;
  traffic.packets = number(seen_.packets);
  traffic.bytes = number(seen_.bytes);
  traffic.lost = number(seen_.lost);
  traffic.evicted = number(seen_.evicted);
  for (std::size_t kind = 1; kind < kMalformedKinds; ++kind) {
    if (seen_.malformed[kind] > 0)
      traffic.malformed[std::string(to_string(static_cast<Malformed>(kind)))] = number(seen_.malformed[kind]);
  }
  if (services_full_)
    traffic.problems.push_back(
        fmt::format("more than {} doors: those beyond are summed up without address and port", limits_.services));
  if (clients_full_)
    traffic.problems.push_back(
        fmt::format("more than {} clients of doors: their numbers are lower bounds", limits_.clients));
  add_flows(merge(*this), traffic.flows);
  add_stations(stations_, traffic.stations);
  return traffic;
}

}  // namespace underway::traffic
