#include "net/address.hpp"

#include <arpa/inet.h>

#include "base/error.hpp"
#include "base/numbers.hpp"

namespace underway::net {
namespace {

/// Clears every bit after the first `prefix`, or sets them.
Ip with_host_bits(const Ip& ip, int prefix, bool set) {
  auto bytes = ip.bytes();
  for (int bit = prefix; bit < ip.bits(); ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    auto& byte = bytes[static_cast<std::size_t>(bit / 8)];
    byte = static_cast<std::uint8_t>(set ? byte | mask : byte & ~mask);
  }
  if (ip.family() == Ip::Family::v6) return Ip::v6(bytes);
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | bytes[i];
  return Ip::v4(value);
}

}  // namespace

Ip Ip::v4(std::uint32_t value) {
  Ip ip;
  for (std::size_t i = 0; i < 4; ++i) ip.bytes_[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  return ip;
}

Ip Ip::v6(const std::array<std::uint8_t, 16>& bytes) {
  Ip ip;
  ip.family_ = Family::v6;
  ip.bytes_ = bytes;
  return ip;
}

Ip Ip::plus(std::uint64_t n) const {
  Ip sum = *this;
  std::uint64_t carry = n;
  for (int i = bits() / 8 - 1; i >= 0; --i) {
    auto& byte = sum.bytes_[static_cast<std::size_t>(i)];
    const std::uint64_t low = byte + (carry & 0xff);
    byte = static_cast<std::uint8_t>(low);
    carry = (carry >> 8) + (low >> 8);
  }
  if (carry != 0) throw Error(Code::exhausted, fmt::format("no address {} after {}", n, to_string(*this)));
  return sum;
}

Cidr Cidr::network() const { return {with_host_bits(ip, prefix, false), prefix}; }

bool Cidr::contains(const Ip& other) const {
  return other.family() == ip.family() && with_host_bits(other, prefix, false) == network().ip;
}

bool Cidr::overlaps(const Cidr& other) const { return contains(other.network().ip) || other.contains(network().ip); }

Ip Cidr::host(std::uint64_t n) const {
  const int host_bits = ip.bits() - prefix;
  if (host_bits < 64 && n >> host_bits != 0) {
    throw Error(Code::exhausted, fmt::format("network {} has no address number {}", to_string(network()), n))
        .because(fmt::format("it ends at {}", to_string(broadcast())));
  }
  return network().ip.plus(n);
}

std::uint64_t Cidr::usable_hosts() const {
  const int host_bits = ip.bits() - prefix;
  if (host_bits >= 63) return std::uint64_t{1} << 63;
  const std::uint64_t all = std::uint64_t{1} << host_bits;
  return host_bits <= 1 ? all : all - 2;
}

Ip Cidr::broadcast() const { return with_host_bits(ip, prefix, true); }

std::optional<Ip> parse_ip(std::string_view text) {
  const std::string terminated(text);
  if (terminated.size() != text.size() || terminated.find('\0') != std::string::npos) return std::nullopt;
  in_addr four{};
  if (::inet_pton(AF_INET, terminated.c_str(), &four) == 1) return Ip::v4(ntohl(four.s_addr));
  std::array<std::uint8_t, 16> six{};
  if (::inet_pton(AF_INET6, terminated.c_str(), six.data()) == 1) return Ip::v6(six);
  return std::nullopt;
}

std::optional<Cidr> parse_cidr(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto ip = parse_ip(text.substr(0, slash));
  const auto digits = text.substr(slash + 1);
  const auto prefix = parse_number<int>(digits);
  const bool canonical = prefix && std::to_string(*prefix) == digits;
  if (!ip || !canonical || *prefix < 0 || *prefix > ip->bits()) return std::nullopt;
  return Cidr{*ip, *prefix};
}

std::string to_string(const Ip& ip) {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(ip.family() == Ip::Family::v4 ? AF_INET : AF_INET6, ip.bytes().data(), text, sizeof text);
  return text;
}

std::string to_string(const Cidr& cidr) { return fmt::format("{}/{}", to_string(cidr.ip), cidr.prefix); }

}  // namespace underway::net
