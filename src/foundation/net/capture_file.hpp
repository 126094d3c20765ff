#pragma once
/// @file
/// Capture files: pcap (both byte orders, micro- and nanoseconds) and pcapng (several sections and interfaces,
/// enhanced, simple and the old packet blocks; draft-ietf-opsawg-pcapng). A file is streamed, so its size does not
/// matter, and it may be a pipe. What it holds is not trusted: a file that is cut off or damaged ends early, and
/// `problem` says where and how; what was read before stands.

#include "net/packet.hpp"
#include "os/fd.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace underway::net {

namespace detail {
class CaptureReader;
}

class CaptureFile {
 public:
  /// "-" is standard input. Errors: not_found, denied; invalid when it is no capture file, saying what it looks like.
  static CaptureFile open(const std::string& path);
  /// `name` is how problems call it.
  CaptureFile(os::Fd fd, std::string name);
  CaptureFile(CaptureFile&&) noexcept;
  CaptureFile& operator=(CaptureFile&&) noexcept;
  ~CaptureFile();

  /// Fills the front of `out` and says how many; 0 is the end, whether good or bad. What is handed out is valid until
  /// the next call. Blocks: yes (disk, pipe).
  std::size_t next(std::span<Packet> out);

  const std::string& name() const;
  /// "mgmt.pcap: ends in the middle of a packet, at offset 4711"; empty when all is well so far.
  const std::string& problem() const;
  /// Packets that the capturing program says it missed (pcapng only).
  std::uint64_t lost() const;
  /// Bytes behind what was handed out.
  std::uint64_t offset() const;

  /// A packet that claims more was not captured by any program (libpcap's MAXIMUM_SNAPLEN).
  static constexpr std::size_t kMaxPacket = 262'144;

 private:
  std::unique_ptr<detail::CaptureReader> reader_;
};

/// Several files as one, in order of time: their packets are merged, and a file is open only while time has come to it.
class CaptureFiles {
 public:
  /// Reads the first packet of each file. Errors: those of CaptureFile::open.
  explicit CaptureFiles(const std::vector<std::string>& paths);

  /// As CaptureFile::next.
  std::size_t next(std::span<Packet> out);
  std::vector<std::string> problems() const;
  std::uint64_t lost() const { return lost_; }

 private:
  struct Waiting {
    std::string path;
    std::int64_t first = 0;
  };
  struct Open {
    CaptureFile file;
    std::vector<Packet> batch;
    std::size_t at = 0, size = 0;
  };
  void begin(CaptureFile file);
  bool refill(Open& open);
  void finish(std::size_t index);

  std::vector<Waiting> waiting_;  ///< latest first
  std::vector<Open> open_;
  std::vector<std::string> problems_;
  std::uint64_t lost_ = 0;
};

}  // namespace underway::net
