#pragma once
/// @file
/// WebSocket framing (RFC 6455, section 5), without I/O.

#include "http/websocket.hpp"

namespace underway::http::detail {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

struct Frame {
  Opcode opcode = Opcode::text;
  bool final = true;
  std::string payload;
};

enum class Side { client, server };

/// The bytes of one frame; a client's are masked with `mask`.
std::string encode_frame(Opcode opcode, std::string_view payload, Side from, std::uint32_t mask);
/// The payload of a close frame.
std::string encode_close(CloseCode code, std::string_view reason);

/// What a peer did wrong, with the code to close with.
struct Violation {
  CloseCode code;
  std::string text;
};

/// Cuts incoming bytes into frames. Throws Violation.
class FrameDecoder {
 public:
  /// `self` is our side: servers demand masked frames, clients refuse them.
  FrameDecoder(Side self, std::size_t payload_limit) : self_(self), limit_(payload_limit) {}
  void put(std::string_view data);
  std::optional<Frame> next();
  /// Whether part of a frame has come.
  bool midway() const { return !buffer_.empty(); }
  /// For read_into.
  std::string& buffer() { return buffer_; }

 private:
  Side self_;
  std::size_t limit_;
  std::string buffer_;
  std::size_t used_ = 0;
};

/// Joins frames to messages. Throws Violation.
class MessageAssembler {
 public:
  explicit MessageAssembler(std::size_t limit) : limit_(limit) {}
  /// The message that the data frame `frame` completes, if it does.
  std::optional<Message> add(Frame frame);

 private:
  std::size_t limit_;
  std::optional<Message> partial_;
};

/// Code and reason of a received close frame. Throws Violation.
std::pair<CloseCode, std::string> decode_close(std::string_view payload);

}  // namespace underway::http::detail
