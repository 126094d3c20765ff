#include "traffic/packet/address.hpp"

#include <fmt/format.h>

namespace underway::traffic {

std::optional<net::Ip> to_ip(const Address& address) {
  if (address.is_mac()) return {};
  if (address.is_v4()) return net::Ip::v4(address.as_v4());
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(address.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::uint8_t>(address.low >> (56 - 8 * i));
  }
  return net::Ip::v6(bytes);
}

Address from_ip(const net::Ip& ip) {
  Address address;
  const auto& bytes = ip.bytes();
  if (ip.family() == net::Ip::Family::v4)
    return Address::v4((std::uint32_t{bytes[0]} << 24U) | (std::uint32_t{bytes[1]} << 16U) |
                       (std::uint32_t{bytes[2]} << 8U) | bytes[3]);
  for (std::size_t i = 0; i < 8; ++i) {
    address.high = (address.high << 8U) | bytes[i];
    address.low = (address.low << 8U) | bytes[8 + i];
  }
  return address;
}

std::string to_string(const Address& address) {
  if (address.is_none()) return {};
  if (const auto ip = to_ip(address)) return net::to_string(*ip);
  return mac_text(address.low);
}

std::string mac_text(Mac mac) {
  if (mac == 0) return {};
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", (mac >> 40U) & 0xff, (mac >> 32U) & 0xff,
                     (mac >> 24U) & 0xff, (mac >> 16U) & 0xff, (mac >> 8U) & 0xff, mac & 0xff);
}

std::optional<Mac> parse_mac(std::string_view text) {
  if (text.size() != 17) return {};
  Mac mac = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i % 3 == 2) {
      if (c != ':' && c != '-') return {};
      continue;
    }
    unsigned digit;
    if (c >= '0' && c <= '9')
      digit = static_cast<unsigned>(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
      digit = static_cast<unsigned>((c | 0x20) - 'a') + 10;
    else
      return {};
    mac = (mac << 4U) | digit;
  }
  return mac;
}

}  // namespace underway::traffic
