#pragma once
/// @file
/// DHCP (RFC 2131): a client without an address shouts to all, and the server that answers is known by its answer only.
/// So requests wait here until somebody answers them. Clients are known by their MACs.

#include "traffic/packet/decoder.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace underway::traffic {

struct DhcpMessage {
  bool from_client = true;
  Mac client = 0;
  std::uint32_t transaction = 0;
  std::string_view type;  ///< "DISCOVER", …; "BOOTP" when it does not say
};
/// Nothing when the frame is no DHCP message.
std::optional<DhcpMessage> parse_dhcp(const Frame& frame);

/// What a client said in one transaction and nobody answered yet.
struct DhcpAsked {
  Mac client = 0;  ///< 0: nothing
  Mac client_station = 0;
  std::uint32_t transaction = 0;
  std::uint16_t vlan = 0;
  std::string_view type;  ///< of the newest message
  std::uint64_t packets = 0, bytes = 0;
  std::int64_t first = 0, last = 0;
};

/// The newest transactions; what is pushed out was not answered.
class DhcpPending {
 public:
  /// Adds a request to its transaction. Returns the one that had to make room for it.
  std::optional<DhcpAsked> ask(const Frame& frame, const DhcpMessage& message);
  /// Takes what waited for this answer.
  std::optional<DhcpAsked> answer(const DhcpMessage& message);
  /// Takes those that have waited since before `time`.
  std::optional<DhcpAsked> older_than(std::int64_t time);

 private:
  std::array<DhcpAsked, 256> asked_{};
  std::size_t next_ = 0;
};

}  // namespace underway::traffic
