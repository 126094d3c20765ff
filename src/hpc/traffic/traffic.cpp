#include "traffic/traffic.hpp"

#include <fmt/format.h>

namespace underway::traffic {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<Protocol>) {
  static const Enumeration e = describe::enumeration<Protocol>("protocol");
  return e;
}
const Enumeration& description(Tag<Part>) {
  static const Enumeration e = describe::enumeration<Part>("part");
  return e;
}
const Enumeration& description(Tag<Pattern>) {
  static const Enumeration e = describe::enumeration<Pattern>("pattern");
  return e;
}
const Enumeration& description(Tag<Opening>) {
  static const Enumeration e = describe::enumeration<Opening>("opening");
  return e;
}

const Structure& description(Tag<Rhythm>) {
  static const Structure s = Builder<Rhythm>("rhythm", "How often something happens at the same client.")
                                 .wire<&Rhythm::intervals>("Intervals", "How many were measured.")
                                 .wire<&Rhythm::low>("Low", "10th percentile.")
                                 .wire<&Rhythm::median>("Median", "The median.")
                                 .wire<&Rhythm::high>("High", "90th percentile.")
                                 .wire<&Rhythm::jitter>("Jitter", "Half of the distance between the quartiles.")
                                 .done();
  return s;
}

const Structure& description(Tag<ServiceFlow>) {
  static const Structure s =
      Builder<ServiceFlow>("flow", "What was said to one door of one machine, by all who opened it.")
          .wire<&ServiceFlow::protocol>("Protocol", "tcp, udp, icmp, icmp6, arp or other.")
          .wire<&ServiceFlow::number>("Number", "Of other: the IP protocol or the EtherType.")
          .wire<&ServiceFlow::vlan>("VLAN", "Outermost 802.1Q tag; 0 without.")
          .wire<&ServiceFlow::part>("Part", "The surveyed machine's: serves, opens, routes, hears, between.")
          .wire<&ServiceFlow::pattern>("Pattern", "connection, request_response, one_way, broadcast, multicast.")
          .wire<&ServiceFlow::server>("Server", "The address that is opened to.")
          .wire<&ServiceFlow::server_mac>("ServerMAC", "Its MAC as last seen.")
          .wire<&ServiceFlow::port>("Port", "Of the server; of ICMP the type.")
          .wire<&ServiceFlow::opening>("Opening", "Whether it was seen or inferred which side opened.")
          .wire<&ServiceFlow::clients>("Clients", "Who opened; at most 1024.")
          .wire<&ServiceFlow::client_count>("ClientCount", "How many opened.")
          .wire<&ServiceFlow::destinations>("Destinations", "Of routes: addresses outside; at most 64.")
          .wire<&ServiceFlow::destination_count>("DestinationCount", "How many addresses outside.")
          .wire<&ServiceFlow::opens>("Opens", "Connections, exchanges or bursts.")
          .wire<&ServiceFlow::refused>("Refused", "Of these: answered by RST or ICMP unreachable.")
          .wire<&ServiceFlow::unanswered>("Unanswered", "Of these: not answered.")
          .wire<&ServiceFlow::open_now>("OpenNow", "Connections that outlived the capture.")
          .wire<&ServiceFlow::packets_to_server>("PacketsToServer", "Packets.")
          .wire<&ServiceFlow::packets_to_clients>("PacketsToClients", "Packets.")
          .wire<&ServiceFlow::bytes_to_server>("BytesToServer", "Bytes on the wire.")
          .wire<&ServiceFlow::bytes_to_clients>("BytesToClients", "Bytes on the wire.")
          .wire<&ServiceFlow::first>("First", "When it was seen first.")
          .time()
          .wire<&ServiceFlow::last>("Last", "When it was seen last.")
          .time()
          .wire<&ServiceFlow::longest>("Longest", "The longest connection or exchange.")
          .wire<&ServiceFlow::opened>("Opened", "Between openings by the same client.")
          .wire<&ServiceFlow::active>("Active", "Between bursts from the same client.")
          .wire<&ServiceFlow::application>("Application", "What the payload looks like.")
          .wire<&ServiceFlow::hints>("Hints", "A few words from the payload.")
          .done();
  return s;
}

const Structure& description(Tag<Station>) {
  static const Structure s = Builder<Station>("station", "A network interface that spoke.")
                                 .wire<&Station::mac>("MAC", "Its hardware address.")
                                 .wire<&Station::addresses>("Addresses", "That it used as its own.")
                                 .wire<&Station::vlan>("VLAN", "Outermost 802.1Q tag; 0 without.")
                                 .wire<&Station::packets>("Packets", "Sent.")
                                 .wire<&Station::bytes>("Bytes", "Sent.")
                                 .wire<&Station::surveyed>("Surveyed", "Whether it is the surveyed machine's.")
                                 .wire<&Station::gateway>("Gateway", "Whether it forwarded for others.")
                                 .done();
  return s;
}

const Structure& description(Tag<Traffic>) {
  static const Structure s =
      Builder<Traffic>("traffic", "What a survey saw on the wire.")
          .wire<&Traffic::sources>("Sources", "Interfaces, capture files, journals.")
          .wire<&Traffic::first>("First", "The first packet, or the start of the capture.")
          .time()
          .wire<&Traffic::last>("Last", "The last packet, or the end of the capture.")
          .time()
          .wire<&Traffic::packets>("Packets", "Seen.")
          .wire<&Traffic::bytes>("Bytes", "Seen, on the wire.")
          .wire<&Traffic::lost>("Lost", "Packets that the capture missed.")
          .wire<&Traffic::evicted>("Evicted", "Flows folded early because the table was full.")
          .wire<&Traffic::malformed>("Malformed", "Packets that could not be read to their end, by reason.")
          .wire<&Traffic::problems>("Problems", "What could not be read of the sources.")
          .wire<&Traffic::surveyed_macs>("SurveyedMACs", "Of the surveyed machine.")
          .wire<&Traffic::surveyed_addresses>("SurveyedAddresses", "Of the surveyed machine.")
          .wire<&Traffic::inferred>("Inferred", "Whether the surveyed machine was found rather than given.")
          .wire<&Traffic::local_networks>("LocalNetworks", "What is not outside.")
          .wire<&Traffic::stations>("Stations", "Who spoke.")
          .wire<&Traffic::flows>("Flows", "By part, most clients first.")
          .done();
  return s;
}

std::string door(const ServiceFlow& flow) {
  switch (flow.protocol) {
    case Protocol::arp:
      return "arp";
    case Protocol::other:
      return flow.number >= 0x600 ? fmt::format("ether/{:#06x}", flow.number) : fmt::format("ip/{}", flow.number);
    default:
      return fmt::format("{}/{}", describe::spell(flow.protocol), flow.port);
  }
}

}  // namespace underway::traffic
