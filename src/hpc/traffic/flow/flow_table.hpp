#pragma once
/// @file
/// The conversations that are going on, one entry of 128 bytes each. The table has a fixed greatest size; when it is
/// full, the caller is given the one that has been silent longest among the next few, to fold it early.

#include "traffic/flow/open_index.hpp"
#include "traffic/packet/decoder.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace underway::traffic {

/// Side 0 is whoever sent the first packet that was seen.
struct alignas(64) Flow {
  std::array<Address, 2> address;
  std::array<std::uint16_t, 2> port{};
  std::uint16_t vlan = 0;
  std::uint16_t number = 0;
  Kind kind = Kind::ip;
  std::uint8_t protocol = 0;
  std::uint8_t opener = 0;  ///< the side that opened
  bool used = false;

  bool answered : 1 = false;  ///< since the exchange began
  bool refused : 1 = false;
  bool closed : 1 = false;
  bool seen : 1 = true;      ///< who opened was seen
  bool follows : 1 = false;  ///< belongs to an exchange at another door (data of TFTP): opens nothing itself
  static constexpr std::uint8_t kUnmet = 0xff;
  std::array<std::uint8_t, 2> looked{kUnmet, kUnmet};  ///< payloads looked at; kUnmet: nothing came from this side

  std::uint32_t service = 0;
  std::uint32_t client = 0;
  std::array<std::uint32_t, 2> station{};
  std::int64_t first = 0, last = 0;
  std::int64_t last_asked = 0;  ///< when the opener last sent a payload
  /// Since the flow was last folded.
  std::array<std::uint32_t, 2> packets{};
  std::array<std::uint64_t, 2> bytes{};

  bool is_tcp() const { return kind == Kind::ip && protocol == 6; }
};
static_assert(sizeof(Flow) == 128);

class FlowTable {
 public:
  static constexpr std::uint32_t kNone = OpenIndex::kNone;

  explicit FlowTable(std::size_t most) : most_(most), index_(1024) {
    flows_.reserve(std::min<std::size_t>(most, 1024));
  }

  /// The same for both directions.
  static std::uint64_t hash_of(const Frame& frame) {
    const std::uint64_t from = mix(frame.source.low, frame.source.high ^ (std::uint64_t{frame.source_port} << 16U));
    const std::uint64_t to =
        mix(frame.destination.low, frame.destination.high ^ (std::uint64_t{frame.destination_port} << 16U));
    return mix(from + to, (std::uint64_t{frame.vlan} << 32U) | (std::uint64_t{frame.number} << 16U) |
                              (std::uint64_t{frame.protocol} << 8U) | static_cast<std::uint64_t>(frame.kind));
  }
  void prefetch_slot(std::uint64_t hash) const { index_.prefetch(hash); }
  void prefetch_flow(std::uint64_t hash) const {
    const std::uint32_t guess = index_.guess(hash);
    if (guess == kNone) return;
    const char* flow = reinterpret_cast<const char*>(&flows_[guess]);
    __builtin_prefetch(flow);
    __builtin_prefetch(flow + 64);
  }

  /// The flow of a frame, and the side that sent it.
  std::uint32_t find(std::uint64_t hash, const Frame& frame, unsigned& side) const {
    return index_.find(hash, [&](std::uint32_t at) {
      const Flow& flow = flows_[at];
      if (flow.vlan != frame.vlan || flow.protocol != frame.protocol || flow.kind != frame.kind ||
          flow.number != frame.number)
        return false;
      if (flow.address[0] == frame.source && flow.address[1] == frame.destination &&
          flow.port[0] == frame.source_port && flow.port[1] == frame.destination_port) {
        side = 0;
        return true;
      }
      if (flow.address[1] == frame.source && flow.address[0] == frame.destination &&
          flow.port[1] == frame.source_port && flow.port[0] == frame.destination_port) {
        side = 1;
        return true;
      }
      return false;
    });
  }

  bool full() const { return free_.empty() && flows_.size() >= most_; }
  /// Not when full.
  std::uint32_t insert(std::uint64_t hash, const Flow& flow);
  void erase(std::uint32_t at);
  Flow& operator[](std::uint32_t at) { return flows_[at]; }

  /// The next entry of an endless walk over the table; may be unused. kNone when the table is empty.
  std::uint32_t step();
  /// The flow to give up when the table is full: the longest silent of some.
  std::uint32_t choose_victim();

  std::size_t size() const { return flows_.size() - free_.size(); }
  std::size_t slots() const { return flows_.size(); }

 private:
  std::size_t most_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  OpenIndex index_;
  std::uint32_t hand_ = 0;
};

}  // namespace underway::traffic
