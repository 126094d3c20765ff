#pragma once
/// @file
/// What sender and receiver of an overlay say to each other in a round. Nothing that comes in is believed.
///
///     receiver: hello, (have, blocks…)…, all            sender: begin, (remove | put, (data | zeros)…)…, end
///     receiver: verified                                 sender: commit
///     receiver: committed                                either, at any time: failed
///
/// A frame; numbers are little-endian, `text` is a u32 length and the bytes:
///
///     offset  size  field
///     0       4     length of the payload, at most kFrameLimit
///     4       1     kind: FrameKind, a letter
///     5       n     payload, by kind:
///       h hello      "underway overlay", u32 version, u32 size of a block
///       H have       an entry
///       B blocks     digests (SHA-256, 32 bytes each) of the blocks of the file before it; all zero: the block is
///       A all        nothing: the receiver has told what it has
///       b begin      u8 consistent, u64 when (ns since the epoch), text label
///       R remove     a path, up to the end of the frame
///       P put        u8 1: nothing of a file that was there counts; an entry
///       D data       u64 offset, the bytes: of the file before it
///       Z zeros      u64 offset, u64 length
///       e end        text digest of the whole tree, u64 files, removed, content bytes, skipped bytes, and what was
///                    left for the next round: left out, files, bytes
///       V verified   the digest of what the receiver has now
///       c commit, C committed    nothing
///       F failed     u8 Code of an error, its text up to the end of the frame
///
/// An entry (entry.hpp): u8 type (d f l h w), text path, u32 mode, u32 uid, u32 gid, u64 modified (ns), u64 size, text
/// target, u64 inode, u64 changed (ns; 0: it may still change), u32 how many attributes, and of each text name, text
/// value.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "overlay/transfer/detail/entry.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::overlay {

enum class FrameKind : std::uint8_t {
  hello = 'h',
  have = 'H',
  blocks = 'B',
  all = 'A',
  verified = 'V',
  committed = 'C',
  begin = 'b',
  remove = 'R',
  put = 'P',
  data = 'D',
  zeros = 'Z',
  end = 'e',
  commit = 'c',
  failed = 'F'
};

inline constexpr std::size_t kFrameLimit = std::size_t{1} << 20;  ///< bytes of one frame
inline constexpr std::uint64_t kDataBlocks = 8;                   ///< in one frame, at most
inline constexpr std::uint32_t kVersion = 1;

struct Frame {
  FrameKind kind = FrameKind::failed;
  std::string_view payload;  ///< good until more is added
};

/// Takes frames out of bytes that come in any pieces.
class FrameBuffer {
 public:
  void add(std::string_view bytes);
  /// Errors: invalid: a frame that cannot be.
  std::optional<Frame> next();
  /// Bytes of frames that were taken out.
  std::uint64_t taken() const { return taken_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  std::uint64_t taken_ = 0;
};

/// Builds the payload of a frame.
class Encoder {
 public:
  Encoder& u8(std::uint8_t value);
  Encoder& u32(std::uint32_t value);
  Encoder& u64(std::uint64_t value);
  Encoder& text(std::string_view value);
  Encoder& raw(std::string_view value);
  /// With its header, appended to `out`.
  void finish(FrameKind kind, std::string& out);

 private:
  std::string bytes_ = std::string(5, '\0');
};

/// Reads a payload. Errors: invalid when it ends too early or too late.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}
  std::uint8_t u8();
  std::uint32_t u32();
  std::uint64_t u64();
  std::string_view text();
  std::string_view rest();
  void end() const;

 private:
  std::string_view take(std::size_t size);
  std::string_view bytes_;
};

struct Begin {
  bool consistent = false;
  std::int64_t at = 0;
  std::string label;
};
struct End {
  std::string digest;
  Round round;  ///< what the sender counted
};

void put_hello(std::string& out);
void check_hello(std::string_view payload);
/// `have` and its blocks. Without `stamp`: as it is on any host.
void put_have(const Entry& entry, std::string& out, bool stamp = true);
void put_entry(const Entry& entry, bool fresh, std::string& out, bool stamp = true);
Entry read_entry(Decoder& decoder);
/// Adds to the blocks of `file`.
void read_blocks(std::string_view payload, Entry& file);
void put_begin(const Begin& begin, std::string& out);
Begin read_begin(std::string_view payload);
void put_end(const End& end, std::string& out);
End read_end(std::string_view payload);
void put_failed(const Error& error, std::string& out);
[[noreturn]] void throw_failed(std::string_view payload, std::string_view peer);

/// Reads `have` and `blocks` into an index; also how an index is kept in a file.
class Inventory {
 public:
  explicit Inventory(IndexLimits limits) : index_(limits) {}
  void take(const Frame& frame);
  /// When all is there.
  Index finish();

 private:
  void close();
  Index index_;
  std::optional<Entry> open_;
};

}  // namespace underway::overlay
