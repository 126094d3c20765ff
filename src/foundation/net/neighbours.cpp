#include "net/neighbours.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <netinet/tcp.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <net/if.h>

#include "base/error.hpp"

namespace underway::net {
namespace {

class Socket {
 public:
  Socket(const Namespace& in, int family, int type, int protocol) {
    in.run([&] {
      raw_ = ::socket(family, type | SOCK_CLOEXEC, protocol);
      if (raw_ < 0) throw errno_error(errno, fmt::format("cannot open a socket in network namespace '{}'", in.label()));
    });
  }
  ~Socket() { ::close(raw_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return raw_; }

 private:
  int raw_ = -1;
};

struct ArpFrame {  // 42 bytes, network byte order (RFC 826 over Ethernet)
  ether_header ethernet;
  arphdr header;
  std::uint8_t sender_mac[6];
  std::uint8_t sender_ip[4];
  std::uint8_t target_mac[6];
  std::uint8_t target_ip[4];
} __attribute__((packed));
static_assert(sizeof(ArpFrame) == 42);

ArpFrame announcement(const std::uint8_t* mac, const Ip& address, std::uint16_t operation) {
  ArpFrame frame{};
  std::memset(frame.ethernet.ether_dhost, 0xff, 6);
  std::memcpy(frame.ethernet.ether_shost, mac, 6);
  frame.ethernet.ether_type = htons(ETHERTYPE_ARP);
  frame.header = {htons(ARPHRD_ETHER), htons(ETHERTYPE_IP), 6, 4, htons(operation)};
  std::memcpy(frame.sender_mac, mac, 6);
  std::memcpy(frame.sender_ip, address.bytes().data(), 4);
  std::memset(frame.target_mac, operation == ARPOP_REPLY ? 0xff : 0, 6);
  std::memcpy(frame.target_ip, address.bytes().data(), 4);
  return frame;
}

void dump_listeners(int socket, std::uint8_t family, std::set<std::uint16_t>& ports) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } query{};
  query.header.nlmsg_len = sizeof query;
  query.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  query.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  query.request.sdiag_family = family;
  query.request.sdiag_protocol = IPPROTO_TCP;
  query.request.idiag_states = 1U << TCP_LISTEN;
  if (::send(socket, &query, sizeof query, 0) < 0) throw errno_error(errno, "cannot ask for the listening sockets");
  alignas(nlmsghdr) char block[16384];
  for (;;) {
    const auto received = ::recv(socket, block, sizeof block, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) throw errno_error(errno, "cannot read the listening sockets");
    auto left = static_cast<unsigned>(received);
    for (auto* message = reinterpret_cast<nlmsghdr*>(block); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      // An error means that the kernel lacks the family: nothing listens there.
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return;
      ports.insert(ntohs(static_cast<inet_diag_msg*>(NLMSG_DATA(message))->id.idiag_sport));
    }
  }
}

}  // namespace

void announce_address(const Namespace& in, const std::string& link, const Ip& address) {
  const auto what =
      fmt::format("cannot announce {} on link '{}' in network namespace '{}'", to_string(address), link, in.label());
  if (address.family() != Ip::Family::v4) throw Error(Code::invalid, what).because("ARP is for IPv4 only");
  if (link.empty() || link.size() >= IFNAMSIZ) throw Error(Code::not_found, what).because("no link has such a name");
  const Socket socket(in, AF_PACKET, SOCK_RAW, 0);  // protocol 0: sends only, never wakes up for traffic
  ifreq request{};
  link.copy(request.ifr_name, IFNAMSIZ - 1);
  if (::ioctl(socket.get(), SIOCGIFINDEX, &request) != 0) throw errno_error(errno == ENODEV ? ENOENT : errno, what);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = request.ifr_ifindex;
  to.sll_halen = 6;
  std::memset(to.sll_addr, 0xff, 6);
  if (::ioctl(socket.get(), SIOCGIFHWADDR, &request) != 0) throw errno_error(errno, what);
  const auto* mac = reinterpret_cast<const std::uint8_t*>(request.ifr_hwaddr.sa_data);
  for (const std::uint16_t operation : {std::uint16_t{ARPOP_REQUEST}, std::uint16_t{ARPOP_REPLY}}) {
    const auto frame = announcement(mac, address, operation);
    if (::sendto(socket.get(), &frame, sizeof frame, 0, reinterpret_cast<sockaddr*>(&to), sizeof to) < 0) {
      throw errno_error(errno == ENETDOWN ? ENETUNREACH : errno, what);
    }
  }
}

std::set<std::uint16_t> listening_tcp_ports(const Namespace& in) {
  const Socket socket(in, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
  std::set<std::uint16_t> ports;
  dump_listeners(socket.get(), AF_INET, ports);
  dump_listeners(socket.get(), AF_INET6, ports);
  return ports;
}

bool tcp_listening(const Namespace& in, std::uint16_t port) { return listening_tcp_ports(in).contains(port); }

}  // namespace underway::net
