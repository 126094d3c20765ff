#include "net/detail/capture_reader.hpp"

namespace underway::net::detail {
namespace {

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kPacketHeader = 16;

class PcapReader final : public CaptureReader {
 public:
  PcapReader(Window window, const std::string& name, bool swapped, bool nanoseconds)
      : CaptureReader(std::move(window), name), unit_(nanoseconds ? 1 : 1000) {
    swapped_ = swapped;
    // Bits above 16 say whether a checksum follows each frame; it is as long as the packet says.
    link_ = static_cast<std::uint16_t>(u32(window_.data() + 20) & 0xffffU);
    window_.consume(kFileHeader);
  }

  std::size_t next(std::span<Packet> out) override {
    std::size_t count = 0;
    while (count < out.size() && !ended_) {
      if (window_.size() < kPacketHeader) {
        if (count > 0) break;  // filling would take away what is in `out`
        if (!window_.fill(kPacketHeader)) {
          if (window_.size() > 0) damaged("ends in the middle of a packet's header");
          ended_ = true;
          break;
        }
      }
      const std::uint8_t* header = window_.data();
      const std::uint32_t captured = u32(header + 8);
      if (captured > CaptureFile::kMaxPacket) {
        damaged(fmt::format("a packet claims {} bytes, more than any can have", captured));
        break;
      }
      if (window_.size() < kPacketHeader + captured) {
        if (count > 0) break;
        if (!window_.fill(kPacketHeader + captured)) {
          damaged(fmt::format("ends in the middle of a packet of {} bytes", captured));
          break;
        }
        header = window_.data();
      }
      Packet& packet = out[count++];
      packet.time = std::int64_t{u32(header)} * 1'000'000'000 + std::int64_t{u32(header + 4)} * unit_;
      packet.data = header + kPacketHeader;
      packet.captured = captured;
      packet.length = std::max(u32(header + 12), captured);
      packet.link = link_;
      packet.vlan = 0;
      window_.consume(kPacketHeader + captured);
    }
    return count;
  }

 private:
  std::int64_t unit_;
  std::uint16_t link_ = 0;
};

}  // namespace

std::unique_ptr<CaptureReader> find_pcap(Window& window, const std::string& name) {
  if (window.size() < kFileHeader) return nullptr;
  std::uint32_t magic;
  std::memcpy(&magic, window.data(), sizeof magic);
  for (const bool swapped : {false, true}) {
    const std::uint32_t seen = swapped ? __builtin_bswap32(magic) : magic;
    if (seen == 0xa1b2c3d4 || seen == 0xa1b23c4d)
      return std::make_unique<PcapReader>(std::move(window), name, swapped, seen == 0xa1b23c4d);
  }
  return nullptr;
}

}  // namespace underway::net::detail
