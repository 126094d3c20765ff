#pragma once
/// @file
/// The proof of a canary: between these nodes and the old server there was no packet. Packets are looked at one by one,
/// not flows, so that "after this moment" means every packet after it.

#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/packet.hpp"
#include "traffic/packet/decoder.hpp"

namespace underway::adoption {

/// Machines by network, address or MAC.
struct Party {
  std::vector<net::Cidr> networks;
  std::vector<traffic::Mac> macs;

  bool has(const traffic::Address& address, traffic::Mac mac) const;
};
/// "10.1.1.7", "10.1.0.0/16", "02:00:00:00:00:01". Errors: invalid, naming what is none of these.
Party parse_party(const std::vector<std::string>& texts);

/// What was said although nothing should be.
struct Conversation {
  std::string node;
  std::string what;  ///< "tcp/6817"; "arp" is none: neighbours may know each other
  bool by_node = false;
  std::int64_t packets = 0;
  std::int64_t first = 0;  ///< ns since the epoch
  std::int64_t last = 0;   ///< ns since the epoch
};

struct Silence {
  std::vector<Conversation> broken_by;
  std::int64_t packets = 0;        ///< looked at, all of them
  std::int64_t seen_of_nodes = 0;  ///< from or to the nodes, whoever the other side was: 0 proves nothing
  std::int64_t unread = 0;         ///< that could not be read to their end
  std::int64_t lost = 0;           ///< that the capture missed
  std::int64_t last = 0;           ///< ns since the epoch
  std::vector<std::string> problems;

  /// Whether the capture proves that they are silent.
  bool proven() const { return broken_by.empty() && seen_of_nodes > 0 && lost == 0 && problems.empty(); }
};

class SilenceCheck {
 public:
  /// Packets before `after` do not count; frames through the server's MAC to elsewhere (it routes) do.
  SilenceCheck(Party nodes, Party server, TimePoint after);

  void add(const net::Packet& packet);
  Silence result() const;

 private:
  struct Count {
    std::int64_t packets = 0, first = 0, last = 0;
  };
  struct Key {
    std::string node, what;
    bool by_node;
    auto operator<=>(const Key&) const = default;
  };

  Party nodes_, server_;
  std::int64_t after_;
  traffic::Decoder decoder_;
  std::map<Key, Count> counts_;
  Silence sums_;
};

/// Reads capture files, merged by time. Errors: not_found, invalid. Blocks: yes (disk).
Silence check_silence(const std::vector<std::string>& captures, Party nodes, Party server, TimePoint after);

}  // namespace underway::adoption
