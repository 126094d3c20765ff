#pragma once
/// @file
/// Makes packets for tests, bit for bit as machines send them, and capture files of them.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "net/packet.hpp"
#include "traffic/packet/address.hpp"

namespace underway::traffic::testing {

struct Machine {
  Mac mac = 0;
  std::string ip;  ///< v4 or v6
};

inline constexpr Mac kEverybody = kBroadcastMac;

/// What differs from the usual.
struct Sending {
  std::uint8_t hops = 64;
  std::uint16_t vlan = 0;
  Mac to = 0;    ///< instead of the receiver's: a router's
  Mac from = 0;  ///< instead of the sender's: a router's
};

/// A cable that remembers. Time moves only by `at` and `after`.
class Wire {
 public:
  static constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
  static constexpr std::int64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000, kMinute = 60 * kSecond;

  void at(std::int64_t since_start) { now_ = kStart + since_start; }
  void after(std::int64_t nanoseconds) { now_ += nanoseconds; }
  std::int64_t now() const { return now_; }

  void frame(std::string bytes, std::uint32_t on_the_wire = 0);
  void ethernet(Mac to, Mac from, std::uint16_t type, const std::string& body, std::uint16_t vlan = 0);
  void arp(const Machine& asks, const Machine& answers);
  void ip(const Machine& from, const Machine& to, std::uint8_t protocol, const std::string& body,
          const Sending& sending = {});
  void tcp(const Machine& from, std::uint16_t port, const Machine& to, std::uint16_t to_port, std::uint8_t flags,
           const std::string& payload = {}, const Sending& sending = {});
  void udp(const Machine& from, std::uint16_t port, const Machine& to, std::uint16_t to_port,
           const std::string& payload, const Sending& sending = {});
  void icmp(const Machine& from, const Machine& to, std::uint8_t type, std::uint8_t code, const std::string& body = {});

  /// Connects, says each text in turn (the client first; empty ones are left out), and closes, 1 ms a packet.
  void talk(const Machine& client, std::uint16_t port, const Machine& server, std::uint16_t to_port,
            const std::vector<std::string>& texts);
  void connect(const Machine& client, std::uint16_t port, const Machine& server, std::uint16_t to_port);
  /// Data and its acknowledgement.
  void say(const Machine& from, std::uint16_t port, const Machine& to, std::uint16_t to_port, const std::string& text);

  /// In the order of time; valid while the wire is and nothing is added.
  std::vector<net::Packet> packets() const;
  struct Format {
    bool swapped = false;
    bool nanoseconds = true;
    std::uint32_t snap = 262'144;
  };
  std::string pcap() const { return pcap(Format()); }
  std::string pcap(const Format& format) const;
  /// One section, one interface with nanoseconds, `lost` in its statistics.
  std::string pcapng(const Format& format, std::uint64_t lost = 0) const;

 private:
  struct Frame {
    std::int64_t time;
    std::string bytes;
    std::uint32_t length;
  };
  std::vector<const Frame*> in_order() const;
  std::int64_t now_ = kStart;
  std::deque<Frame> frames_;
};

/// "\x00\x01" of numbers, highest byte first.
std::string be16(std::uint16_t value);
std::string be32(std::uint32_t value);
/// 48 bytes as an NTP client or server (mode 3 or 4) sends them.
std::string ntp(unsigned mode);
/// A call of Sun RPC with its record mark.
std::string rpc_call(std::uint32_t program, std::uint32_t version);
/// A DHCP message (RFC 2131) with the magic cookie and its type.
std::string dhcp(bool request, Mac client, std::uint32_t transaction, std::uint8_t type);

}  // namespace underway::traffic::testing
