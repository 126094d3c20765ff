#pragma once
/// @file
/// IP addresses and CIDR arithmetic, as values. An Ip is IPv4 or IPv6; a Cidr keeps the address as written, so
/// "10.77.0.10/24" is both an interface address and, through `network()`, the network it lies in.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace underway::net {

class Ip {
 public:
  enum class Family : std::uint8_t { v4, v6 };

  /// 0.0.0.0
  Ip() = default;
  /// From host byte order: Ip::v4(0x0a4d000a) is 10.77.0.10.
  static Ip v4(std::uint32_t value);
  /// From network byte order; `bytes` has 16.
  static Ip v6(const std::array<std::uint8_t, 16>& bytes);

  Family family() const { return family_; }
  /// 32 or 128.
  int bits() const { return family_ == Family::v4 ? 32 : 128; }
  /// Network byte order; the first 4 bytes for IPv4, the rest zero.
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  /// The next-but-`n` address. Errors: exhausted when it leaves the address space.
  Ip plus(std::uint64_t n) const;

  auto operator<=>(const Ip&) const = default;

 private:
  Family family_ = Family::v4;
  std::array<std::uint8_t, 16> bytes_{};
};

struct Cidr {
  Ip ip;
  int prefix = 32;

  /// The same prefix with the host bits cleared.
  Cidr network() const;
  bool contains(const Ip& other) const;
  bool overlaps(const Cidr& other) const;
  /// The n-th address of the network; 0 is the network's own. Errors: exhausted when the network is smaller.
  Ip host(std::uint64_t n) const;
  /// How many addresses can be given to hosts: without network and broadcast address, for /31 and /32 all
  /// (RFC 3021); capped at 2^63.
  std::uint64_t usable_hosts() const;
  /// The last address; meaningful for IPv4.
  Ip broadcast() const;

  auto operator<=>(const Cidr&) const = default;
};

/// "10.77.0.10" or "fd00::1"; nothing when it is neither (no zones, no ports, no leading zeros).
std::optional<Ip> parse_ip(std::string_view text);
/// "10.77.0.0/24"; the prefix is required. Nothing when malformed.
std::optional<Cidr> parse_cidr(std::string_view text);
std::string to_string(const Ip& ip);
std::string to_string(const Cidr& cidr);

}  // namespace underway::net
