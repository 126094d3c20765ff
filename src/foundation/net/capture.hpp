#pragma once
/// @file
/// Live capture of one interface through a ring that the kernel fills (packet(7), TPACKET_V3): no copy and no system
/// call per packet, filtered in the kernel, and what did not fit into the ring is counted. Needs CAP_NET_RAW in the
/// namespace. Nothing is sent, and the interface keeps its address.

#include "net/address.hpp"
#include "net/namespace.hpp"
#include "net/packet.hpp"
#include "os/fd.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace underway::net {

struct CaptureOptions {
  std::string interface;
  /// Only packets from or to these ("02:00:…"); empty: all.
  std::vector<std::string> macs;
  /// Besides: a filter in tcpdump's language (pcap-filter(7)).
  std::string filter;
  /// Bytes of a packet that are kept: enough for a DHCP message up to its type.
  std::uint32_t snap = 384;
  /// Of the ring: what the kernel holds while nobody reads.
  std::size_t memory = 32U << 20;
  /// Whether to see packets that are for other machines: on a mirror port, or a bridge.
  bool promiscuous = true;
};

struct CaptureCounts {
  std::uint64_t received = 0;  ///< that passed the filter, those lost included
  std::uint64_t lost = 0;      ///< for which the ring had no room
};

class Capture {
 public:
  /// From its return on nothing that passes is missed but what `counts` says.
  /// Errors: not_found (no such interface), invalid (a filter that does not parse, no Ethernet), denied.
  static Capture open(const Namespace& in, const CaptureOptions& options);
  /// What is there now, at most `out.size()` packets, valid until the next call; 0: nothing.
  /// A packet waits up to 100 ms for others before it can be read. Errors: unavailable when the interface is gone.
  std::size_t next(std::span<Packet> out);
  /// Readable when there is something.
  int fd() const { return fd_.get(); }
  /// Since the beginning.
  CaptureCounts counts();
  const std::string& interface() const { return interface_; }

 private:
  /// Memory shared with the kernel.
  class Ring {
   public:
    Ring() = default;
    Ring(void* data, std::size_t size) : data_(static_cast<std::uint8_t*>(data)), size_(size) {}
    Ring(Ring&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
    Ring& operator=(Ring&& other) noexcept {
      std::swap(data_, other.data_);
      std::swap(size_, other.size_);
      return *this;
    }
    ~Ring();
    std::uint8_t* data() const { return data_; }

   private:
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
  };

  Capture(os::Fd fd, std::string interface) : fd_(std::move(fd)), interface_(std::move(interface)) {}
  void release_block();
  bool lost_interface() const;
  [[noreturn]] void throw_lost() const;

  os::Fd fd_;
  std::string interface_;
  bool loopback_ = false;  ///< hands over each packet twice, going out and coming in
  Ring ring_;
  std::size_t blocks_ = 0, block_ = 0;
  bool holds_block_ = false;
  bool settled_ = false;            ///< the interface is gone, and the last block was waited for
  std::uint32_t left_ = 0;          ///< packets of the block that were not handed out
  std::uint8_t* packet_ = nullptr;  ///< the next of them
  CaptureCounts counts_;
};

/// What the machine answers to on the network: MACs of the namespace's interfaces, and their addresses.
struct OwnAddresses {
  std::vector<std::string> macs;
  std::vector<Cidr> addresses;
};
OwnAddresses own_addresses(const Namespace& in);

}  // namespace underway::net
