#include "traffic/flow/surveyor.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "traffic/reading.hpp"
#include "traffic/testing/bed.hpp"

namespace underway::traffic::testing {
namespace {

using namespace std::chrono_literals;

const Machine kServer{0x0200'0000'0001, "10.1.0.1"};
const Machine kNode{0x0200'0000'0101, "10.1.1.1"};
const Machine kOther{0x0200'0000'0102, "10.1.1.2"};
const Machine kServer6{0x0200'0000'0001, "fd00::1"};
const Machine kNode6{0x0200'0000'0101, "fd00::101"};

Traffic survey(const Wire& wire, Surveyor::Limits limits = Surveyor::Limits()) {
  Surveyor surveyor(parse_surveyed({mac_text(kServer.mac), "10.1.0.1/16", "fd00::1/64"}), limits);
  surveyor.add(wire.packets());
  surveyor.end();
  return make_traffic(surveyor.tally(), {{"wire"}, surveyor.surveyed(), {}});
}

TEST(Surveyor, WhoSentTheSynOpened) {
  Wire wire;
  wire.talk(kNode, 6818, kServer, 45'000, {"x"});  // ports that would say the contrary
  const auto flow = flow_at(survey(wire), Part::serves, Protocol::tcp, 45'000);
  EXPECT_EQ(flow.opening, Opening::seen);
  EXPECT_EQ(flow.clients, (std::vector<std::string>{"10.1.1.1"}));
}

TEST(Surveyor, TheAnswerToASynTellsItToo) {
  Wire wire;
  wire.tcp(kServer, 45'000, kNode, 6818, kSyn | kAck);
  EXPECT_EQ(flow_at(survey(wire), Part::serves, Protocol::tcp, 45'000).opening, Opening::seen);
}

TEST(Surveyor, AConnectionFromBeforeTheCaptureIsInferred) {
  Wire wire;
  wire.say(kServer, 2049, kNode, 721, "x");     // NFS: both ports are a system's
  wire.say(kNode, 47'000, kServer, 6819, "x");  // registered against ephemeral
  wire.say(kServer, 33'000, kNode, 7321, "x");  // a door that nobody knows
  wire.after(Wire::kSecond);
  const auto traffic = survey(wire);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 2049).opening, Opening::inferred);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 6819).opening, Opening::inferred);
  const auto odd = flow_at(traffic, Part::opens, Protocol::tcp, 7321);
  EXPECT_EQ(odd.opening, Opening::inferred);
  EXPECT_EQ(odd.opens, 1);
}

TEST(Surveyor, ADoorThatWasSeenOpenedDecidesForOthers) {
  Wire wire;
  wire.talk(kNode, 40'000, kServer, 50'000, {"x", "y"});
  wire.say(kServer, 50'000, kOther, 7000, "z");
  const auto flow = flow_at(survey(wire), Part::serves, Protocol::tcp, 50'000);
  EXPECT_EQ(flow.client_count, 2);
  EXPECT_EQ(flow.opening, Opening::mixed);
}

TEST(Surveyor, RefusedAndUnansweredAreTold) {
  Wire wire;
  wire.tcp(kNode, 40'000, kServer, 81, kSyn);
  wire.tcp(kServer, 81, kNode, 40'000, kRst | kAck);
  wire.tcp(kNode, 40'001, kServer, 82, kSyn);
  wire.udp(kNode, 40'002, kServer, 515, "x");
  const auto asked = wire.packets().back();
  wire.icmp(kServer, kNode, 3, 3, std::string(reinterpret_cast<const char*>(asked.data) + 14, 28));
  const auto traffic = survey(wire);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 81).refused, 1);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 81).unanswered, 0);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 82).unanswered, 1);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::udp, 515).refused, 1);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::udp, 515).pattern, Pattern::one_way);
}

TEST(Surveyor, PeriodicOneWayDatagramsAreBursts) {
  Wire wire;
  for (int i = 0; i < 20; ++i) {
    wire.at(std::int64_t{i} * 30 * Wire::kSecond);
    for (int line = 0; line < 5; ++line) {
      wire.udp(kNode, 50'000, kServer, 514, "<13>hello");
      wire.after(Wire::kMillisecond);
    }
  }
  const auto flow = flow_at(survey(wire), Part::serves, Protocol::udp, 514);
  EXPECT_EQ(flow.pattern, Pattern::one_way);
  EXPECT_EQ(flow.opens, 20);
  EXPECT_EQ(flow.unanswered, 20);
  EXPECT_EQ(flow.packets_to_server, 100);
  EXPECT_EQ(flow.application, "syslog");
  EXPECT_EQ(flow.active.intervals, 19);
  EXPECT_NEAR(static_cast<double>(flow.active.median.count()), 30e9, 1.5e9);
}

TEST(Surveyor, SameProgramsAnswerPingWhateverTheFamily) {
  Wire wire;
  wire.icmp(kNode, kServer, 8, 0, "ping");
  wire.icmp(kServer, kNode, 0, 0, "ping");
  wire.icmp(kNode6, kServer6, 128, 0, "ping");
  wire.icmp(kServer6, kNode6, 129, 0, "ping");
  const auto traffic = survey(wire);
  for (const auto protocol : {Protocol::icmp, Protocol::icmp6}) {
    const auto flow = flow_at(traffic, Part::serves, protocol, protocol == Protocol::icmp ? 8 : 128);
    EXPECT_EQ(flow.opens, 1);
    EXPECT_EQ(flow.packets_to_clients, 1);
    EXPECT_EQ(flow.pattern, Pattern::request_response);
  }
}

TEST(Surveyor, SeesIpv6AndVlansApart) {
  Wire wire;
  wire.talk(kNode6, 40'000, kServer6, 6817, {"x"});
  wire.tcp(kNode, 40'000, kServer, 6817, kSyn, {}, {.vlan = 7});
  const auto traffic = survey(wire);
  std::vector<std::int64_t> vlans;
  for (const auto& flow : traffic.flows) {
    if (flow.port == 6817) vlans.push_back(flow.vlan);
  }
  std::sort(vlans.begin(), vlans.end());
  EXPECT_EQ(vlans, (std::vector<std::int64_t>{0, 7}));
}

TEST(Surveyor, BroadcastAndWhatTheServerSendsToGroups) {
  Wire wire;
  wire.udp(kNode, 40'000, {kEverybody, "10.1.255.255"}, 5555, "who?");
  wire.udp(kServer, 40'000, {0, "239.2.11.71"}, 8649, "me");
  const auto traffic = survey(wire);
  EXPECT_EQ(flow_at(traffic, Part::hears, Protocol::udp, 5555).pattern, Pattern::broadcast);
  EXPECT_EQ(flow_at(traffic, Part::opens, Protocol::udp, 8649).pattern, Pattern::multicast);
}

TEST(Surveyor, ADhcpRequestThatNobodyAnswersIsToldAsSuch) {
  Wire wire;
  wire.udp({kNode.mac, "0.0.0.0"}, 68, {kEverybody, "255.255.255.255"}, 67, dhcp(true, kNode.mac, 1, 1));
  const auto flow = flow_at(survey(wire), Part::hears, Protocol::udp, 67);
  EXPECT_EQ(flow.unanswered, 1);
  EXPECT_EQ(flow.server, "255.255.255.255");
  EXPECT_EQ(flow.clients, (std::vector<std::string>{"02:00:00:00:01:01"}));
}

TEST(Surveyor, AnAddressOfTheServerThatNobodyGaveIsNotTakenForTheOutside) {
  Wire wire;
  const Machine alias{kServer.mac, "10.1.0.99"};
  wire.udp(kNode, 40'000, alias, 514, "<13>x");  // it never speaks: a neighbour all the same
  const Machine second{kServer.mac, "192.168.7.1"};
  wire.talk(kNode, 40'001, second, 80, {"GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n"});
  wire.talk(kNode, 40'002, second, 80, {"GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n"});
  const auto traffic = survey(wire);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::udp, 514).server, "10.1.0.99");
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 80).server, "192.168.7.1") << "learnt from its answer";
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 80).opens, 2) << "the first one too";
  EXPECT_EQ(traffic.flows.size(), 2U);
}

TEST(Surveyor, ManyPassingDoorsAreOne) {
  Wire wire;
  for (std::uint16_t port = 50'000; port < 50'020; ++port) wire.talk(kNode, 40'000, kServer, port, {"x"});
  for (int i = 0; i < 30; ++i) wire.talk(kNode, static_cast<std::uint16_t>(41'000 + i), kServer, 60'000, {"x"});
  const auto traffic = survey(wire);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 0).opens, 20);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 60'000).opens, 30) << "opened too often to be passing";
}

TEST(Surveyor, AFullTableFoldsEarlyAndSaysSo) {
  Wire wire;
  wire.connect(kNode, 39'999, kServer, 6817);
  for (std::uint16_t port = 40'000; port < 40'500; ++port) {
    wire.tcp(kNode, port, kServer, 80, kSyn);
    wire.after(Wire::kMillisecond);
  }
  wire.say(kNode, 39'999, kServer, 6817, "still here");
  const auto traffic = survey(wire, {.flows = 64, .tally = {}});
  EXPECT_GT(traffic.evicted, 400);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 80).opens, 500);
  const auto lasting = flow_at(traffic, Part::serves, Protocol::tcp, 6817);
  EXPECT_EQ(lasting.opens, 1) << "it is not counted again when it comes back";
  EXPECT_EQ(lasting.packets_to_server, 3);
}

TEST(Surveyor, DoorsAndClientsBeyondTheLimitAreSummedUpAndTold) {
  Wire wire;
  for (std::uint16_t port = 1; port <= 50; ++port) {
    const Machine node{0x0200'0000'0200 + Mac{port}, fmt::format("10.1.2.{}", port)};
    wire.tcp(node, 40'000, kServer, port, kSyn);
  }
  const auto traffic = survey(wire, {.flows = 1000, .tally = {.services = 20, .clients = 30, .stations = 10}});
  EXPECT_EQ(traffic.problems.size(), 2U);
  EXPECT_EQ(traffic.stations.size(), 10U);
  std::int64_t opens = 0;
  for (const auto& flow : traffic.flows) opens += flow.opens;
  EXPECT_EQ(opens, 50) << "nothing is forgotten";
}

TEST(Surveyor, MalformedPacketsAreCountedAndStopNothing) {
  Wire wire;
  wire.talk(kNode, 40'000, kServer, 80, {"x"});
  wire.ethernet(kServer.mac, kNode.mac, 0x0800, "too short");
  wire.ethernet(kServer.mac, kNode.mac, 0x86dd, std::string(60, '\x99'));
  const auto traffic = survey(wire);
  EXPECT_EQ(traffic.malformed.at("truncated ipv4"), 1);
  EXPECT_EQ(traffic.malformed.at("ipv6 version"), 1);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 80).opens, 1);
}

TEST(Surveyor, TheSamePortsAgainAreAnotherConnection) {
  Wire wire;
  for (int i = 0; i < 3; ++i) {
    wire.talk(kNode, 40'000, kServer, 80, {"x"});
    wire.after(Wire::kSecond);
  }
  EXPECT_EQ(flow_at(survey(wire), Part::serves, Protocol::tcp, 80).opens, 3);
}

TEST(Surveyor, ARepeatedSynIsTheSameConnection) {
  Wire wire;
  for (int i = 0; i < 3; ++i) {
    wire.tcp(kNode, 40'000, kServer, 80, kSyn);
    wire.after(Wire::kSecond);
  }
  EXPECT_EQ(flow_at(survey(wire), Part::serves, Protocol::tcp, 80).opens, 1);
}

TEST(Surveyed, IsTheMachineThatMostOthersTalkTo) {
  const Bed bed = make_bed(4, 1);
  Surveyed surveyed;
  infer(surveyed, bed.wire.packets());
  EXPECT_TRUE(surveyed.inferred);
  EXPECT_EQ(surveyed.macs, (std::vector<Mac>{kServer.mac}));
  ASSERT_EQ(surveyed.addresses.size(), 1U);
  EXPECT_EQ(to_string(surveyed.addresses[0]), "10.1.0.1") << "not those that it routes for";
  ASSERT_EQ(surveyed.networks.size(), 1U);
  EXPECT_EQ(net::to_string(surveyed.networks[0]), "10.1.0.0/23");
}

TEST(Surveyed, OfTwoMachinesIsTheOneThatAnswersAtMostDoors) {
  const Bed bed = make_bed(1, 1);
  Surveyed surveyed;
  infer(surveyed, bed.wire.packets());
  EXPECT_EQ(surveyed.macs, (std::vector<Mac>{kServer.mac}));
}

TEST(Surveyed, AnAddressThatIsGivenFindsItsMac) {
  const Bed bed = make_bed(3, 1);
  Surveyed surveyed = parse_surveyed({"10.1.1.2"});
  infer(surveyed, bed.wire.packets());
  EXPECT_FALSE(surveyed.inferred);
  EXPECT_EQ(surveyed.macs, (std::vector<Mac>{bed.nodes[1].mac}));
  EXPECT_THROW(parse_surveyed({"mgmt"}), Error);
}

TEST(Surveyed, TheWholeSurveyIsTheSameWhenTheServerIsFound) {
  const Bed bed = make_bed();
  Surveyed surveyed;
  infer(surveyed, bed.wire.packets());
  Surveyor surveyor(surveyed);
  surveyor.add(bed.wire.packets());
  surveyor.end();
  const auto found = surveyor.tally().to_traffic();
  const auto given = bed_traffic(bed);
  ASSERT_EQ(found.flows.size(), given.flows.size());
  for (std::size_t i = 0; i < found.flows.size(); ++i)
    EXPECT_TRUE(describe::equal(found.flows[i], given.flows[i])) << i;
}

TEST(Intervals, KeepQuantilesWithinFivePercent) {
  Intervals intervals;
  for (int i = 1; i <= 1000; ++i) intervals.add(i * 1'000'000'000LL);
  intervals.add(-5);
  const Rhythm rhythm = intervals.rhythm();
  EXPECT_EQ(rhythm.intervals, 1000);
  EXPECT_NEAR(static_cast<double>(rhythm.median.count()), 500e9, 25e9);
  EXPECT_NEAR(static_cast<double>(rhythm.low.count()), 100e9, 5e9);
  EXPECT_NEAR(static_cast<double>(rhythm.high.count()), 900e9, 45e9);
  EXPECT_NEAR(static_cast<double>(rhythm.jitter.count()), 250e9, 25e9);
  Intervals extremes;
  extremes.add(0);
  extremes.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(extremes.rhythm().intervals, 2);
  EXPECT_LT(extremes.steps().back().first, Intervals::kSteps);
}

}  // namespace
}  // namespace underway::traffic::testing
