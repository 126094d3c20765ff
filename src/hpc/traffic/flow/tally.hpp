#pragma once
/// @file
/// The sums of a survey: what was said to each door, by whom, and how often. Packets are folded into it by FlowTable,
/// journals are added to it, and `to_traffic` makes the value that verdicts are built on. Its memory is bounded: what
/// goes beyond a limit is summed up under a door without a name, and told as a problem.

#include "traffic/flow/intervals.hpp"
#include "traffic/flow/open_index.hpp"
#include "traffic/packet/decoder.hpp"
#include "traffic/traffic.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace underway::traffic {

/// A door, seen from the surveyed machine.
struct ServiceKey {
  Address server;
  std::uint16_t port = 0;
  std::uint16_t vlan = 0;
  std::uint16_t number = 0;  ///< EtherType of Kind::ethernet
  Kind kind = Kind::ip;
  std::uint8_t protocol = 0;
  Part part = Part::between;
  Cast cast = Cast::unicast;

  bool operator==(const ServiceKey&) const = default;
};

struct Totals {
  std::uint64_t opens = 0, inferred = 0, refused = 0, unanswered = 0;
  std::array<std::uint64_t, 2> packets{}, bytes{};  ///< to the server, to the clients
  std::int64_t first = 0, last = 0;                 ///< ns since the epoch; 0: nothing yet
  std::int64_t longest = 0;
  std::uint64_t open_now = 0;  ///< of the newest report, not a sum
  Mac server_mac = 0;
  Intervals opened, active;
  std::string application;
  std::vector<std::string> hints;
  bool named = false;  ///< application or hints are news of this interval

  void seen_at(std::int64_t time) {
    if (first == 0 || time < first) first = time;
    last = std::max(last, time);
  }
  void name(std::string_view recognised, const std::string& hint);
  void add(const Totals& more);
};

class Tally {
 public:
  static constexpr std::uint32_t kNone = OpenIndex::kNone;

  struct Service {
    ServiceKey key;
    Totals totals;
    bool changed = false;     ///< since the last interval was taken
    std::uint32_t looks = 0;  ///< at payloads, to name the application
  };
  /// Somebody who opened, or (of routes) was opened to.
  struct Client {
    Address address;
    std::uint32_t service = 0;
    bool destination = false;
    bool changed = true;          ///< since the last interval was taken
    std::int64_t last_open = 0;   ///< ns since the epoch; 0: not yet
    std::int64_t last_burst = 0;  ///< its begin, likewise
  };
  struct Speaker {
    Mac mac = 0;
    std::uint16_t vlan = 0;
    bool gateway = false;
    bool changed = false;  ///< since the last interval was taken
    std::uint64_t packets = 0, bytes = 0;
    std::vector<Address> addresses;
  };
  struct Seen {
    std::uint64_t packets = 0, bytes = 0, lost = 0, evicted = 0;
    std::int64_t first = 0, last = 0;
    std::array<std::uint64_t, kMalformedKinds> malformed{};
  };
  struct Limits {
    std::size_t services = 32'768, clients = 1U << 20, stations = 65'536;
  };
  static constexpr std::size_t kAddressesOfStation = 16;

  Tally() : Tally(Limits()) {}
  explicit Tally(Limits limits);

  /// Found or made.
  std::uint32_t service(const ServiceKey& key);
  /// Found or made; kNone beyond the limit.
  std::uint32_t client(std::uint32_t service, const Address& address, bool destination = false);
  std::uint32_t station(Mac mac);
  void note_address(std::uint32_t station, const Address& address);

  Totals& totals(std::uint32_t service) {
    services_[service].changed = true;
    return services_[service].totals;
  }
  /// Whether looking at one more payload of this service is worth it.
  bool worth_a_look(std::uint32_t service) {
    constexpr std::uint32_t kMost = 256;
    auto& looks = services_[service].looks;
    if (looks >= kMost) return false;
    ++looks;
    return true;
  }
  const ServiceKey& key(std::uint32_t service) const { return services_[service].key; }
  Client& client_at(std::uint32_t client) { return clients_[client]; }
  Speaker& speaker(std::uint32_t station) {
    stations_[station].changed = true;
    return stations_[station];
  }
  Seen& seen() { return seen_; }
  const Seen& seen() const { return seen_; }
  std::size_t service_count() const { return services_.size(); }

  const std::vector<Service>& services() const { return services_; }
  const std::vector<Client>& clients() const { return clients_; }
  const std::vector<Speaker>& stations() const { return stations_; }

  /// Sets the sums to zero and keeps who is known: the next interval of a journal begins.
  void begin_interval();

  /// Without sources and without what is known of the surveyed machine.
  Traffic to_traffic() const;

 private:
  Limits limits_;
  std::vector<Service> services_;
  std::vector<Client> clients_;
  std::vector<Speaker> stations_;
  OpenIndex by_door_, by_client_, by_mac_;
  Seen seen_;
  bool services_full_ = false, clients_full_ = false;
};

}  // namespace underway::traffic
