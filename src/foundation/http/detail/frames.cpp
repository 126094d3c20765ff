#include "http/detail/frames.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/text.hpp"

namespace underway::http::detail {
namespace {

constexpr std::size_t kControlLimit = 125;  // RFC 6455, section 5.5

void apply_mask(char* data, std::size_t size, const std::array<char, 4>& key) {
  std::array<char, 8> wide{};
  for (std::size_t i = 0; i < wide.size(); ++i) wide.at(i) = key.at(i % 4);
  std::uint64_t mask = 0;
  std::memcpy(&mask, wide.data(), sizeof mask);
  std::size_t at = 0;
  for (; at + sizeof mask <= size; at += sizeof mask) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, sizeof word);
    word ^= mask;
    std::memcpy(data + at, &word, sizeof word);
  }
  for (; at < size; ++at) data[at] = static_cast<char>(data[at] ^ key.at(at % 4));
}

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) out += static_cast<char>((value >> shift) & 0xff);
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

bool is_known(unsigned opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

}  // namespace

std::string encode_frame(Opcode opcode, std::string_view payload, Side from, std::uint32_t mask) {
  const bool masked = from == Side::client;
  const char mask_bit = masked ? static_cast<char>(0x80) : char{0};
  std::string out;
  out.reserve(payload.size() + 14);
  out += static_cast<char>(0x80 | static_cast<int>(opcode));
  if (payload.size() <= kControlLimit) {
    out += static_cast<char>(mask_bit | static_cast<char>(payload.size()));
  } else if (payload.size() <= 0xffff) {
    out += static_cast<char>(mask_bit | 126);
    append_big_endian(out, payload.size(), 2);
  } else {
    out += static_cast<char>(mask_bit | 127);
    append_big_endian(out, payload.size(), 8);
  }
  if (!masked) return out.append(payload);
  std::array<char, 4> key{};
  std::memcpy(key.data(), &mask, key.size());
  out.append(key.data(), key.size());
  const std::size_t start = out.size();
  out.append(payload);
  apply_mask(out.data() + start, payload.size(), key);
  return out;
}

std::string encode_close(CloseCode code, std::string_view reason) {
  std::string out;
  append_big_endian(out, static_cast<std::uint16_t>(code), 2);
  reason = reason.substr(0, kControlLimit - 2);
  while (!reason.empty() && !is_utf8(reason)) reason.remove_suffix(1);
  return out.append(reason);
}

void FrameDecoder::put(std::string_view data) { buffer_.append(data); }

std::optional<Frame> FrameDecoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(used_);
  const auto wait_for_more = [this]() -> std::optional<Frame> {
    // Used bytes are dropped once per read, not once per frame.
    buffer_.erase(0, used_);
    used_ = 0;
    if (buffer_.empty()) buffer_ = std::string();
    return std::nullopt;
  };
  if (rest.size() < 2) return wait_for_more();
  const auto first = static_cast<unsigned char>(rest[0]);
  const auto second = static_cast<unsigned char>(rest[1]);
  if ((first & 0x70) != 0) throw Violation{CloseCode::protocol_error, "reserved bits are set"};
  const unsigned opcode = first & 0x0f;
  if (!is_known(opcode)) throw Violation{CloseCode::protocol_error, fmt::format("unknown opcode {}", opcode)};
  const bool final = (first & 0x80) != 0;
  const bool masked = (second & 0x80) != 0;
  if (masked != (self_ == Side::server)) {
    throw Violation{CloseCode::protocol_error, masked ? "a server masks no frames" : "a client masks its frames"};
  }
  std::size_t head = 2;
  std::uint64_t length = second & 0x7f;
  if (opcode >= 8 && (length > kControlLimit || !final)) {
    throw Violation{CloseCode::protocol_error, "a control frame is large or fragmented"};
  }
  if (length >= 126) {
    const std::size_t width = length == 126 ? 2 : 8;
    if (rest.size() < head + width) return wait_for_more();
    length = big_endian(rest.substr(head, width));
    if (length < (width == 2 ? 126u : 0x10000u)) throw Violation{CloseCode::protocol_error, "a length is not minimal"};
    head += width;
  }
  if (length > limit_) {
    throw Violation{CloseCode::too_large, fmt::format("a frame of {} bytes, {} are allowed", length, limit_)};
  }
  const std::size_t key_at = head;
  if (masked) head += 4;
  if (rest.size() < head + length) return wait_for_more();
  Frame frame{static_cast<Opcode>(opcode), final, std::string(rest.substr(head, static_cast<std::size_t>(length)))};
  if (masked) {
    std::array<char, 4> key{};
    std::memcpy(key.data(), rest.data() + key_at, key.size());
    apply_mask(frame.payload.data(), frame.payload.size(), key);
  }
  used_ += head + static_cast<std::size_t>(length);
  return frame;
}

std::optional<Message> MessageAssembler::add(Frame frame) {
  if (frame.opcode == Opcode::continuation) {
    if (!partial_) throw Violation{CloseCode::protocol_error, "a continuation without a beginning"};
    if (partial_->data.size() + frame.payload.size() > limit_) {
      throw Violation{CloseCode::too_large, fmt::format("a message of more than {} bytes", limit_)};
    }
    partial_->data += frame.payload;
  } else {
    if (partial_) throw Violation{CloseCode::protocol_error, "a message begins within another"};
    partial_ = Message{std::move(frame.payload), frame.opcode == Opcode::text};
  }
  if (!frame.final) return std::nullopt;
  Message whole = std::move(*partial_);
  partial_.reset();
  if (whole.text && !is_utf8(whole.data)) throw Violation{CloseCode::bad_text, "a text message is not UTF-8"};
  return whole;
}

std::pair<CloseCode, std::string> decode_close(std::string_view payload) {
  if (payload.empty()) return {CloseCode::no_status, ""};
  if (payload.size() < 2) throw Violation{CloseCode::protocol_error, "a close frame of one byte"};
  const auto code = big_endian(payload.substr(0, 2));
  const bool valid = (code >= 1000 && code <= 1011 && code != 1004 && code != 1005 && code != 1006) ||
                     (code >= 3000 && code <= 4999);  // RFC 6455, section 7.4
  if (!valid) throw Violation{CloseCode::protocol_error, fmt::format("close code {}", code)};
  if (!is_utf8(payload.substr(2))) throw Violation{CloseCode::bad_text, "a close reason is not UTF-8"};
  return {static_cast<CloseCode>(code), std::string(payload.substr(2))};
}

}  // namespace underway::http::detail
