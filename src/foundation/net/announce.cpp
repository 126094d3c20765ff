#include "net/announce.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <net/if.h>

#include <array>
#include <set>

#include "base/error.hpp"
#include "os/fd.hpp"

namespace underway::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Mac = std::array<std::uint8_t, 6>;

struct ArpFrame {  // 42 bytes, network byte order (RFC 826 over Ethernet)
  ether_header ethernet;
  arphdr header;
  std::uint8_t sender_mac[6];
  std::uint8_t sender_ip[4];
  std::uint8_t target_mac[6];
  std::uint8_t target_ip[4];
} __attribute__((packed));
static_assert(sizeof(ArpFrame) == 42);

struct AdvertisementFrame {  // RFC 4861 §4.4 with the target link-layer address option
  ether_header ethernet;
  ip6_hdr ip;
  nd_neighbor_advert advert;
  std::uint8_t option_type;
  std::uint8_t option_length;
  std::uint8_t option_mac[6];
} __attribute__((packed));
static_assert(sizeof(AdvertisementFrame) == 14 + 40 + 24 + 8);

std::string to_text(const std::uint8_t* mac) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

ArpFrame arp_frame(const Mac& mac, const Ip& target, std::uint16_t operation) {
  ArpFrame frame{};
  std::memset(frame.ethernet.ether_dhost, 0xff, 6);
  std::memcpy(frame.ethernet.ether_shost, mac.data(), 6);
  frame.ethernet.ether_type = htons(ETHERTYPE_ARP);
  frame.header = {htons(ARPHRD_ETHER), htons(ETHERTYPE_IP), 6, 4, htons(operation)};
  std::memcpy(frame.sender_mac, mac.data(), 6);
  std::memcpy(frame.target_ip, target.bytes().data(), 4);
  return frame;
}

/// Asks without naming itself: whoever hears it learns nothing false.
ArpFrame probe(const Mac& mac, const Ip& address) { return arp_frame(mac, address, ARPOP_REQUEST); }

ArpFrame announcement(const Mac& mac, const Ip& address, std::uint16_t operation) {
  ArpFrame frame = arp_frame(mac, address, operation);
  std::memcpy(frame.sender_ip, address.bytes().data(), 4);
  std::memset(frame.target_mac, operation == ARPOP_REPLY ? 0xff : 0, 6);
  return frame;
}

/// RFC 1071, over the pseudo header of RFC 8200 §8.1 and the message.
std::uint16_t icmp6_checksum(const AdvertisementFrame& frame) {
  std::uint32_t sum = 0;
  const auto add = [&sum](const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    for (std::size_t n = 0; n + 1 < size; n += 2) sum += static_cast<std::uint32_t>(bytes[n] << 8 | bytes[n + 1]);
  };
  add(&frame.ip.ip6_src, 16);
  add(&frame.ip.ip6_dst, 16);
  sum += 32 + IPPROTO_ICMPV6;
  add(&frame.advert, 32);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return htons(static_cast<std::uint16_t>(~sum));
}

AdvertisementFrame advertisement(const Mac& mac, const Ip& address) {
  AdvertisementFrame frame{};
  const std::uint8_t all_nodes_mac[] = {0x33, 0x33, 0, 0, 0, 1};
  std::memcpy(frame.ethernet.ether_dhost, all_nodes_mac, 6);
  std::memcpy(frame.ethernet.ether_shost, mac.data(), 6);
  frame.ethernet.ether_type = htons(ETHERTYPE_IPV6);
  frame.ip.ip6_flow = htonl(6U << 28);
  frame.ip.ip6_plen = htons(32);
  frame.ip.ip6_nxt = IPPROTO_ICMPV6;
  frame.ip.ip6_hlim = 255;
  std::memcpy(&frame.ip.ip6_src, address.bytes().data(), 16);
  const std::uint8_t all_nodes[16] = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  std::memcpy(&frame.ip.ip6_dst, all_nodes, 16);
  frame.advert.nd_na_type = ND_NEIGHBOR_ADVERT;
  frame.advert.nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE;
  std::memcpy(&frame.advert.nd_na_target, address.bytes().data(), 16);
  frame.option_type = ND_OPT_TARGET_LINKADDR;
  frame.option_length = 1;
  std::memcpy(frame.option_mac, mac.data(), 6);
  frame.advert.nd_na_cksum = icmp6_checksum(frame);
  return frame;
}

/// Who has one of the addresses that are claimed, on any link.
class Hearing {
 public:
  explicit Hearing(const std::vector<Claim>& claims) : claims_(claims) {}

  bool complete() const { return found_.size() >= claims_.size(); }
  void hear(const std::string& link, int socket, const Mac& own) {
    ArpFrame frame{};
    for (;;) {
      const auto size = ::recv(socket, &frame, sizeof frame, MSG_TRUNC);
      if (size < 0) return;
      if (size < static_cast<ssize_t>(sizeof frame) || frame.header.ar_pro != htons(ETHERTYPE_IP)) continue;
      if (std::memcmp(frame.sender_mac, own.data(), own.size()) == 0) continue;
      const std::uint8_t nobody[4] = {};
      // Somebody who has it (RFC 5227 §2.1.1), or somebody who is asking for it right now, as we are.
      const bool asks = std::memcmp(frame.sender_ip, nobody, 4) == 0 && frame.header.ar_op == htons(ARPOP_REQUEST);
      const std::uint8_t* subject = asks ? frame.target_ip : frame.sender_ip;
      for (const auto& claim : claims_) {
        if (claim.link == link && std::memcmp(subject, claim.address.bytes().data(), 4) == 0) {
          found_.emplace(std::pair(link, claim.address), to_text(frame.sender_mac));
        }
      }
    }
  }
  std::vector<Holder> holders() const {
    std::vector<Holder> out;
    for (const auto& claim : claims_) {
      const auto holder = found_.find({claim.link, claim.address});
      if (holder != found_.end()) out.push_back({claim, holder->second});
    }
    return out;
  }

 private:
  const std::vector<Claim>& claims_;
  std::map<std::pair<std::string, Ip>, std::string> found_;
};

}  // namespace

/// A raw socket on one link, which hears ARP.
class Announcer::LinkSocket {
 public:
  LinkSocket(const Namespace& in, const std::string& link, const std::string& what) : link_(link) {
    if (link.empty() || link.size() >= IFNAMSIZ) throw Error(Code::not_found, what).because("no link has such a name");
    in.run([&] { raw_ = os::Fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ARP))); });
    if (raw_.get() < 0) throw errno_error(errno, what);
    auto request = named();
    if (::ioctl(raw_.get(), SIOCGIFINDEX, &request) != 0) throw errno_error(errno == ENODEV ? ENOENT : errno, what);
    sockaddr_ll here{};
    here.sll_family = AF_PACKET;
    here.sll_protocol = htons(ETH_P_ARP);
    here.sll_ifindex = request.ifr_ifindex;
    if (::bind(raw_.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0) {
      throw errno_error(errno == ENETDOWN ? ENETUNREACH : errno, what);
    }
  }

  int get() const { return raw_.get(); }
  /// As it is now: it changes when the link gets its addresses.
  Mac mac(const std::string& what) const {
    auto request = named();
    if (::ioctl(raw_.get(), SIOCGIFHWADDR, &request) != 0) throw errno_error(errno, what);
    Mac mac{};
    std::memcpy(mac.data(), request.ifr_hwaddr.sa_data, mac.size());
    return mac;
  }
  void send(const void* frame, std::size_t size, const std::string& what) const {
    if (::send(raw_.get(), frame, size, 0) < 0) throw errno_error(errno == ENETDOWN ? ENETUNREACH : errno, what);
  }

 private:
  ifreq named() const {
    ifreq request{};
    link_.copy(request.ifr_name, IFNAMSIZ - 1);
    return request;
  }
  std::string link_;
  os::Fd raw_;
};

Announcer::Announcer(const Namespace& in) : in_(in) {}
Announcer::~Announcer() = default;

const Announcer::LinkSocket& Announcer::on(const std::string& link, const std::string& what) {
  auto& socket = sockets_[link];
  if (!socket) socket = std::make_unique<LinkSocket>(in_, link, what);
  return *socket;
}

std::vector<Holder> Announcer::find_holders(const std::vector<Claim>& claims, const ProbeSchedule& schedule) {
  struct Asked {
    std::string link;
    int socket;
    Mac own;
    ArpFrame frame;
    std::string what;
  };
  std::vector<Asked> questions;
  for (const auto& claim : claims) {
    auto what = fmt::format("cannot ask for {} on link '{}' in network namespace '{}'", to_string(claim.address),
                            claim.link, in_.label());
    if (claim.address.family() != Ip::Family::v4) throw Error(Code::invalid, what).because("ARP is for IPv4 only");
    const auto& socket = on(claim.link, what);
    const auto own = socket.mac(what);
    questions.push_back({claim.link, socket.get(), own, probe(own, claim.address), std::move(what)});
  }
  Hearing hearing(claims);
  for (int n = 0; n < schedule.probes && !hearing.complete(); ++n) {
    for (const auto& asked : questions) on(asked.link, asked.what).send(&asked.frame, sizeof asked.frame, asked.what);
    const bool last = n + 1 == schedule.probes;
    const auto deadline = steady_clock::now() + (last ? schedule.after_last : schedule.between);
    while (!hearing.complete()) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
      if (left <= 0) break;
      std::vector<pollfd> waiting;
      for (const auto& asked : questions) waiting.push_back({asked.socket, POLLIN, 0});
      if (::poll(waiting.data(), waiting.size(), static_cast<int>(left)) <= 0) continue;
      for (const auto& asked : questions) hearing.hear(asked.link, asked.socket, asked.own);
    }
  }
  return hearing.holders();
}

void Announcer::announce(const std::string& link, const Ip& address, int frames) {
  const auto what =
      fmt::format("cannot announce {} on link '{}' in network namespace '{}'", to_string(address), link, in_.label());
  const auto& socket = on(link, what);
  const auto own = socket.mac(what);
  for (int n = 0; n < frames; ++n) {
    if (address.family() == Ip::Family::v6) {
      const auto frame = advertisement(own, address);
      socket.send(&frame, sizeof frame, what);
    } else {
      const auto frame = announcement(own, address, n % 2 == 0 ? ARPOP_REQUEST : ARPOP_REPLY);
      socket.send(&frame, sizeof frame, what);
    }
  }
}

}  // namespace underway::net
