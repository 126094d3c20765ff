#include "traffic/testing/wire.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <stdexcept>

#include "net/address.hpp"
#include "traffic/packet/decoder.hpp"

namespace underway::traffic::testing {

std::string be16(std::uint16_t value) { return {static_cast<char>(value >> 8U), static_cast<char>(value)}; }
std::string be32(std::uint32_t value) {
  return be16(static_cast<std::uint16_t>(value >> 16U)) + be16(static_cast<std::uint16_t>(value));
}

namespace {

std::string mac_bytes(Mac mac) {
  return be16(static_cast<std::uint16_t>(mac >> 32U)) + be32(static_cast<std::uint32_t>(mac));
}

std::string ip_bytes(const std::string& text) {
  const auto ip = net::parse_ip(text);
  if (!ip) throw std::invalid_argument(text);
  return {reinterpret_cast<const char*>(ip->bytes().data()), ip->family() == net::Ip::Family::v4 ? 4U : 16U};
}

/// Groups have their own MACs (RFC 1112, RFC 2464).
Mac mac_for(const Machine& to) {
  if (to.mac != 0) return to.mac;
  const std::string ip = ip_bytes(to.ip);
  const auto byte = [&](std::size_t at) { return std::uint64_t{static_cast<std::uint8_t>(ip[at])}; };
  if (ip.size() == 4 && (byte(0) & 0xf0U) == 0xe0)
    return 0x0100'5e00'0000 | ((byte(1) & 0x7fU) << 16U) | (byte(2) << 8U) | byte(3);
  if (ip.size() == 16 && byte(0) == 0xff)
    return 0x3333'0000'0000 | (byte(12) << 24U) | (byte(13) << 16U) | (byte(14) << 8U) | byte(15);
  return kBroadcastMac;
}

std::string u16(std::uint16_t value, bool big) {
  std::string text = be16(value);
  if (!big) std::reverse(text.begin(), text.end());
  return text;
}
std::string u32(std::uint32_t value, bool big) {
  std::string text = be32(value);
  if (!big) std::reverse(text.begin(), text.end());
  return text;
}
std::string u64(std::uint64_t value, bool big) {
  const std::string high = u32(static_cast<std::uint32_t>(value >> 32U), big);
  const std::string low = u32(static_cast<std::uint32_t>(value), big);
  return big ? high + low : low + high;
}

std::string block(std::uint32_t type, const std::string& body, bool big) {
  const std::string padded = body + std::string((4 - body.size() % 4) % 4, '\0');
  const std::string length = u32(static_cast<std::uint32_t>(padded.size() + 12), big);
  return u32(type, big) + length + padded + length;
}

}  // namespace

void Wire::frame(std::string bytes, std::uint32_t on_the_wire) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  frames_.push_back({now_, std::move(bytes), std::max(size, on_the_wire)});
}

void Wire::ethernet(Mac to, Mac from, std::uint16_t type, const std::string& body, std::uint16_t vlan) {
  frame(mac_bytes(to) + mac_bytes(from) + (vlan == 0 ? "" : be16(0x8100) + be16(vlan)) + be16(type) + body);
}

void Wire::arp(const Machine& asks, const Machine& answers) {
  const std::string head = be16(1) + be16(0x0800) + "\x06\x04";
  ethernet(kEverybody, asks.mac, 0x0806,
           head + be16(1) + mac_bytes(asks.mac) + ip_bytes(asks.ip) + mac_bytes(0) + ip_bytes(answers.ip));
  after(kMillisecond);
  ethernet(asks.mac, answers.mac, 0x0806,
           head + be16(2) + mac_bytes(answers.mac) + ip_bytes(answers.ip) + mac_bytes(asks.mac) + ip_bytes(asks.ip));
  after(kMillisecond);
}

void Wire::ip(const Machine& from, const Machine& to, std::uint8_t protocol, const std::string& body,
              const Sending& sending) {
  const std::string source = ip_bytes(from.ip);
  const std::string destination = ip_bytes(to.ip);
  std::string header;
  if (source.size() == 4) {
    header = std::string("\x45\x00", 2) + be16(static_cast<std::uint16_t>(20 + body.size())) + be32(0) +
             std::string{static_cast<char>(sending.hops), static_cast<char>(protocol)} + be16(0) + source + destination;
  } else {
    header = be32(0x6000'0000) + be16(static_cast<std::uint16_t>(body.size())) +
             std::string{static_cast<char>(protocol), static_cast<char>(sending.hops)} + source + destination;
  }
  ethernet(sending.to != 0 ? sending.to : mac_for(to), sending.from != 0 ? sending.from : from.mac,
           source.size() == 4 ? 0x0800 : 0x86dd, header + body, sending.vlan);
}

void Wire::tcp(const Machine& from, std::uint16_t port, const Machine& to, std::uint16_t to_port, std::uint8_t flags,
               const std::string& payload, const Sending& sending) {
  ip(from, to, IPPROTO_TCP,
     be16(port) + be16(to_port) + be32(1) + be32(1) + std::string{'\x50', static_cast<char>(flags)} + be16(64'000) +
         be32(0) + payload,
     sending);
}

void Wire::udp(const Machine& from, std::uint16_t port, const Machine& to, std::uint16_t to_port,
               const std::string& payload, const Sending& sending) {
  ip(from, to, IPPROTO_UDP,
     be16(port) + be16(to_port) + be16(static_cast<std::uint16_t>(8 + payload.size())) + be16(0) + payload, sending);
}

void Wire::icmp(const Machine& from, const Machine& to, std::uint8_t type, std::uint8_t code, const std::string& body) {
  const bool v6 = from.ip.find(':') != std::string::npos;
  ip(from, to, static_cast<std::uint8_t>(v6 ? 58 : 1),
     std::string{static_cast<char>(type), static_cast<char>(code)} + be16(0) + be32(1) + body);
}

void Wire::connect(const Machine& client, std::uint16_t port, const Machine& server, std::uint16_t to_port) {
  tcp(client, port, server, to_port, kSyn);
  after(kMillisecond);
  tcp(server, to_port, client, port, kSyn | kAck);
  after(kMillisecond);
  tcp(client, port, server, to_port, kAck);
  after(kMillisecond);
}

void Wire::say(const Machine& from, std::uint16_t port, const Machine& to, std::uint16_t to_port,
               const std::string& text) {
  tcp(from, port, to, to_port, kAck | 0x08, text);
  after(kMillisecond);
  tcp(to, to_port, from, port, kAck);
  after(kMillisecond);
}

void Wire::talk(const Machine& client, std::uint16_t port, const Machine& server, std::uint16_t to_port,
                const std::vector<std::string>& texts) {
  connect(client, port, server, to_port);
  bool asks = true;
  for (const auto& text : texts) {
    if (!text.empty()) {
      if (asks)
        say(client, port, server, to_port, text);
      else
        say(server, to_port, client, port, text);
    }
    asks = !asks;
  }
  tcp(client, port, server, to_port, kFin | kAck);
  after(kMillisecond);
  tcp(server, to_port, client, port, kFin | kAck);
  after(kMillisecond);
  tcp(client, port, server, to_port, kAck);
}

std::vector<const Wire::Frame*> Wire::in_order() const {
  std::vector<std::pair<std::int64_t, std::size_t>> order;  // those of one instant as they were sent
  for (std::size_t i = 0; i < frames_.size(); ++i) order.emplace_back(frames_[i].time, i);
  std::sort(order.begin(), order.end());
  std::vector<const Frame*> frames;
  for (const auto& [time, i] : order) frames.push_back(&frames_[i]);
  return frames;
}

std::vector<net::Packet> Wire::packets() const {
  std::vector<net::Packet> packets;
  for (const auto* each : in_order())
    packets.push_back({.time = each->time,
                       .data = reinterpret_cast<const std::uint8_t*>(each->bytes.data()),
                       .captured = static_cast<std::uint32_t>(each->bytes.size()),
                       .length = each->length});
  return packets;
}

std::string Wire::pcap(const Format& format) const {
  const bool big = format.swapped;  // this machine is little-endian
  std::string out = u32(format.nanoseconds ? 0xa1b2'3c4d : 0xa1b2'c3d4, big) + u16(2, big) + u16(4, big) + u32(0, big) +
                    u32(0, big) + u32(format.snap, big) + u32(net::kLinkEthernet, big);
  for (const auto* each : in_order()) {
    const auto captured = std::min(static_cast<std::uint32_t>(each->bytes.size()), format.snap);
    const auto fraction = static_cast<std::uint32_t>(each->time % kSecond / (format.nanoseconds ? 1 : 1000));
    out += u32(static_cast<std::uint32_t>(each->time / kSecond), big) + u32(fraction, big) + u32(captured, big) +
           u32(each->length, big) + each->bytes.substr(0, captured);
  }
  return out;
}

std::string Wire::pcapng(const Format& format, std::uint64_t lost) const {
  const bool big = format.swapped;
  const std::string end = u32(0, big);
  std::string out = block(0x0a0d0d0a, u32(0x1a2b3c4d, big) + u16(1, big) + u16(0, big) + u64(~0ULL, big), big);
  const std::string resolution = u16(9, big) + u16(1, big) + std::string("\x09\0\0\0", 4);
  out += block(1, u16(net::kLinkEthernet, big) + u16(0, big) + u32(format.snap, big) + resolution + end, big);
  for (const auto* each : in_order()) {
    const auto captured = std::min(static_cast<std::uint32_t>(each->bytes.size()), format.snap);
    std::string bytes = each->bytes.substr(0, captured);
    const auto time = static_cast<std::uint64_t>(each->time);
    out += block(6,
                 u32(0, big) + u32(static_cast<std::uint32_t>(time >> 32U), big) +
                     u32(static_cast<std::uint32_t>(time), big) + u32(captured, big) + u32(each->length, big) + bytes,
                 big);
  }
  out += block(5, u32(0, big) + u64(0, big) + u16(5, big) + u16(8, big) + u64(lost, big) + end, big);
  return out;
}

std::string ntp(unsigned mode) { return static_cast<char>(0x20U | mode) + std::string(47, '\x01'); }

std::string rpc_call(std::uint32_t program, std::uint32_t version) {
  return be32(0x8000'0028) + be32(77) + be32(0) + be32(2) + be32(program) + be32(version) + be32(1) +
         std::string(16, '\0');
}

std::string dhcp(bool request, Mac client, std::uint32_t transaction, std::uint8_t type) {
  std::string text{request ? '\x01' : '\x02', '\x01', '\x06', '\x00'};
  text += be32(transaction) + std::string(20, '\0') + mac_bytes(client) + std::string(202, '\0');
  text += "\x63\x82\x53\x63";
  text += std::string{'\x35', '\x01', static_cast<char>(type), '\xff'};
  return text + std::string(60, '\0');
}

}  // namespace underway::traffic::testing
