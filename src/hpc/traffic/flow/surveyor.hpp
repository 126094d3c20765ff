#pragma once
/// @file
/// Folds packets into a tally: takes them apart, finds the conversation that each belongs to, decides who opened it and
/// at which door, and notes when. It allocates nothing per packet, and its memory is bounded. Time is that of the
/// packets. Thread: any one.

#include "net/packet.hpp"
#include "traffic/flow/flow_table.hpp"
#include "traffic/flow/surveyed.hpp"
#include "traffic/flow/tally.hpp"
#include "traffic/packet/dhcp.hpp"

#include <array>
#include <span>

namespace underway::traffic {

class Surveyor {
 public:
  struct Limits {
    std::size_t flows = 262'144;
    Tally::Limits tally;
  };

  explicit Surveyor(Surveyed surveyed) : Surveyor(std::move(surveyed), Limits()) {}
  Surveyor(Surveyed surveyed, Limits limits);

  void add(std::span<const net::Packet> packets);

  /// Brings the tally up to date with the conversations that go on, and forgets those that are over at `now`.
  void fold(std::int64_t now);
  /// No more packets come: what waited for an answer got none, and connections that are open stay so.
  void end();

  Tally& tally() { return tally_; }
  const Surveyed& surveyed() const { return surveyed_; }
  std::size_t flow_count() const { return flows_.size(); }

 private:
  /// Who opened at which door.
  struct Door {
    unsigned server_side = 1;  ///< of the frame: 1 its destination
    bool seen = true;
    bool follows = false;
    std::uint32_t service = Tally::kNone;  ///< given by the exchange that it follows
    std::uint32_t client = Tally::kNone;
  };
  /// Data of TFTP come from a port that nobody announced, to the one that asked (RFC 1350 §4).
  struct Expected {
    Address client, server;
    std::uint16_t client_port = 0;
    std::uint32_t service = Tally::kNone, who = Tally::kNone;
  };

  void add(Frame& frame, std::uint64_t hash);
  void take(Flow& flow, const Frame& frame, unsigned side);
  void meet(Flow& flow, const Frame& frame, unsigned side);
  void move_to_own(Flow& flow, unsigned side);
  void asked(Flow& flow, const Frame& frame);
  void look(Flow& flow, const Frame& frame, unsigned side);
  std::uint32_t open(const Frame& frame, std::uint64_t hash);
  void answer_request(const Frame& data);
  Door find_door(const Frame& frame) const;
  Door find_udp_door(const Frame& frame) const;
  bool known_door(const Address& server, std::uint16_t port, std::uint8_t protocol) const;
  void note_door(const Address& server, std::uint16_t port, std::uint8_t protocol);
  ServiceKey key_of(const Frame& frame, unsigned server_side);
  Part part_of(const Frame& frame, unsigned server_side);
  void note_open(std::uint32_t service, std::uint32_t client, std::int64_t time, bool seen);
  void refuse(const Frame& icmp);
  void take_dhcp(const Frame& frame, const DhcpMessage& message);
  void flush_dhcp(const DhcpAsked& asked);
  void count_station(std::uint32_t station, std::uint64_t packets, std::uint64_t bytes);
  /// Moves the flow's sums into its service.
  void settle(Flow& flow);
  void finish(std::uint32_t at);
  bool over(const Flow& flow, std::int64_t now) const;
  void sweep(std::size_t steps);

  Surveyed surveyed_;
  Decoder decoder_;
  Tally tally_;
  FlowTable flows_;
  OpenIndex doors_;
  std::vector<std::array<std::uint64_t, 3>> door_list_;
  std::array<Expected, 64> expected_{};
  std::size_t next_expected_ = 0;
  DhcpPending dhcp_;
  std::int64_t now_ = 0;
  bool began_evicting_ = false;

  static constexpr std::size_t kBatch = 32;
  std::array<Frame, kBatch> frames_;
  std::array<std::uint64_t, kBatch> hashes_{};
};

}  // namespace underway::traffic
