#pragma once
/// @file
/// The known-answer bed: what a management server like the one of the UKY paper hears from its nodes in some hours. The
/// eight kinds of traffic that the paper names, and the booting of a node by DHCP, TFTP and HTTP.

#include "traffic/testing/wire.hpp"
#include "traffic/traffic.hpp"

namespace underway::traffic::testing {

struct Bed {
  Machine server{0x0200'0000'0001, "10.1.0.1"};
  std::vector<Machine> nodes;
  Wire wire;
};

/// `nodes` nodes 10.1.1.1 …, of which the last one boots in the first minute; `hours` of traffic.
Bed make_bed(int nodes = 4, int hours = 3);

/// What a survey of that bed yields, the server named.
Traffic bed_traffic(const Bed& bed);

/// The flow of that door; fails the test and returns an empty one when there is none, or more than one.
ServiceFlow flow_at(const Traffic& traffic, Part part, Protocol protocol, std::int64_t port);

}  // namespace underway::traffic::testing
