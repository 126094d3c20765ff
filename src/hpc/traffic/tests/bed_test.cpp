// The paper's Table 1 as the wire shows it: who opens, how many, how often, and what it looks like.
#include "traffic/testing/bed.hpp"

#include <gtest/gtest.h>

namespace underway::traffic::testing {
namespace {

using namespace std::chrono_literals;

class KnownAnswers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { traffic_ = new Traffic(bed_traffic(make_bed())); }
  static void TearDownTestSuite() { delete std::exchange(traffic_, nullptr); }
  static ServiceFlow serves(Protocol protocol, std::int64_t port) {
    return flow_at(*traffic_, Part::serves, protocol, port);
  }
  static Traffic* traffic_;
};
Traffic* KnownAnswers::traffic_ = nullptr;

/// Within what the histogram promises.
void expect_near(Duration measured, Duration truth) {
  EXPECT_NEAR(static_cast<double>(measured.count()), static_cast<double>(truth.count()),
              0.05 * static_cast<double>(truth.count()));
}

TEST_F(KnownAnswers, FileSynchronisationIsOpenedByEachNodeEveryFiveMinutes) {
  const auto flow = serves(Protocol::tcp, 9873);
  EXPECT_EQ(flow.client_count, 4);
  EXPECT_EQ(flow.clients, (std::vector<std::string>{"10.1.1.1", "10.1.1.2", "10.1.1.3", "10.1.1.4"}));
  EXPECT_EQ(flow.opens, 4 * 36);
  expect_near(flow.opened.median, 5min);
  EXPECT_TRUE(flow.opened.regular());
  EXPECT_EQ(flow.application, "http");
  EXPECT_EQ(flow.hints, (std::vector<std::string>{"GET /overlay-file/c1"}));
  EXPECT_EQ(flow.opening, Opening::seen);
  EXPECT_EQ(flow.open_now, 0);
}

TEST_F(KnownAnswers, SyslogIsOneConnectionThatIsOftenUsed) {
  const auto flow = serves(Protocol::tcp, 514);
  EXPECT_EQ(flow.opens, 4);
  EXPECT_EQ(flow.open_now, 4);
  EXPECT_EQ(flow.opened.intervals, 0);
  EXPECT_GT(flow.active.intervals, 100);
  EXPECT_FALSE(flow.active.regular());
  EXPECT_EQ(flow.application, "syslog");
}

TEST_F(KnownAnswers, NfsIsFoundAtItsDoorAlthoughClientsUseReservedPorts) {
  const auto flow = serves(Protocol::tcp, 2049);
  EXPECT_EQ(flow.client_count, 4);
  expect_near(flow.active.median, 3min);
  EXPECT_EQ(flow.application, "nfs");
  EXPECT_EQ(flow.hints, (std::vector<std::string>{"program 100003 version 4"}));
}

TEST_F(KnownAnswers, WhatTheServerRoutesIsNeitherItsServiceNorItsDoing) {
  const auto flow = flow_at(*traffic_, Part::routes, Protocol::tcp, 443);
  EXPECT_EQ(flow.client_count, 4);
  EXPECT_EQ(flow.destinations, (std::vector<std::string>{"151.101.2.132"}));
  EXPECT_EQ(flow.server, "");
  EXPECT_EQ(flow.server_mac, "02:00:00:00:00:01");
  EXPECT_EQ(flow.application, "tls");
  const auto gateway =
      std::find_if(traffic_->stations.begin(), traffic_->stations.end(), [](const Station& s) { return s.gateway; });
  ASSERT_NE(gateway, traffic_->stations.end());
  EXPECT_TRUE(gateway->surveyed);
  EXPECT_EQ(gateway->addresses, (std::vector<std::string>{"10.1.0.1"}));
}

TEST_F(KnownAnswers, GangliaIsMulticastThatTheServerHears) {
  const auto flow = flow_at(*traffic_, Part::hears, Protocol::udp, 8649);
  EXPECT_EQ(flow.pattern, Pattern::multicast);
  EXPECT_EQ(flow.server, "239.2.11.71");
  EXPECT_EQ(flow.client_count, 4);
  expect_near(flow.active.median, 20s);
  EXPECT_TRUE(flow.active.regular());
  EXPECT_EQ(flow.application, "ganglia");
}

TEST_F(KnownAnswers, SlurmctldIsOpenedToAndOpens) {
  const auto in = serves(Protocol::tcp, 6817);
  EXPECT_EQ(in.client_count, 4);
  expect_near(in.opened.median, 30min);
  EXPECT_EQ(in.application, "slurm");
  std::int64_t pings = 0;
  for (const auto& flow : traffic_->flows) {
    if (flow.part != Part::opens || flow.port != 6818) continue;
    EXPECT_EQ(flow.clients, (std::vector<std::string>{"10.1.0.1"}));
    expect_near(flow.opened.median, 100s);
    ++pings;
  }
  EXPECT_EQ(pings, 4);
}

TEST_F(KnownAnswers, MailIsNamedByTheGreetingOfTheServer) {
  const auto flow = serves(Protocol::tcp, 25);
  EXPECT_EQ(flow.application, "smtp");
  EXPECT_EQ(flow.opens, 4 * 3);
}

TEST_F(KnownAnswers, TimeIsAskedAndAnsweredEverySeventeenMinutes) {
  const auto flow = serves(Protocol::udp, 123);
  EXPECT_EQ(flow.pattern, Pattern::request_response);
  EXPECT_EQ(flow.unanswered, 0);
  EXPECT_EQ(flow.client_count, 4);
  expect_near(flow.opened.median, 1024s);
  EXPECT_TRUE(flow.opened.regular());
}

TEST_F(KnownAnswers, ABootIsDhcpByMacTftpWithItsDataAndHttp) {
  const auto dhcp = serves(Protocol::udp, 67);
  EXPECT_EQ(dhcp.server, "10.1.0.1");
  EXPECT_EQ(dhcp.clients, (std::vector<std::string>{"02:00:00:00:01:04"}));
  EXPECT_EQ(dhcp.opens, 1) << "four messages are one lease";
  EXPECT_EQ(dhcp.packets_to_server, 2);
  EXPECT_EQ(dhcp.packets_to_clients, 2);
  EXPECT_EQ(dhcp.pattern, Pattern::request_response);
  EXPECT_EQ(dhcp.hints, (std::vector<std::string>{"DISCOVER", "OFFER", "REQUEST", "ACK"}));
  const auto tftp = serves(Protocol::udp, 69);
  EXPECT_EQ(tftp.opens, 1);
  EXPECT_EQ(tftp.unanswered, 0);
  EXPECT_EQ(tftp.packets_to_clients, 40) << "the data come from another port";
  EXPECT_EQ(tftp.packets_to_server, 41);
  EXPECT_EQ(tftp.hints, (std::vector<std::string>{"READ pxelinux.0"}));
  EXPECT_EQ(serves(Protocol::tcp, 80).hints, (std::vector<std::string>{"GET /WW/vnfs"})) << "nothing behind the ?";
}

TEST_F(KnownAnswers, NothingElseIsSeen) {
  EXPECT_TRUE(traffic_->malformed.empty());
  EXPECT_TRUE(traffic_->problems.empty());
  EXPECT_EQ(traffic_->stations.size(), 5U);
  // nine services, ARP, four doors of slurmd, ganglia, the routed
  EXPECT_EQ(traffic_->flows.size(), 16U);
}

}  // namespace
}  // namespace underway::traffic::testing
