#pragma once
/// @file
/// What is inside a WebSocket message of the link (RFC 6455). A text message is a control message in JSON:
///
///     {"Call":ID,"Method":M,"Body":…}                 asks; the answer has the same ID
///     {"Reply":ID,"Body":…}  {"Reply":ID,"Error":E}   answers
///     {"Notify":M,"Body":…}                           tells, and waits for no answer
///     {"Open":STREAM,"Method":M,"Header":…}           opens a stream
///
///   E   {"Code":…,"Message":…,"Reasons":[…],"Activities":[…],"Advice":…}
///
/// A binary message belongs to a stream. Numbers are big-endian.
///
///     offset  size  field
///     0       4     stream, as it was opened
///     4       1     kind: 1 data, 2 acknowledge, 3 end, 4 reset
///     5             payload, by kind:
///                     data         u8 Channel, then the bytes
///                     acknowledge  u32: so many bytes were consumed, and the sender may send as many more
///                     end          nothing
///                     reset        the JSON of an error, as E
///
/// Anything else is malformed: the peer is hung up on.

#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.hpp"

namespace underway::link {

/// What a chunk of a stream is: an exec session has all three, a log only bytes.
enum class Channel : std::uint8_t {
  data = 0,     ///< bytes: a file, a log, stdin, stdout
  error = 1,    ///< stderr
  control = 2,  ///< JSON beside the bytes: window size, exit code
};

struct Call {
  std::uint64_t id = 0;
  std::string method;
  boost::json::value body;
};
struct Reply {
  std::uint64_t id = 0;
  boost::json::value body;
  std::optional<Error> error;
};
struct Notification {
  std::string method;
  boost::json::value body;
};
struct Open {
  std::uint32_t stream = 0;
  std::string method;
  boost::json::value header;
};

struct Data {
  std::uint32_t stream = 0;
  Channel channel = Channel::data;
  std::string bytes;
};
struct Acknowledge {
  std::uint32_t stream = 0;
  std::uint32_t bytes = 0;
};  ///< consumed: the window opens again
struct End {
  std::uint32_t stream = 0;
};  ///< nothing more is written
struct Reset {
  std::uint32_t stream = 0;
  Error error;
};  ///< the stream is broken off

using Frame = std::variant<Call, Reply, Notification, Open, Data, Acknowledge, End, Reset>;

struct Encoded {
  std::string data;
  bool text = true;
};

Encoded encode(const Frame& frame);
/// Throws Error(invalid) for anything malformed: the peer is then hung up on.
Frame decode(std::string_view data, bool text);

}  // namespace underway::link
