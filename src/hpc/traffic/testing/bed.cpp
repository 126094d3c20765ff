#include "traffic/testing/bed.hpp"

#include <gtest/gtest.h>

#include "traffic/packet/decoder.hpp"
#include "traffic/reading.hpp"

namespace underway::traffic::testing {
namespace {

constexpr auto kSecond = Wire::kSecond;
constexpr auto kMinute = Wire::kMinute;

std::uint16_t ephemeral(int number) { return static_cast<std::uint16_t>(40'000 + number % 20'000); }

/// DHCP, TFTP of the loader, HTTP of the image (the paper's section 2).
void boot(Bed& bed, const Machine& node) {
  Wire& wire = bed.wire;
  const Machine nobody{node.mac, "0.0.0.0"};
  const Machine everybody{kEverybody, "255.255.255.255"};
  wire.at(2 * kSecond);
  for (const std::uint8_t step : {std::uint8_t{1}, std::uint8_t{3}}) {  // discover, request; offer, ack
    wire.udp(nobody, 68, everybody, 67, dhcp(true, node.mac, 0x1234, step));
    wire.after(3 * Wire::kMillisecond);
    wire.udp(bed.server, 67, {node.mac, node.ip}, 68,
             dhcp(false, node.mac, 0x1234, static_cast<std::uint8_t>(step == 1 ? 2 : 5)));
    wire.after(3 * Wire::kMillisecond);
  }
  wire.arp(node, bed.server);
  wire.udp(node, 2070, bed.server, 69, std::string("\0\x01pxelinux.0\0octet\0", 19));
  for (int i = 1; i <= 40; ++i) {
    wire.after(Wire::kMillisecond);
    wire.udp(bed.server, 49'321, node, 2070, be16(3) + be16(static_cast<std::uint16_t>(i)) + std::string(512, 'x'));
    wire.after(Wire::kMillisecond);
    wire.udp(node, 2070, bed.server, 49'321, be16(4) + be16(static_cast<std::uint16_t>(i)));
  }
  wire.after(kSecond);
  wire.talk(node, 51'000, bed.server, 80,
            {"GET /WW/vnfs?hwaddr=02 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n" + std::string(1400, 'v')});
}

/// Each as often as its kind: `phase` keeps nodes apart.
void run_node(Bed& bed, const Machine& node, int index, std::int64_t end) {
  Wire& wire = bed.wire;
  const std::int64_t phase = std::int64_t{index + 1} * 7 * kSecond + 60 * kSecond;
  int port = index;
  wire.at(phase - kSecond);
  wire.arp(node, bed.server);

  for (std::int64_t t = phase; t < end; t += 5 * kMinute) {  // (1) Warewulf's file synchronisation
    wire.at(t);
    wire.talk(node, ephemeral(port++), bed.server, 9873,
              {"GET /overlay-file/c1 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"});
  }
  wire.at(phase);  // (2) rsyslog holds one connection and writes when there is something to say
  wire.connect(node, ephemeral(10'000 + index), bed.server, 514);
  for (std::int64_t t = phase + kSecond, i = 0; t < end; t += (20 + (i * 37) % 90) * kSecond, ++i) {
    wire.at(t);
    wire.say(node, ephemeral(10'000 + index), bed.server, 514, "<30>Nov 21 c1 systemd[1]: Started.\n");
  }
  wire.at(phase + 2 * kSecond);  // (3) NFS from a reserved port
  wire.connect(node, static_cast<std::uint16_t>(700 + index), bed.server, 2049);
  for (std::int64_t t = phase + 3 * kSecond; t < end; t += 3 * kMinute) {
    wire.at(t);
    wire.say(node, static_cast<std::uint16_t>(700 + index), bed.server, 2049, rpc_call(100'003, 4));
    wire.say(bed.server, 2049, node, static_cast<std::uint16_t>(700 + index), std::string(200, '\x01'));
  }
  const Machine outside{0, "151.101.2.132"};  // (4) routed through the server
  for (std::int64_t t = phase + 4 * kSecond; t < end; t += 45 * kMinute) {
    wire.at(t);
    const std::uint16_t from = ephemeral(12'000 + port++);
    wire.tcp(node, from, outside, 443, kSyn, {}, {.to = bed.server.mac});
    wire.after(20 * Wire::kMillisecond);
    wire.tcp(outside, 443, node, from, kSyn | kAck, {}, {.hops = 53, .to = node.mac, .from = bed.server.mac});
    wire.after(Wire::kMillisecond);
    wire.tcp(node, from, outside, 443, kAck, std::string("\x16\x03\x01\x02\x00", 5) + std::string(500, 't'),
             {.to = bed.server.mac});
  }
  const Machine group{0, "239.2.11.71"};  // (5) gmond
  for (std::int64_t t = phase + 5 * kSecond; t < end; t += 20 * kSecond) {
    wire.at(t);
    wire.udp(node, 33'000, group, 8649, be32(133) + be32(2) + std::string("c1\0\0", 4) + be32(8) + "cpu_idle" + be32(0),
             {.hops = 1});
  }
  // (6) Slurm in both directions: the controller pings, the node registers and reports
  for (std::int64_t t = phase + 6 * kSecond; t < end; t += 100 * kSecond) {
    wire.at(t);
    wire.talk(bed.server, ephemeral(15'000 + port++), node, 6818,
              {be32(64) + be16(0x2600) + be16(0) + be16(1008) + be32(54) + std::string(54, 's'),
               be32(64) + be16(0x2600) + be16(0) + be16(8001) + be32(54) + std::string(54, 's')});
  }
  for (std::int64_t t = phase + 8 * kSecond; t < end; t += 30 * kMinute) {
    wire.at(t);
    wire.talk(node, ephemeral(16'000 + port++), bed.server, 6817,
              {be32(64) + be16(0x2600) + be16(0) + be16(1002) + be32(54) + std::string(54, 's'),
               be32(64) + be16(0x2600) + be16(0) + be16(8001) + be32(54) + std::string(54, 's')});
  }
  for (std::int64_t t = phase + 10 * kMinute; t < end;
       t += 80 * kMinute) {  // (7) mail of ended jobs: the server greets
    wire.at(t);
    wire.talk(node, ephemeral(17'000 + port++), bed.server, 25,
              {"", "220 mgmt ESMTP Postfix\r\n", "EHLO c1\r\n", "250 OK\r\n"});
  }
  for (std::int64_t t = phase + 12 * kSecond; t < end; t += 1024 * kSecond) {  // (8) NTP
    wire.at(t);
    const std::uint16_t from = ephemeral(18'000 + port++);
    wire.udp(node, from, bed.server, 123, ntp(3));
    wire.after(Wire::kMillisecond);
    wire.udp(bed.server, 123, node, from, ntp(4));
  }
}

}  // namespace

Bed make_bed(int nodes, int hours) {
  Bed bed;
  const std::int64_t end = std::int64_t{hours} * 60 * kMinute;
  for (int i = 0; i < nodes; ++i)
    bed.nodes.push_back({0x0200'0000'0101 + static_cast<Mac>(i), fmt::format("10.1.1.{}", i + 1)});
  boot(bed, bed.nodes.back());
  for (int i = 0; i < nodes; ++i) run_node(bed, bed.nodes[static_cast<std::size_t>(i)], i, end);
  return bed;
}

Traffic bed_traffic(const Bed& bed) {
  Surveyed surveyed = parse_surveyed({mac_text(bed.server.mac), bed.server.ip + "/16"});
  Surveyor surveyor(surveyed);
  surveyor.add(bed.wire.packets());
  surveyor.end();
  return make_traffic(surveyor.tally(), {{"bed"}, surveyor.surveyed(), {}});
}

ServiceFlow flow_at(const Traffic& traffic, Part part, Protocol protocol, std::int64_t port) {
  std::vector<const ServiceFlow*> found;
  std::string all;
  for (const auto& flow : traffic.flows) {
    if (flow.part == part && flow.protocol == protocol && flow.port == port) found.push_back(&flow);
    all += fmt::format("  {} {} {}\n", describe::spell(flow.part), door(flow), flow.server);
  }
  EXPECT_EQ(found.size(), 1U) << describe::spell(part) << " " << describe::spell(protocol) << "/" << port << " among\n"
                              << all;
  return found.size() == 1 ? *found.front() : ServiceFlow{};
}

}  // namespace underway::traffic::testing
