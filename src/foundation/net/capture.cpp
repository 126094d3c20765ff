#include "net/capture.hpp"

#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <pcap.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <net/if.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "net/netlink.hpp"

namespace underway::net {
namespace {

constexpr std::size_t kBlock = 1U << 20;
constexpr unsigned kRetireMilliseconds = 100;

/// The filter as tcpdump would write it.
std::string expression(const CaptureOptions& options) {
  std::vector<std::string> hosts;
  for (const auto& mac : options.macs) hosts.push_back("ether host " + mac);
  if (hosts.empty()) return options.filter;
  const std::string by_mac = "(" + join(hosts, " or ") + ")";
  return options.filter.empty() ? by_mac : fmt::format("{} and ({})", by_mac, options.filter);
}

/// A program of the kernel's packet filter that accepts what the expression does, cut to `snap` bytes.
class Filter {
 public:
  Filter(const std::string& text, std::uint32_t snap) {
    const std::unique_ptr<pcap_t, decltype(&::pcap_close)> dead(::pcap_open_dead(DLT_EN10MB, static_cast<int>(snap)),
                                                                &::pcap_close);
    if (::pcap_compile(dead.get(), &program_, text.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0)
      throw Error(Code::invalid, fmt::format("'{}' is no capture filter", text))
          .because(::pcap_geterr(dead.get()))
          .advise("pcap-filter(7) has the language");
  }
  ~Filter() { ::pcap_freecode(&program_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  int attach(int socket) const {
    static_assert(sizeof(bpf_insn) == sizeof(sock_filter));
    const sock_fprog program{static_cast<unsigned short>(program_.bf_len),
                             reinterpret_cast<sock_filter*>(program_.bf_insns)};
    return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  }

 private:
  bpf_program program_{};
};

const tpacket_block_desc* header_of(const std::uint8_t* block) {
  return reinterpret_cast<const tpacket_block_desc*>(block);
}

}  // namespace

Capture Capture::open(const Namespace& in, const CaptureOptions& options) {
  const std::string what = fmt::format("cannot capture on interface '{}' of {}", options.interface, in.label());
  if (options.interface.empty() || options.interface.size() >= IFNAMSIZ)
    throw Error(Code::not_found, what).because("no interface has such a name");
  const Filter filter(expression(options), options.snap);

  int raw = -1;
  in.run([&] { raw = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  if (raw < 0) throw errno_error(errno, what).advise("run it as root, or with the capability CAP_NET_RAW");
  Capture capture(os::Fd(raw), options.interface);
  const auto fail = [&](int result) {
    if (result < 0) throw errno_error(errno == ENODEV ? ENOENT : errno, what);
  };

  ifreq request{};
  options.interface.copy(request.ifr_name, IFNAMSIZ - 1);
  fail(::ioctl(raw, SIOCGIFHWADDR, &request));
  const int hardware = request.ifr_hwaddr.sa_family;
  capture.loopback_ = hardware == ARPHRD_LOOPBACK;
  if (hardware != ARPHRD_ETHER && !capture.loopback_)
    throw Error(Code::invalid, what).because(fmt::format("it is no Ethernet, but of hardware type {}", hardware));
  fail(::ioctl(raw, SIOCGIFINDEX, &request));
  const int index = request.ifr_ifindex;

  // Filter and ring before the socket is bound: nothing else ever enters the ring.
  fail(filter.attach(raw));
  const int version = TPACKET_V3;
  fail(::setsockopt(raw, SOL_PACKET, PACKET_VERSION, &version, sizeof version));
  capture.blocks_ = std::max<std::size_t>(options.memory / kBlock, 2);
  tpacket_req3 ring{};
  ring.tp_block_size = static_cast<unsigned>(kBlock);
  ring.tp_block_nr = static_cast<unsigned>(capture.blocks_);
  ring.tp_frame_size = 2048;
  ring.tp_frame_nr = static_cast<unsigned>(capture.blocks_ * kBlock / ring.tp_frame_size);
  ring.tp_retire_blk_tov = kRetireMilliseconds;
  fail(::setsockopt(raw, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring));
  void* mapped = ::mmap(nullptr, capture.blocks_ * kBlock, PROT_READ | PROT_WRITE, MAP_SHARED, raw, 0);
  if (mapped == MAP_FAILED) throw errno_error(errno, what);
  capture.ring_ = Ring(mapped, capture.blocks_ * kBlock);

  if (options.promiscuous && !capture.loopback_) {
    packet_mreq membership{};
    membership.mr_ifindex = index;
    membership.mr_type = PACKET_MR_PROMISC;
    fail(::setsockopt(raw, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership, sizeof membership));
  }
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = index;
  fail(::bind(raw, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  return capture;
}

Capture::Ring::~Ring() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void Capture::release_block() {
  auto* block = reinterpret_cast<tpacket_block_desc*>(ring_.data() + block_ * kBlock);
  __atomic_store_n(&block->hdr.bh1.block_status, std::uint32_t{TP_STATUS_KERNEL}, __ATOMIC_RELEASE);
  block_ = (block_ + 1) % blocks_;
  holds_block_ = false;
}

std::size_t Capture::next(std::span<Packet> out) {
  if (holds_block_ && left_ == 0) release_block();
  std::size_t count = 0;
  while (count == 0) {
    if (!holds_block_) {
      std::uint8_t* block = ring_.data() + block_ * kBlock;
      const auto* header = header_of(block);
      if ((__atomic_load_n(&header->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0) {
        if (!lost_interface()) return 0;
        if (settled_) throw_lost();
        // What came last lies in a block that the kernel hands over when its time is up, also without the interface.
        std::this_thread::sleep_for(std::chrono::milliseconds(2 * kRetireMilliseconds));
        settled_ = true;
        continue;
      }
      holds_block_ = true;
      left_ = header->hdr.bh1.num_pkts;
      packet_ = block + header->hdr.bh1.offset_to_first_pkt;
    }
    for (; left_ > 0 && count < out.size(); --left_) {
      const auto* header = reinterpret_cast<const tpacket3_hdr*>(packet_);
      const auto* from = reinterpret_cast<const sockaddr_ll*>(packet_ + TPACKET_ALIGN(sizeof(tpacket3_hdr)));
      if (!loopback_ || from->sll_pkttype != PACKET_OUTGOING) {
        const bool tagged = (header->tp_status & TP_STATUS_VLAN_VALID) != 0;
        out[count++] = {.time = std::int64_t{header->tp_sec} * 1'000'000'000 + header->tp_nsec,
                        .data = packet_ + header->tp_mac,
                        .captured = header->tp_snaplen,
                        .length = header->tp_len,
                        .link = kLinkEthernet,
                        .vlan = static_cast<std::uint16_t>(tagged ? header->hv1.tp_vlan_tci & 0xfffU : 0U)};
      }
      packet_ += header->tp_next_offset;
    }
    if (left_ == 0 && count == 0) release_block();
  }
  return count;
}

bool Capture::lost_interface() const {
  // An interface that is set down leaves an error too, and goes on delivering once it is up again: only a socket that
  // lost its interface is over.
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
  sockaddr_ll bound{};
  size = sizeof bound;
  return ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0 && bound.sll_ifindex <= 0;
}

void Capture::throw_lost() const {
  throw Error(Code::unavailable, fmt::format("interface '{}' is gone", interface_))
      .because("it was removed, or moved to another network namespace");
}

CaptureCounts Capture::counts() {
  tpacket_stats_v3 stats{};
  socklen_t size = sizeof stats;
  if (::getsockopt(fd_.get(), SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0)
    throw errno_error(errno, fmt::format("cannot read the counters of the capture on '{}'", interface_));
  counts_.received += stats.tp_packets;  // the kernel's begin anew with each reading
  counts_.lost += stats.tp_drops;
  return counts_;
}

OwnAddresses own_addresses(const Namespace& in) {
  const Netlink netlink(in);
  OwnAddresses own;
  for (const auto& link : netlink.links()) {
    if (link.name != "lo" && !link.mac.empty()) own.macs.push_back(link.mac);
    for (const auto& address : netlink.addresses(link.name)) own.addresses.push_back(address);
  }
  return own;
}

}  // namespace underway::net
