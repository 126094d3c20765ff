#include "net/detail/capture_reader.hpp"

namespace underway::net::detail {
namespace {

constexpr std::uint32_t kSection = 0x0a0d0d0a;  // the same in both byte orders
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint32_t kInterface = 1, kOldPacket = 2, kSimplePacket = 3, kStatistics = 5, kEnhancedPacket = 6;
constexpr std::size_t kBlockFrame = 12;  // type, length; length again
/// Of a packet: what is longer is not believed. Other blocks may be longer and are skipped.
constexpr std::size_t kMaxBlock = CaptureFile::kMaxPacket + (64U << 10);
constexpr std::size_t kMaxInterfaces = 65'536;

/// What stands for an interface's timestamps: units per second, and how to get nanoseconds from them.
struct Interface {
  std::uint16_t link = kLinkEthernet;
  std::uint32_t snap = 0;           ///< 0: no limit
  std::uint64_t factor = 1000;      ///< nanoseconds per unit; 0: more than 10^9 units per second, or powers of two
  std::uint64_t units = 1'000'000;  ///< per second
  std::int64_t offset = 0;          ///< seconds to add
  std::uint64_t dropped = 0;        ///< as its newest statistics say
};

std::int64_t clamped(__int128 ns) {
  if (ns < 0) return 0;
  return static_cast<std::int64_t>(std::min<__int128>(ns, std::numeric_limits<std::int64_t>::max()));
}

std::int64_t nanoseconds(const Interface& interface, std::uint64_t units) {
  const __int128 since = interface.factor != 0 ? static_cast<__int128>(units) * interface.factor
                                               : static_cast<__int128>(units) * 1'000'000'000 / interface.units;
  return clamped(since + static_cast<__int128>(interface.offset) * 1'000'000'000);
}

class PcapngReader final : public CaptureReader {
 public:
  using CaptureReader::CaptureReader;

  std::size_t next(std::span<Packet> out) override {
    std::size_t count = 0;
    while (count < out.size() && !ended_) {
      if (window_.size() < kBlockFrame) {
        if (count > 0) break;  // filling would take away what is in `out`
        if (!window_.fill(kBlockFrame)) {
          if (window_.size() > 0) damaged("ends in the middle of a block");
          ended_ = true;
          break;
        }
      }
      const std::uint32_t type = u32(window_.data());
      if (type == kSection) {
        if (count > 0) break;
        if (!begin_section()) break;
        continue;
      }
      const std::uint32_t length = u32(window_.data() + 4);
      if (length < kBlockFrame || length % 4 != 0) {
        damaged(fmt::format("a block claims to be {} bytes long", length));
        break;
      }
      const bool packet = type == kEnhancedPacket || type == kSimplePacket || type == kOldPacket;
      if (!packet && type != kInterface && type != kStatistics) {
        if (window_.size() < length && count > 0) break;
        if (!window_.skip(length)) damaged("ends in the middle of a block");
        continue;
      }
      if (length > kMaxBlock) {
        damaged(fmt::format("a block of type {} claims to be {} bytes long", type, length));
        break;
      }
      if (window_.size() < length) {
        if (count > 0) break;
        if (!window_.fill(length)) {
          damaged(fmt::format("ends in the middle of a block of {} bytes", length));
          break;
        }
      }
      const std::uint8_t* block = window_.data();
      if (u32(block + length - 4) != length) {
        damaged("the two lengths of a block differ");
        break;
      }
      const std::span<const std::uint8_t> body(block + 8, length - kBlockFrame);
      bool good = true;
      if (packet) {
        good = take_packet(type, body, out[count]);
        if (good) ++count;
      } else if (type == kInterface) {
        good = take_interface(body);
      } else {
        take_statistics(body);
      }
      if (!good) break;
      window_.consume(length);
    }
    return count;
  }

 private:
  bool begin_section() {
    if (!window_.fill(28)) {
      damaged("ends in the middle of a section's header");
      return false;
    }
    std::uint32_t order;
    std::memcpy(&order, window_.data() + 8, sizeof order);
    if (order != kByteOrder && order != __builtin_bswap32(kByteOrder)) {
      damaged("a section has no known byte order");
      return false;
    }
    swapped_ = order != kByteOrder;
    const std::uint32_t length = u32(window_.data() + 4);
    const std::uint16_t version = u16(window_.data() + 12);
    if (length < 28 || length % 4 != 0) {
      damaged(fmt::format("a section's header claims to be {} bytes long", length));
      return false;
    }
    if (version != 1) {
      damaged(fmt::format("a section is of version {}, and only version 1 is known", version));
      return false;
    }
    for (const auto& interface : interfaces_) lost_before_ += interface.dropped;
    interfaces_.clear();
    if (!window_.skip(length)) {
      damaged("ends in the middle of a section's header");
      return false;
    }
    return true;
  }

  bool take_packet(std::uint32_t type, std::span<const std::uint8_t> body, Packet& out) {
    const std::size_t head = type == kSimplePacket ? 4 : 20;
    if (body.size() < head) {
      damaged("a packet's block is too short");
      return false;
    }
    std::size_t index = 0;
    if (type == kEnhancedPacket) index = u32(body.data());
    if (type == kOldPacket) index = u16(body.data());
    if (index >= interfaces_.size()) {
      damaged(fmt::format("a packet is of interface {}, and {} were described", index, interfaces_.size()));
      return false;
    }
    const Interface& interface = interfaces_[index];
    std::uint32_t captured;
    std::uint32_t length;
    if (type == kSimplePacket) {  // without a time: it has that of the packet before
      length = u32(body.data());
      captured = std::min(length, interface.snap == 0 ? length : interface.snap);
      captured = std::min(captured, static_cast<std::uint32_t>(body.size() - head));
    } else {
      time_ = nanoseconds(interface, (std::uint64_t{u32(body.data() + 4)} << 32U) | u32(body.data() + 8));
      captured = u32(body.data() + 12);
      length = u32(body.data() + 16);
      if (type == kOldPacket && u16(body.data() + 2) != 0xffff) count_lost(u16(body.data() + 2));
    }
    if (captured > body.size() - head) {
      damaged(fmt::format("a packet claims {} bytes in a block that has room for {}", captured, body.size() - head));
      return false;
    }
    out = {.time = time_,
           .data = body.data() + head,
           .captured = captured,
           .length = std::max(length, captured),
           .link = interface.link};
    return true;
  }

  bool take_interface(std::span<const std::uint8_t> body) {
    if (body.size() < 8 || interfaces_.size() >= kMaxInterfaces) {
      damaged(body.size() < 8 ? "an interface's block is too short" : "more than 65536 interfaces");
      return false;
    }
    Interface interface;
    interface.link = u16(body.data());
    interface.snap = u32(body.data() + 4);
    each_option(body.subspan(8), [&](std::uint16_t code, std::span<const std::uint8_t> value) {
      if (code == 9 && !value.empty()) set_resolution(interface, value[0]);
      if (code == 14 && value.size() >= 8) interface.offset = static_cast<std::int64_t>(u64(value.data()));
    });
    interfaces_.push_back(interface);
    return true;
  }

  static void set_resolution(Interface& interface, std::uint8_t resolution) {
    const unsigned exponent = resolution & 0x7fU;
    interface.units = 1;
    if ((resolution & 0x80U) != 0) {
      interface.units <<= std::min(exponent, 63U);
    } else {
      for (unsigned i = 0; i < std::min(exponent, 19U); ++i) interface.units *= 10;
    }
    interface.factor = 1'000'000'000 % interface.units == 0 ? 1'000'000'000 / interface.units : 0;
  }

  /// Counters run since the capture began: the newest counts.
  void take_statistics(std::span<const std::uint8_t> body) {
    if (body.size() < 12) return;
    const std::size_t index = u32(body.data());
    if (index >= interfaces_.size()) return;
    std::uint64_t by_interface = 0;
    std::uint64_t by_system = 0;
    each_option(body.subspan(12), [&](std::uint16_t code, std::span<const std::uint8_t> value) {
      if (value.size() < 8) return;
      if (code == 5) by_interface = u64(value.data());
      if (code == 7) by_system = u64(value.data());
    });
    // One drop is told by both where the interface's counter is the kernel's: the larger is a lower bound.
    interfaces_[index].dropped = std::min<std::uint64_t>(std::max(by_interface, by_system), 1ULL << 62U);
    count_lost(0);
  }

  void count_lost(std::uint64_t more) {
    lost_before_ += more;
    lost_ = lost_before_;
    for (const auto& interface : interfaces_) lost_ += interface.dropped;
  }

  template <class Take>
  void each_option(std::span<const std::uint8_t> options, const Take& take) {
    while (options.size() >= 4) {
      const std::uint16_t code = u16(options.data());
      const std::uint16_t length = u16(options.data() + 2);
      const std::size_t padded = (std::size_t{length} + 3) & ~std::size_t{3};
      if (code == 0 || padded > options.size() - 4) return;
      take(code, options.subspan(4, length));
      options = options.subspan(4 + padded);
    }
  }

  std::vector<Interface> interfaces_;
  std::uint64_t lost_before_ = 0;  ///< in earlier sections, and as old packet blocks tell
  std::int64_t time_ = 0;
};

}  // namespace

std::unique_ptr<CaptureReader> find_pcapng(Window& window, const std::string& name) {
  if (window.size() < 4) return nullptr;
  std::uint32_t magic;
  std::memcpy(&magic, window.data(), sizeof magic);
  if (magic != kSection) return nullptr;
  return std::make_unique<PcapngReader>(std::move(window), name);
}

}  // namespace underway::net::detail
