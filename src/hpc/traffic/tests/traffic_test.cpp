#include "traffic/traffic.hpp"

#include "base/json/json.hpp"

#include <gtest/gtest.h>

namespace underway::traffic {

TEST(Traffic, TravelsAsJsonAndComesBackTheSame) {
  Traffic traffic;
  traffic.sources = {"prov0"};
  traffic.first = 1'700'000'000'000'000'000;
  traffic.malformed["truncated tcp"] = 2;
  ServiceFlow flow;
  flow.part = Part::opens;
  flow.server = "10.77.0.11";
  flow.port = 6818;
  flow.clients = {"10.77.0.10"};
  flow.opened = {4, Duration{1}, Duration{2}, Duration{3}, Duration{0}};
  traffic.flows.push_back(flow);
  EXPECT_TRUE(describe::equal(json::decode_text<Traffic>(json::encode(traffic)), traffic));
  EXPECT_TRUE(describe::equal(json::decode_text<Traffic>(json::encode(traffic, json::Encoding::compact)), traffic));
}

TEST(Traffic, NamesTheDoorOfEachProtocol) {
  ServiceFlow flow;
  flow.port = 6817;
  EXPECT_EQ(door(flow), "tcp/6817");
  flow.protocol = Protocol::other;
  flow.number = 47;
  EXPECT_EQ(door(flow), "ip/47");
  flow.number = 0x88cc;
  EXPECT_EQ(door(flow), "ether/0x88cc");
  flow.protocol = Protocol::arp;
  EXPECT_EQ(door(flow), "arp");
}

TEST(Rhythm, IsRegularWhenItBeatsLikeAClock) {
  EXPECT_TRUE((Rhythm{5, {}, std::chrono::seconds(300), {}, std::chrono::seconds(2)}.regular()));
  EXPECT_FALSE((Rhythm{5, {}, std::chrono::seconds(300), {}, std::chrono::seconds(90)}.regular()));
  EXPECT_FALSE((Rhythm{1, {}, std::chrono::seconds(300), {}, {}}.regular()));
}

}  // namespace underway::traffic
