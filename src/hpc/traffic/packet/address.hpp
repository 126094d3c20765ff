#pragma once
/// @file
/// Addresses as the packets have them, in the form that costs least per packet: two words. IPv4 is held as IPv6's
/// ::ffff:a.b.c.d, and a MAC that stands for an address (frames without IP) has a first word of ones.

#include "net/address.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace underway::traffic {

/// 48 bits, the first byte highest.
using Mac = std::uint64_t;
inline constexpr Mac kBroadcastMac = 0xffff'ffff'ffff;

struct Address {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  static constexpr std::uint64_t kMapped = 0xffff'0000'0000;
  static constexpr Address v4(std::uint32_t value) { return {0, kMapped | value}; }
  static constexpr Address of_mac(Mac mac) { return {~std::uint64_t{0}, mac}; }

  bool is_v4() const { return high == 0 && (low >> 32U) == 0xffff; }
  bool is_mac() const { return high == ~std::uint64_t{0} && (low >> 48U) == 0; }
  std::uint32_t as_v4() const { return static_cast<std::uint32_t>(low); }
  /// Nothing was known: also 0.0.0.0 and ::.
  bool is_none() const { return (high == 0 && low == 0) || (is_v4() && as_v4() == 0); }
  /// 224.0.0.0/4 or ff00::/8.
  bool is_multicast() const { return is_v4() ? (as_v4() >> 28U) == 0xe : (high >> 56U) == 0xff && !is_mac(); }
  /// fe80::/10 or 169.254.0.0/16.
  bool is_link_local() const { return is_v4() ? (as_v4() >> 16U) == 0xa9fe : (high >> 54U) == 0x3fa; }

  auto operator<=>(const Address&) const = default;
};

/// A good mix of two words (the multiplication of wyhash, Wang Yi).
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9e37'79b9'7f4a'7c15) * (b ^ 0xe703'7ed1'a0b4'28db);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

/// "10.77.0.1", "fd00::1", "02:00:00:00:00:01"; empty for none.
std::string to_string(const Address& address);
/// "02:00:00:00:00:01"; empty for 0.
std::string mac_text(Mac mac);
/// Upper or lower case, with ':' or '-'. Nothing when it is no MAC.
std::optional<Mac> parse_mac(std::string_view text);
Address from_ip(const net::Ip& ip);
/// Nothing for a MAC.
std::optional<net::Ip> to_ip(const Address& address);

}  // namespace underway::traffic
