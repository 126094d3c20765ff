#include <algorithm>

#include "base/error.hpp"
#include "traffic/journal.hpp"

namespace underway::traffic {
namespace {

constexpr std::uint8_t kVersion = 1;

/// Numbers as in LEB128: seven bits a byte, the lowest first.
class Writer {
 public:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      out_ += static_cast<char>(value | 0x80U);
      value >>= 7U;
    }
    out_ += static_cast<char>(value);
  }
  void time(std::int64_t value) { number(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0))); }
  void text(std::string_view value) {
    number(value.size());
    out_ += value;
  }
  void address(const Address& address) {
    if (address.is_v4()) {
      number(4);
      number(address.as_v4());
    } else if (address.is_mac()) {
      number(48);
      number(address.low);
    } else {
      number(6);
      number(address.high);
      number(address.low);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class JournalReader {
 public:
  explicit JournalReader(std::string_view in) : in_(in) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (in_.empty()) fail("it ends early");
      const auto byte = static_cast<std::uint8_t>(in_.front());
      in_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    fail("a number is too long");
  }
  std::uint64_t number(std::uint64_t most) {
    const std::uint64_t value = number();
    if (value > most) fail("a number is out of range");
    return value;
  }
  /// Of things that take at least one byte each.
  std::size_t count() { return number(in_.size()); }
  std::int64_t time() { return static_cast<std::int64_t>(number(std::numeric_limits<std::int64_t>::max())); }
  template <class T>
  T small(std::uint64_t most) {
    return static_cast<T>(number(most));
  }
  std::string text() {
    const std::size_t size = count();
    std::string value(in_.substr(0, size));
    in_.remove_prefix(size);
    return value;
  }
  Address address() {
    switch (number()) {
      case 4:
        return Address::v4(small<std::uint32_t>(0xffff'ffff));
      case 48:
        return Address::of_mac(number(kBroadcastMac));
      case 6: {
        const std::uint64_t high = number();
        return {high, number()};
      }
      default:
        fail("an address is of no known kind");
    }
  }
  void end() const {
    if (!in_.empty()) fail("something follows its end");
  }

 private:
  [[noreturn]] static void fail(const char* why) {
    throw Error(Code::invalid, "a record of a survey's journal cannot be read").because(why);
  }
  std::string_view in_;
};

void write_key(Writer& out, const ServiceKey& key) {
  out.address(key.server);
  out.number(key.port);
  out.number(key.vlan);
  out.number(key.number);
  out.number(static_cast<std::uint64_t>(key.kind));
  out.number(key.protocol);
  out.number(static_cast<std::uint64_t>(key.part));
  out.number(static_cast<std::uint64_t>(key.cast));
}

ServiceKey read_key(JournalReader& in) {
  ServiceKey key;
  key.server = in.address();
  key.port = in.small<std::uint16_t>(0xffff);
  key.vlan = in.small<std::uint16_t>(0xfff);
  key.number = in.small<std::uint16_t>(0xffff);
  key.kind = in.small<Kind>(static_cast<std::uint64_t>(Kind::ethernet));
  key.protocol = in.small<std::uint8_t>(0xff);
  key.part = in.small<Part>(static_cast<std::uint64_t>(Part::between));
  key.cast = in.small<Cast>(static_cast<std::uint64_t>(Cast::multicast));
  return key;
}

void write_intervals(Writer& out, const Intervals& intervals) {
  out.number(intervals.steps().size());
  for (const auto& [step, times] : intervals.steps()) {
    out.number(step);
    out.number(times);
  }
}

void read_intervals(JournalReader& in, Intervals& intervals) {
  const std::size_t steps = in.count();
  for (std::size_t i = 0; i < steps; ++i) {
    const auto step = in.small<std::uint16_t>(Intervals::kSteps - 1);
    intervals.add_step(step, in.number(1ULL << 40U));
  }
}

void write_totals(Writer& out, const Totals& totals) {
  for (const std::uint64_t value : {totals.opens, totals.inferred, totals.refused, totals.unanswered, totals.packets[0],
                                    totals.packets[1], totals.bytes[0], totals.bytes[1], totals.open_now})
    out.number(value);
  out.time(totals.first);
  out.time(totals.last);
  out.time(totals.longest);
  out.number(totals.server_mac);
  write_intervals(out, totals.opened);
  write_intervals(out, totals.active);
  const bool named = totals.named && !totals.application.empty();
  out.text(named ? totals.application : "");
  out.number(named ? totals.hints.size() : 0);
  if (named) {
    for (const auto& hint : totals.hints) out.text(hint);
  }
}

Totals read_totals(JournalReader& in) {
  constexpr std::uint64_t most = 1ULL << 62U;
  Totals totals;
  for (std::uint64_t* value : {&totals.opens, &totals.inferred, &totals.refused, &totals.unanswered, &totals.packets[0],
                               &totals.packets[1], &totals.bytes[0], &totals.bytes[1], &totals.open_now})
    *value = in.number(most);
  totals.first = in.time();
  totals.last = in.time();
  totals.longest = in.time();
  totals.server_mac = in.number(kBroadcastMac);
  read_intervals(in, totals.opened);
  read_intervals(in, totals.active);
  const std::string application = in.text();
  totals.name(application, {});
  const std::size_t hints = in.count();
  for (std::size_t i = 0; i < hints; ++i) totals.name(application, in.text());
  return totals;
}

void write_notes(Writer& out, const JournalNotes& notes) {
  out.number(notes.sources.size());
  for (const auto& source : notes.sources) out.text(source);
  out.number(notes.surveyed.macs.size());
  for (const auto mac : notes.surveyed.macs) out.number(mac);
  out.number(notes.surveyed.addresses.size());
  for (const auto& address : notes.surveyed.addresses) out.address(address);
  out.number(notes.surveyed.networks.size());
  for (const auto& network : notes.surveyed.networks) out.text(net::to_string(network));
  out.number(notes.surveyed.inferred ? 1 : 0);
}

template <class T>
void add_once(std::vector<T>& list, const T& value) {
  constexpr std::size_t most = 1024;
  if (list.size() < most && std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

void read_notes(JournalReader& in, JournalNotes& notes) {
  for (std::size_t left = in.count(); left > 0; --left) add_once(notes.sources, in.text());
  for (std::size_t left = in.count(); left > 0; --left) add_once(notes.surveyed.macs, in.number(kBroadcastMac));
  for (std::size_t left = in.count(); left > 0; --left) notes.surveyed.learn(in.address());
  for (std::size_t left = in.count(); left > 0; --left) {
    if (const auto network = net::parse_cidr(in.text())) add_once(notes.surveyed.networks, *network);
  }
  if (in.number(1) == 1) notes.surveyed.inferred = true;
}

void write_seen(Writer& out, const Tally::Seen& seen) {
  out.number(seen.packets);
  out.number(seen.bytes);
  out.number(seen.lost);
  out.number(seen.evicted);
  out.time(seen.first);
  out.time(seen.last);
  for (std::size_t kind = 1; kind < kMalformedKinds; ++kind) {
    if (seen.malformed[kind] == 0) continue;
    out.text(to_string(static_cast<Malformed>(kind)));  // by name: numbers may change
    out.number(seen.malformed[kind]);
  }
  out.text("");
}

void read_seen(JournalReader& in, Tally::Seen& seen) {
  seen.packets += in.number();
  seen.bytes += in.number();
  seen.lost += in.number();
  seen.evicted += in.number();
  const std::int64_t first = in.time();
  if (first != 0 && (seen.first == 0 || first < seen.first)) seen.first = first;
  seen.last = std::max(seen.last, in.time());
  for (std::string name = in.text(); !name.empty(); name = in.text()) {
    const std::uint64_t times = in.number();
    for (std::size_t kind = 1; kind < kMalformedKinds; ++kind) {
      if (name == to_string(static_cast<Malformed>(kind))) seen.malformed[kind] += times;
    }
  }
}

}  // namespace

std::string encode_record(const Tally& tally, const JournalNotes& notes) {
  std::vector<std::vector<const Tally::Client*>> news(tally.services().size());
  for (const auto& client : tally.clients()) {
    if (client.changed) news[client.service].push_back(&client);
  }
  Writer out;
  out.number(kVersion);
  write_notes(out, notes);
  write_seen(out, tally.seen());
  for (const auto& station : tally.stations()) {
    if (!station.changed) continue;
    out.number(station.mac);
    out.number(station.vlan);
    out.number(station.gateway ? 1 : 0);
    out.number(station.packets);
    out.number(station.bytes);
    out.number(station.addresses.size());
    for (const auto& address : station.addresses) out.address(address);
  }
  out.number(0);
  for (std::size_t i = 0; i < news.size(); ++i) {
    const auto& service = tally.services()[i];
    if (!service.changed) continue;
    out.number(1);
    write_key(out, service.key);
    write_totals(out, service.totals);
    out.number(news[i].size());
    for (const auto* client : news[i]) {
      out.number(client->destination ? 1 : 0);
      out.address(client->address);
    }
  }
  out.number(0);
  return out.take();
}

void decode_record(std::string_view body, Tally& tally, JournalNotes& notes) {
  JournalReader in(body);
  if (const auto version = in.number(); version != kVersion)
    throw Error(Code::unsupported, "a record of a survey's journal cannot be read")
        .because(fmt::format("it is of version {}, and this program knows version {}", version, kVersion));
  read_notes(in, notes);
  read_seen(in, tally.seen());
  while (const std::uint64_t mac = in.number(kBroadcastMac)) {
    const std::uint32_t at = tally.station(mac);
    Tally::Speaker told;
    told.vlan = in.small<std::uint16_t>(0xfff);
    told.gateway = in.number(1) == 1;
    told.packets = in.number();
    told.bytes = in.number();
    for (std::size_t left = in.count(); left > 0; --left) tally.note_address(at, in.address());
    if (at == Tally::kNone) continue;
    auto& station = tally.speaker(at);
    station.vlan = told.vlan;
    station.gateway = station.gateway || told.gateway;
    station.packets += told.packets;
    station.bytes += told.bytes;
  }
  while (in.number(1) == 1) {
    const std::uint32_t service = tally.service(read_key(in));
    tally.totals(service).add(read_totals(in));
    for (std::size_t left = in.count(); left > 0; --left) {
      const bool destination = in.number(1) == 1;
      tally.client(service, in.address(), destination);
    }
  }
  in.end();
}

}  // namespace underway::traffic
