#include "traffic/packet/dhcp.hpp"

#include <netinet/in.h>

#include <utility>

namespace underway::traffic {
namespace {

constexpr std::uint32_t kFixed = 236;  // up to the magic cookie
constexpr std::uint8_t kMagic[] = {99, 130, 83, 99};

std::string_view type_of(const std::uint8_t* options, std::uint32_t size) {
  static constexpr std::array<std::string_view, 9> names = {"BOOTP", "DISCOVER", "OFFER",   "REQUEST", "DECLINE",
                                                            "ACK",   "NAK",      "RELEASE", "INFORM"};
  std::uint32_t at = 0;
  while (at + 2 < size && options[at] != 255) {
    if (options[at] == 0) {  // padding
      ++at;
      continue;
    }
    if (options[at] == 53 && options[at + 1] == 1) {
      const std::uint8_t type = options[at + 2];
      return type < names.size() ? names[type] : "";
    }
    at += 2U + options[at + 1];
  }
  return names[0];
}

}  // namespace

std::optional<DhcpMessage> parse_dhcp(const Frame& frame) {
  const bool to_server = frame.destination_port == 67;
  const bool to_client = frame.source_port == 67 && frame.destination_port == 68;
  if (frame.protocol != IPPROTO_UDP || frame.kind != Kind::ip || (!to_server && !to_client)) return {};
  const std::uint8_t* p = frame.payload;
  if (frame.payload_captured < 34 || p[1] != 1 || p[2] != 6 || (p[0] != 1 && p[0] != 2)) return {};
  DhcpMessage message;
  message.from_client = p[0] == 1;
  for (unsigned i = 0; i < 4; ++i) message.transaction = (message.transaction << 8U) | p[4 + i];
  for (unsigned i = 0; i < 6; ++i) message.client = (message.client << 8U) | p[28 + i];
  message.type = "";
  const std::uint32_t size = frame.payload_captured;
  if (size >= kFixed + 4 && std::equal(std::begin(kMagic), std::end(kMagic), p + kFixed))
    message.type = type_of(p + kFixed + 4, size - kFixed - 4);
  if (message.client == 0) return {};
  return message;
}

std::optional<DhcpAsked> DhcpPending::ask(const Frame& frame, const DhcpMessage& message) {
  DhcpAsked* at = nullptr;
  for (auto& asked : asked_) {
    if (asked.client == message.client && asked.transaction == message.transaction) at = &asked;
  }
  std::optional<DhcpAsked> pushed_out;
  if (at == nullptr) {
    at = &asked_[next_];
    next_ = (next_ + 1) % asked_.size();
    if (at->client != 0) pushed_out = *at;
    *at = {.client = message.client,
           .client_station = frame.source_mac,
           .transaction = message.transaction,
           .vlan = frame.vlan,
           .first = frame.time};
  }
  ++at->packets;
  at->bytes += frame.length;
  at->last = frame.time;
  at->type = message.type;
  return pushed_out;
}

std::optional<DhcpAsked> DhcpPending::answer(const DhcpMessage& message) {
  for (auto& asked : asked_) {
    if (asked.client == message.client && asked.transaction == message.transaction)
      return std::exchange(asked, DhcpAsked{});
  }
  return {};
}

std::optional<DhcpAsked> DhcpPending::older_than(std::int64_t time) {
  for (auto& asked : asked_) {
    if (asked.client != 0 && asked.last < time) return std::exchange(asked, DhcpAsked{});
  }
  return {};
}

}  // namespace underway::traffic
