#include "traffic/packet/application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace underway::traffic {
namespace {

std::uint8_t byte(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }
std::uint16_t u16(std::string_view text, std::size_t at) {
  return static_cast<std::uint16_t>((byte(text, at) << 8U) | byte(text, at + 1));
}
std::uint32_t u32(std::string_view text, std::size_t at) {
  return (std::uint32_t{u16(text, at)} << 16U) | u16(text, at + 2);
}

/// The printable front of `text`, up to one of `ends`.
std::string words(std::string_view text, std::string_view ends, std::size_t most = 80) {
  std::string out;
  for (const char c : text) {
    if (out.size() == most || c < 0x20 || c > 0x7e || ends.find(c) != std::string_view::npos) break;
    out += c;
  }
  return out;
}

std::optional<Application> http(std::string_view p) {
  static constexpr std::array<std::string_view, 9> methods = {"GET ",     "POST ",  "PUT ",     "HEAD ",    "DELETE ",
                                                              "OPTIONS ", "PATCH ", "CONNECT ", "PROPFIND "};
  for (const auto method : methods) {
    if (p.starts_with(method)) return Application{"http", std::string(method) + words(p.substr(method.size()), " ?#")};
  }
  if (p.starts_with("HTTP/1.") || p.starts_with("PRI * HTTP/2")) return Application{"http", {}};
  return {};
}

/// A call of Sun RPC (RFC 5531), behind its record mark on TCP.
std::optional<Application> rpc(std::string_view p, bool tcp) {
  if (tcp) {
    if (p.size() < 4 || (u32(p, 0) & 0x7fff'ffffU) < 24 || (u32(p, 0) & 0x7fff'ffffU) > (16U << 20)) return {};
    p.remove_prefix(4);
  }
  if (p.size() < 24 || u32(p, 4) != 0 || u32(p, 8) != 2) return {};
  const std::uint32_t program = u32(p, 12);
  const std::uint32_t version = u32(p, 16);
  if (version > 64) return {};
  static constexpr std::array<std::pair<std::uint32_t, std::string_view>, 7> programs = {{{100'000, "portmap"},
                                                                                          {100'003, "nfs"},
                                                                                          {100'005, "mount"},
                                                                                          {100'011, "rquota"},
                                                                                          {100'021, "nlockmgr"},
                                                                                          {100'024, "status"},
                                                                                          {100'227, "nfsacl"}}};
  std::string_view name = "sunrpc";
  for (const auto& [number, known] : programs) {
    if (number == program) name = known;
  }
  return Application{name, fmt::format("program {} version {}", program, version)};
}

/// The version of Slurm's protocol (a number in one byte, 0 in the other), flags, type and length of the message
/// (slurm_protocol_pack.c, pack_header). Before it stands the length of all, which Slurm sends apart.
std::optional<Application> slurm(std::string_view p) {
  const auto header_at = [&](std::size_t at) {
    return p.size() >= at + 10 && byte(p, at) >= 0x20 && byte(p, at) <= 0x40 && byte(p, at + 1) == 0 &&
           u16(p, at + 2) < 0x100 && u16(p, at + 4) >= 1000 && u16(p, at + 4) < 12'000 && u32(p, at + 6) < (64U << 20);
  };
  const std::size_t at = header_at(0) ? 0 : 4;
  if (!header_at(at)) return {};
  return Application{"slurm", fmt::format("protocol {:#06x} message {}", u16(p, at), u16(p, at + 4))};
}

std::optional<Application> syslog(std::string_view p) {
  std::size_t at = 0;
  while (at < p.size() && at < 6 && p[at] >= '0' && p[at] <= '9') ++at;
  if (at > 0 && at < p.size() && p[at] == ' ') p.remove_prefix(at + 1);  // octet counting (RFC 6587)
  if (p.size() < 3 || p[0] != '<') return {};
  const std::size_t end = p.find('>');
  if (end == std::string_view::npos || end < 2 || end > 4) return {};
  for (std::size_t i = 1; i < end; ++i) {
    if (p[i] < '0' || p[i] > '9') return {};
  }
  return Application{"syslog", fmt::format("priority {}", p.substr(1, end - 1))};
}

std::optional<Application> ganglia(std::string_view p, std::uint16_t port) {
  if (p.starts_with("<?xml") && port >= 8649 && port <= 8652) return Application{"ganglia", {}};
  if (p.size() < 12 || u32(p, 0) < 128 || u32(p, 0) > 136) return {};  // Ganglia_msg_formats, lib/gm_protocol.x
  const std::uint32_t length = u32(p, 4);
  if (length == 0 || length > 255) return {};
  return Application{"ganglia", "host " + words(p.substr(8, length), "")};
}

std::optional<Application> mail(std::string_view p, bool from_client) {
  if (from_client && (p.starts_with("EHLO ") || p.starts_with("HELO ") || p.starts_with("ehlo ")))
    return Application{"smtp", words(p, "\r")};
  if (!from_client && (p.starts_with("220 ") || p.starts_with("220-")) && (p.find("SMTP") != std::string_view::npos))
    return Application{"smtp", {}};
  return {};
}

std::optional<Application> database(std::string_view p, bool from_client) {
  // A MySQL server speaks first: length, sequence 0, protocol 10, its version.
  if (!from_client && p.size() > 8 && p[2] == 0 && p[3] == 0 && p[4] == 0x0a && p[5] >= '3' && p[5] <= '9')
    return Application{"mysql", words(p.substr(5), "")};
  if (from_client && p.size() >= 8 && u32(p, 0) >= 8 && u32(p, 0) < 10'000 &&
      (u32(p, 4) == 0x0003'0000 || u32(p, 4) == 80'877'103))
    return Application{"postgresql", {}};
  return {};
}

std::optional<Application> over_tcp(std::string_view p, bool from_client, std::uint16_t port) {
  if (auto found = http(p)) return found;
  if (p.starts_with("SSH-")) return Application{"ssh", words(p, "\r\n")};
  if (p.size() >= 3 && p[0] == 0x16 && p[1] == 0x03 && byte(p, 2) <= 4) return Application{"tls", {}};
  if (auto found = rpc(p, true)) return found;
  if (auto found = slurm(p)) return found;
  if (auto found = mail(p, from_client)) return found;
  if (auto found = syslog(p)) return found;
  if (auto found = ganglia(p, port)) return found;
  if (auto found = database(p, from_client)) return found;
  if (p.starts_with("@RSYNCD:")) return Application{"rsync", {}};
  if (p.starts_with("ZBXD")) return Application{"zabbix", {}};
  if (p.size() >= 5 && p[0] == 0x30 && p[2] == 0x02 && (port == 389 || port == 3268)) return Application{"ldap", {}};
  if (p.size() >= 4 && (u32(p, 0) == 0xacce'7100 || u32(p, 0) == 0x0071'ceac)) return Application{"lustre", {}};
  if (p.size() >= 14 && port == 53) return Application{"dns", {}};
  return {};
}

std::optional<Application> tftp(std::string_view p, std::uint16_t port) {
  if (port != 69 || p.size() < 4 || p[0] != 0 || p[1] < 1 || p[1] > 6) return {};
  if (p[1] > 2) return Application{"tftp", {}};
  return Application{"tftp", std::string(p[1] == 1 ? "READ " : "WRITE ") + words(p.substr(2), "")};
}

std::optional<Application> over_udp(std::string_view p, std::uint16_t port) {
  if (auto found = tftp(p, port)) return found;
  if (p.size() >= 48 && port == 123) return Application{"ntp", fmt::format("version {}", (byte(p, 0) >> 3U) & 7U)};
  if (p.size() >= 12 && port == 53) return Application{"dns", {}};
  if (p.size() >= 12 && port == 5353) return Application{"mdns", {}};
  if (port == 546 || port == 547) return Application{"dhcp6", {}};
  if (p.starts_with("M-SEARCH ") || p.starts_with("NOTIFY * ")) return Application{"ssdp", {}};
  if (p.size() >= 4 && port == 623 && p[0] == 6 && p[3] == 7) return Application{"ipmi", {}};
  if (p.size() >= 5 && p[0] == 0x30 && (port == 161 || port == 162)) return Application{"snmp", {}};
  if (auto found = syslog(p)) return found;
  if (auto found = rpc(p, false)) return found;
  if (auto found = ganglia(p, port)) return found;
  return {};
}

}  // namespace

Application recognise(std::string_view payload, bool tcp, bool from_client, std::uint16_t port) {
  if (payload.empty()) return {};
  auto found = tcp ? over_tcp(payload, from_client, port) : over_udp(payload, port);
  return found ? std::move(*found) : Application{};
}

}  // namespace underway::traffic
