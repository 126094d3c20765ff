#include "traffic/flow/tally.hpp"

#include <algorithm>

namespace underway::traffic {
namespace {

std::uint64_t hash_of(const ServiceKey& key) {
  const std::uint64_t rest = (std::uint64_t{key.port} << 48U) | (std::uint64_t{key.vlan} << 32U) |
                             (std::uint64_t{key.number} << 16U) | (std::uint64_t{key.protocol} << 8U) |
                             (static_cast<std::uint64_t>(key.kind) << 6U) |
                             (static_cast<std::uint64_t>(key.part) << 3U) | static_cast<std::uint64_t>(key.cast);
  return mix(mix(key.server.high, key.server.low), rest);
}

std::uint64_t hash_of(std::uint32_t service, const Address& address, bool destination) {
  return mix(mix(address.high, address.low), (std::uint64_t{service} << 1U) | (destination ? 1U : 0U));
}

}  // namespace

void Totals::name(std::string_view recognised, const std::string& hint) {
  if (recognised.empty()) return;
  if (application.empty()) {
    application = recognised;
    named = true;
  }
  if (hint.empty() || application != recognised || hints.size() >= ServiceFlow::kMaxHints) return;
  if (std::find(hints.begin(), hints.end(), hint) != hints.end()) return;
  hints.push_back(hint);
  named = true;
}

void Totals::add(const Totals& more) {
  opens += more.opens;
  inferred += more.inferred;
  refused += more.refused;
  unanswered += more.unanswered;
  for (std::size_t side = 0; side < 2; ++side) {
    packets[side] += more.packets[side];
    bytes[side] += more.bytes[side];
  }
  if (more.first != 0 && (first == 0 || more.first < first)) first = more.first;
  if (more.last >= last) {
    last = more.last;
    open_now = more.open_now;
    if (more.server_mac != 0) server_mac = more.server_mac;
  }
  longest = std::max(longest, more.longest);
  opened.add(more.opened);
  active.add(more.active);
  name(more.application, {});
  for (const auto& hint : more.hints) name(more.application, hint);
}

Tally::Tally(Limits limits) : limits_(limits) {}

std::uint32_t Tally::service(const ServiceKey& key) {
  const auto find = [&](const ServiceKey& wanted) {
    return by_door_.find(hash_of(wanted), [&](std::uint32_t at) { return services_[at].key == wanted; });
  };
  ServiceKey wanted = key;
  std::uint32_t found = find(wanted);
  if (found == kNone && services_.size() >= limits_.services) {
    services_full_ = true;
    wanted = {.kind = key.kind, .protocol = key.protocol, .part = key.part, .cast = key.cast};
    found = find(wanted);
  }
  if (found != kNone) return found;
  const auto made = static_cast<std::uint32_t>(services_.size());
  services_.push_back({.key = wanted, .totals = {}});
  by_door_.insert(hash_of(wanted), made);
  return made;
}

std::uint32_t Tally::client(std::uint32_t service, const Address& address, bool destination) {
  const std::uint64_t hash = hash_of(service, address, destination);
  const std::uint32_t found = by_client_.find(hash, [&](std::uint32_t at) {
    const Client& client = clients_[at];
    return client.service == service && client.address == address && client.destination == destination;
  });
  if (found != kNone) return found;
  if (clients_.size() >= limits_.clients) {
    clients_full_ = true;
    return kNone;
  }
  const auto made = static_cast<std::uint32_t>(clients_.size());
  clients_.push_back({.address = address, .service = service, .destination = destination});
  by_client_.insert(hash, made);
  return made;
}

std::uint32_t Tally::station(Mac mac) {
  if (mac == 0) return kNone;
  const std::uint64_t hash = mix(mac, 0);
  const std::uint32_t found = by_mac_.find(hash, [&](std::uint32_t at) { return stations_[at].mac == mac; });
  if (found != kNone || stations_.size() >= limits_.stations) return found;
  const auto made = static_cast<std::uint32_t>(stations_.size());
  stations_.push_back({.mac = mac, .addresses = {}});
  by_mac_.insert(hash, made);
  return made;
}

void Tally::note_address(std::uint32_t station, const Address& address) {
  if (station == kNone || address.is_none() || address.is_mac() || address.is_multicast()) return;
  auto& known = stations_[station].addresses;
  if (known.size() >= kAddressesOfStation || std::find(known.begin(), known.end(), address) != known.end()) return;
  known.push_back(address);
  stations_[station].changed = true;
}

void Tally::begin_interval() {
  for (auto& service : services_) {
    if (!service.changed) continue;
    service.changed = false;
    const std::uint64_t open_now = service.totals.open_now;
    // Names stay, so that nobody looks at payloads again.
    Totals fresh;
    fresh.open_now = open_now;
    fresh.server_mac = service.totals.server_mac;
    fresh.application = std::move(service.totals.application);
    fresh.hints = std::move(service.totals.hints);
    service.totals = std::move(fresh);
  }
  for (auto& client : clients_) client.changed = false;
  for (auto& station : stations_) {
    station.changed = false;
    station.packets = station.bytes = 0;
  }
  seen_ = {};
}

}  // namespace underway::traffic
