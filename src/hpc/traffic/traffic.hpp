#pragma once
/// @file
/// What a survey saw on the wire: packets folded into service flows. A service flow is everything that was said to one
/// door of one machine (address, protocol, port), by all who opened it. It is the only thing that verdicts and reports
/// know of packets, and it is the same whether it comes from a live capture, from capture files or from a journal.
///
/// Everything is seen from the surveyed machine (the management server): `part` says which side of the flow it is. What
/// no packet shows (who listens to a multicast group, unix sockets, the loopback) is not in here.

#include "base/json/describe.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace underway::traffic {

enum class Protocol { tcp, udp, icmp, icmp6, arp, other };

/// Which part the surveyed machine has in a flow.
enum class Part {
  serves,   ///< others open to it: `server` is one of its addresses
  opens,    ///< it opens to others: `server` is somebody else, or a group that it sends to
  routes,   ///< it forwards between a node and an address outside of the local networks: `server` is empty
  hears,    ///< others send to a group or to all; whether a program of this machine listens, no packet says
  between,  ///< others talk to each other; seen because the capture saw more than one machine
};

/// How the two sides talk.
enum class Pattern {
  connection,        ///< TCP
  request_response,  ///< UDP, ICMP, ARP, DHCP: what was sent was answered
  one_way,           ///< nobody answered: syslog over UDP, or a server that is not there
  broadcast,         ///< to all of the network
  multicast,         ///< to a group
};

/// How it is known which side opened.
enum class Opening {
  seen,      ///< the first packet was in the capture (TCP: SYN; else: no earlier packet of it within its idle time)
  inferred,  ///< the flow was there before the capture; decided by ports and by other flows to the same door
  mixed,     ///< some of each
};

/// How often something happens, from the intervals between its occurrences at the same client. From a histogram with
/// 16 steps per doubling: each figure is within 5 % of the true one.
struct Rhythm {
  std::int64_t intervals = 0;  ///< how many were measured; the rest is zero when there was none
  Duration low{0};             ///< 10th percentile
  Duration median{0};
  Duration high{0};    ///< 90th percentile
  Duration jitter{0};  ///< half of the distance between the quartiles

  /// Whether it beats like a clock: at least `least` intervals, whose jitter is below a tenth of the median.
  bool regular(std::int64_t least = 3) const { return intervals >= least && jitter * 10 <= median; }
};

struct ServiceFlow {
  Protocol protocol = Protocol::tcp;
  std::int64_t number = 0;  ///< of `other`: the IP protocol (1 … 255) or the EtherType (from 0x600)
  std::int64_t vlan = 0;    ///< outermost 802.1Q tag; 0 without
  Part part = Part::serves;
  Pattern pattern = Pattern::connection;

  /// The side that is opened to: an address, a group, 255.255.255.255, for ARP the address asked for. Empty for
  /// `routes` (see `destinations`), for ARP that the surveyed machine sends, and for protocols without addresses.
  std::string server;
  std::string server_mac;  ///< as last seen; for `routes` the surveyed machine's, for groups empty
  std::int64_t port = 0;   ///< TCP, UDP: of the server; ICMP: the type; 0 for others
  Opening opening = Opening::seen;

  /// Who opened: addresses (for DHCP: MACs), sorted, at most kMaxClients of them; `client_count` counts all.
  std::vector<std::string> clients;
  std::int64_t client_count = 0;
  /// Of `routes`: addresses outside that were opened to, sorted, at most kMaxDestinations; `destination_count` counts
  /// all.
  std::vector<std::string> destinations;
  std::int64_t destination_count = 0;

  std::int64_t opens = 0;       ///< connections, exchanges, or bursts of one-way packets
  std::int64_t refused = 0;     ///< of these: answered by RST or ICMP unreachable
  std::int64_t unanswered = 0;  ///< of these: not answered at all (one_way, broadcast, multicast: all of them)
  std::int64_t open_now = 0;    ///< connections that had not ended when the capture did
  std::int64_t packets_to_server = 0;
  std::int64_t packets_to_clients = 0;
  std::int64_t bytes_to_server = 0;  ///< on the wire, with Ethernet header
  std::int64_t bytes_to_clients = 0;
  std::int64_t first = 0;  ///< ns since the epoch
  std::int64_t last = 0;   ///< ns since the epoch
  Duration longest{0};     ///< the longest single connection or exchange

  Rhythm opened;  ///< between openings by the same client
  /// Between bursts (after at least one second of silence) from the same client, within connections too: how often a
  /// client needs something from a connection that stays open (rsyslog, NFS).
  Rhythm active;

  /// What the payload looks like, from the first bytes that each side said; empty when not recognised:
  /// http, tls, ssh, smtp, dns, ntp, syslog, dhcp, dhcp6, tftp, sunrpc, nfs, mount, portmap, ganglia, slurm, ldap,
  /// mdns, ssdp, mysql, …
  std::string application;
  /// A few words from it, at most kMaxHints: "GET /overlay-file/c1", "READ pxelinux.0", "program nfs version 4".
  std::vector<std::string> hints;

  static constexpr std::size_t kMaxClients = 1024;
  static constexpr std::size_t kMaxDestinations = 64;
  static constexpr std::size_t kMaxHints = 8;
};

/// A machine (network interface) that spoke.
struct Station {
  std::string mac;
  std::vector<std::string> addresses;  ///< that it used as its own, sorted; at most 16
  std::int64_t vlan = 0;
  std::int64_t packets = 0;  ///< sent
  std::int64_t bytes = 0;    ///< sent
  bool surveyed = false;     ///< one of the surveyed machine's interfaces
  bool gateway = false;      ///< it forwarded for others
};

struct Traffic {
  /// Where it comes from: "prov0", "mgmt.pcap", "mgmt.journal".
  std::vector<std::string> sources;
  std::int64_t first = 0;  ///< ns since the epoch: the first packet, or the start of a live capture
  std::int64_t last = 0;   ///< ns since the epoch
  std::int64_t packets = 0;
  std::int64_t bytes = 0;  ///< on the wire
  /// What the capture missed, as the kernel or the file's own statistics say; with a loss the rest is a lower bound.
  std::int64_t lost = 0;
  std::int64_t evicted = 0;  ///< flows folded early because the table was full: their intervals are coarser
  /// Packets that could not be read to their end, by what was wrong: "ipv4 header length", "truncated tcp", …
  std::map<std::string, std::int64_t> malformed;
  /// What could not be read of the sources: "mgmt.pcap: ends in the middle of a packet at offset 4711".
  std::vector<std::string> problems;

  /// The surveyed machine. Given, or found as the machine that most others talk to (`inferred`).
  std::vector<std::string> surveyed_macs;
  std::vector<std::string> surveyed_addresses;
  bool inferred = false;
  std::vector<std::string> local_networks;  ///< "10.1.0.0/16"; given, or from the addresses that stations used

  std::vector<Station> stations;   ///< at most 65536, by MAC
  std::vector<ServiceFlow> flows;  ///< by part, then most clients first
};

const describe::Enumeration& description(describe::Tag<Protocol>);
const describe::Enumeration& description(describe::Tag<Part>);
const describe::Enumeration& description(describe::Tag<Pattern>);
const describe::Enumeration& description(describe::Tag<Opening>);
const describe::Structure& description(describe::Tag<Rhythm>);
const describe::Structure& description(describe::Tag<ServiceFlow>);
const describe::Structure& description(describe::Tag<Station>);
const describe::Structure& description(describe::Tag<Traffic>);

/// "tcp/6817", "udp/67", "icmp/8", "arp", "ip/47", "ether/0x88cc".
std::string door(const ServiceFlow& flow);

}  // namespace underway::traffic
