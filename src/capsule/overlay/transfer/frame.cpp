#include "overlay/transfer/detail/frame.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace underway::overlay {
namespace {

constexpr std::size_t kHeader = 5;
constexpr std::size_t kDigestsInFrame = 8192;
constexpr std::string_view kMagic = "underway overlay";

[[noreturn]] void malformed(std::string_view what) {
  throw Error(Code::invalid, "what came over the pipe is no round of an overlay").because(std::string(what));
}

bool known(std::uint8_t kind) {
  return std::string_view("hHBAVCbRPDZecF").find(static_cast<char>(kind)) != std::string_view::npos;
}

void encode_entry(const Entry& entry, Encoder& encoder, bool stamp = true) {
  encoder.u8(static_cast<std::uint8_t>(entry.type)).text(entry.path);
  encoder.u32(entry.mode).u32(entry.uid).u32(entry.gid).u64(static_cast<std::uint64_t>(entry.modified_ns));
  encoder.u64(entry.size).text(entry.target).u64(stamp ? entry.inode : 0);
  encoder.u64(stamp && entry.settled ? static_cast<std::uint64_t>(entry.changed_ns) : 0);
  encoder.u32(static_cast<std::uint32_t>(entry.attributes.size()));
  for (const auto& [name, value] : entry.attributes) encoder.text(name).text(value);
}

EntryType read_type(Decoder& decoder) {
  const auto raw = decoder.u8();
  if (std::string_view("dflhw").find(static_cast<char>(raw)) == std::string_view::npos) malformed("an unknown type");
  return static_cast<EntryType>(raw);
}

}  // namespace

void FrameBuffer::add(std::string_view bytes) {
  bytes_.erase(0, at_);
  at_ = 0;
  bytes_ += bytes;
}

std::optional<Frame> FrameBuffer::next() {
  const std::string_view left = std::string_view(bytes_).substr(at_);
  if (left.size() < kHeader) return std::nullopt;
  Decoder header(left.substr(0, kHeader));
  const auto size = header.u32();
  const auto kind = header.u8();
  if (size > kFrameLimit || !known(kind)) malformed("a frame that cannot be");
  if (left.size() - kHeader < size) return std::nullopt;
  at_ += kHeader + size;
  taken_ += kHeader + size;
  return Frame{static_cast<FrameKind>(kind), left.substr(kHeader, size)};
}

Encoder& Encoder::u8(std::uint8_t value) {
  bytes_ += static_cast<char>(value);
  return *this;
}
Encoder& Encoder::u32(std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xffU);
  return *this;
}
Encoder& Encoder::u64(std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xffU);
  return *this;
}
Encoder& Encoder::text(std::string_view value) { return u32(static_cast<std::uint32_t>(value.size())).raw(value); }
Encoder& Encoder::raw(std::string_view value) {
  bytes_ += value;
  return *this;
}
void Encoder::finish(FrameKind kind, std::string& out) {
  const auto size = bytes_.size() - kHeader;
  if (size > kFrameLimit)
    throw Error(Code::too_large, "a path has more to tell than a frame holds").because(human_bytes(size));
  for (std::size_t i = 0; i < 4; ++i) bytes_[i] = static_cast<char>(size >> (8 * i) & 0xffU);
  bytes_[4] = static_cast<char>(kind);
  out += bytes_;
}

std::string_view Decoder::take(std::size_t size) {
  if (bytes_.size() < size) malformed("a frame that ends too early");
  const auto taken = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return taken;
}
std::uint8_t Decoder::u8() { return static_cast<std::uint8_t>(take(1)[0]); }
std::uint32_t Decoder::u32() {
  std::uint32_t value = 0;
  const auto bytes = take(4);
  for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  return value;
}
std::uint64_t Decoder::u64() {
  const std::uint64_t low = u32();
  return low | std::uint64_t{u32()} << 32;
}
std::string_view Decoder::text() { return take(u32()); }
std::string_view Decoder::rest() { return take(bytes_.size()); }
void Decoder::end() const {
  if (!bytes_.empty()) malformed("a frame with more than it should have");
}

void put_hello(std::string& out) { Encoder().raw(kMagic).u32(kVersion).u32(kBlockSize).finish(FrameKind::hello, out); }
void check_hello(std::string_view payload) {
  if (!payload.starts_with(kMagic)) malformed("no greeting");
  Decoder decoder(payload.substr(kMagic.size()));
  const auto version = decoder.u32();
  const auto block = decoder.u32();
  decoder.end();
  if (version != kVersion || block != kBlockSize)
    throw Error(Code::unsupported, "the peer copies overlays in another way")
        .because(fmt::format("it speaks version {} with blocks of {}, and we {} with {}", version, block, kVersion,
                             kBlockSize))
        .advise("let both nodes run the same version");
}

void put_have(const Entry& entry, std::string& out, bool stamp) {
  Encoder encoder;
  encode_entry(entry, encoder, stamp);
  encoder.finish(FrameKind::have, out);
  for (std::size_t at = 0; at < entry.blocks.size(); at += kDigestsInFrame) {
    const auto count = std::min(kDigestsInFrame, entry.blocks.size() - at);
    const std::string_view bytes(entry.blocks[at].data(), count * sizeof(BlockDigest));
    Encoder().raw(bytes).finish(FrameKind::blocks, out);
  }
}
void put_entry(const Entry& entry, bool fresh, std::string& out, bool stamp) {
  Encoder encoder;
  encoder.u8(fresh ? 1 : 0);
  encode_entry(entry, encoder, stamp);
  encoder.finish(FrameKind::put, out);
}

Entry read_entry(Decoder& decoder) {
  Entry entry;
  entry.type = read_type(decoder);
  entry.path = decoder.text();
  entry.mode = decoder.u32();
  entry.uid = decoder.u32();
  entry.gid = decoder.u32();
  entry.modified_ns = static_cast<std::int64_t>(decoder.u64());
  entry.size = decoder.u64();
  entry.target = decoder.text();
  entry.inode = decoder.u64();
  entry.changed_ns = static_cast<std::int64_t>(decoder.u64());
  entry.settled = entry.changed_ns != 0;
  for (auto count = decoder.u32(); count > 0; --count) {
    std::string name(decoder.text());
    entry.attributes.emplace_back(std::move(name), decoder.text());
  }
  decoder.end();
  return entry;
}

void read_blocks(std::string_view payload, Entry& file) {
  constexpr auto kSize = sizeof(BlockDigest);
  if (payload.empty() || payload.size() % kSize != 0) malformed("half a digest");
  if (file.blocks.size() + payload.size() / kSize > blocks_of(file.size)) malformed("more digests than blocks");
  for (; !payload.empty(); payload.remove_prefix(kSize))
    std::copy_n(payload.begin(), kSize, file.blocks.emplace_back().begin());
}

void put_begin(const Begin& begin, std::string& out) {
  Encoder()
      .u8(begin.consistent ? 1 : 0)
      .u64(static_cast<std::uint64_t>(begin.at))
      .text(begin.label)
      .finish(FrameKind::begin, out);
}
Begin read_begin(std::string_view payload) {
  Decoder decoder(payload);
  Begin begin;
  begin.consistent = decoder.u8() != 0;
  begin.at = static_cast<std::int64_t>(decoder.u64());
  begin.label = decoder.text();
  decoder.end();
  if (begin.label.size() > 4096 || !is_utf8(begin.label)) malformed("a label that cannot be");
  return begin;
}

void put_end(const End& end, std::string& out) {
  const auto& round = end.round;
  Encoder()
      .text(end.digest)
      .u64(round.files)
      .u64(round.removed)
      .u64(round.content_bytes)
      .u64(round.skipped_bytes)
      .u64(round.left_out)
      .u64(round.left_files)
      .u64(round.left_bytes)
      .finish(FrameKind::end, out);
}
End read_end(std::string_view payload) {
  Decoder decoder(payload);
  End end;
  end.digest = decoder.text();
  end.round.files = decoder.u64();
  end.round.removed = decoder.u64();
  end.round.content_bytes = decoder.u64();
  end.round.skipped_bytes = decoder.u64();
  end.round.left_out = decoder.u64();
  end.round.left_files = decoder.u64();
  end.round.left_bytes = decoder.u64();
  decoder.end();
  return end;
}

void put_failed(const Error& error, std::string& out) {
  const auto text = error.one_line();
  Encoder()
      .u8(static_cast<std::uint8_t>(error.code()))
      .raw(std::string_view(text).substr(0, 4096))
      .finish(FrameKind::failed, out);
}
void throw_failed(std::string_view payload, std::string_view peer) {
  Decoder decoder(payload);
  const auto raw = decoder.u8();
  auto code = raw <= static_cast<std::uint8_t>(Code::internal) ? static_cast<Code>(raw) : Code::internal;
  std::string text(decoder.rest().substr(0, 4096));
  if (!is_utf8(text)) text = "in words that are no text";
  throw Error(code, fmt::format("{} gave up", peer)).because(std::move(text));
}

void Inventory::close() {
  if (!open_) return;
  if (open_->blocks.size() != (open_->type == EntryType::file ? blocks_of(open_->size) : 0))
    malformed("digests are missing");
  auto blocks = std::move(open_->blocks);
  auto& kept = index_.put(std::move(*open_), true);
  kept.blocks = std::move(blocks);
  open_.reset();
}

void Inventory::take(const Frame& frame) {
  if (frame.kind == FrameKind::blocks && open_ && open_->type == EntryType::file)
    return read_blocks(frame.payload, *open_);
  if (frame.kind != FrameKind::have) malformed("a frame out of turn");
  close();
  Decoder decoder(frame.payload);
  auto entry = read_entry(decoder);
  // Digests come after it: what a size promises is not reserved before they are there.
  if (index_.find(entry.path) != nullptr) malformed("a path twice");
  open_ = std::move(entry);
}

Index Inventory::finish() {
  close();
  return std::move(index_);
}

}  // namespace underway::overlay
