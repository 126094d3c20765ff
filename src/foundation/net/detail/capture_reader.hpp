#pragma once
/// @file
/// What the readers of the two formats share: a window on the file, and how they end.

#include "base/error.hpp"
#include "net/capture_file.hpp"

namespace underway::net::detail {

/// The part of a file that is in memory. It moves forward only.
class Window {
 public:
  explicit Window(os::Fd fd);

  const std::uint8_t* data() const { return buffer_.data() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  std::uint64_t offset() const { return offset_; }
  void consume(std::size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }
  /// Reads until `bytes` are there; false at the end of the file. Moves what is there: older pointers are invalid.
  bool fill(std::size_t bytes);
  /// Consumes without keeping; false when the file ends before.
  bool skip(std::uint64_t bytes);

 private:
  bool read_more();

  os::Fd fd_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
};

class CaptureReader {
 public:
  CaptureReader(Window window, std::string name) : window_(std::move(window)), name_(std::move(name)) {}
  virtual ~CaptureReader() = default;
  virtual std::size_t next(std::span<Packet> out) = 0;

  const std::string& name() const { return name_; }
  const std::string& problem() const { return problem_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t offset() const { return window_.offset(); }

 protected:
  /// The file is read no further.
  void damaged(const std::string& what) {
    ended_ = true;
    problem_ = fmt::format("{}: {}, at offset {}", name_, what, window_.offset());
  }
  std::uint16_t u16(const std::uint8_t* p) const {
    std::uint16_t value;
    std::memcpy(&value, p, sizeof value);
    return swapped_ ? __builtin_bswap16(value) : value;
  }
  std::uint32_t u32(const std::uint8_t* p) const {
    std::uint32_t value;
    std::memcpy(&value, p, sizeof value);
    return swapped_ ? __builtin_bswap32(value) : value;
  }
  std::uint64_t u64(const std::uint8_t* p) const {
    std::uint64_t value;
    std::memcpy(&value, p, sizeof value);
    return swapped_ ? __builtin_bswap64(value) : value;
  }

  Window window_;
  std::string name_;
  std::string problem_;
  std::uint64_t lost_ = 0;
  bool swapped_ = false;  ///< the file's byte order is not ours
  bool ended_ = false;
};

/// `window` stands at the magic number. Nothing when it is not of this format.
std::unique_ptr<CaptureReader> find_pcap(Window& window, const std::string& name);
std::unique_ptr<CaptureReader> find_pcapng(Window& window, const std::string& name);

}  // namespace underway::net::detail
