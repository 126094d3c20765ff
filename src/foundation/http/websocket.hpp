#pragma once
/// @file
/// One WebSocket (RFC 6455), of either side. Reading and writing go on at the same time; several coroutines may write.
/// Thread: the loop it was made on, which must outlive it. Somebody has to read: pings are answered and a close is
/// noticed only while reading.

#include <cstdint>

#include "http/message.hpp"

namespace underway::http {

struct WebSocketOptions {
  std::size_t message_limit = 16u << 20;             ///< larger incoming messages close the socket with 1009
  std::size_t queue_limit = 1u << 20;                ///< writers wait while more than this many bytes are queued
  Duration ping_every = std::chrono::seconds{15};    ///< zero: never ping
  Duration dead_after = std::chrono::seconds{45};    ///< a peer silent for so long, while we read, is given up
  Duration send_timeout = std::chrono::seconds{30};  ///< the same for a peer that takes nothing of what is queued
  Duration close_timeout = std::chrono::seconds{5};  ///< how long `close` waits for the peer's close frame
};

struct Message {
  std::string data;
  bool text = true;  ///< else binary
};

/// Close codes of RFC 6455, section 7.4.1.
enum class CloseCode : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  unsupported_data = 1003,
  no_status = 1005,
  abnormal = 1006,
  bad_text = 1007,
  policy = 1008,
  too_large = 1009,
  internal = 1011,
};

class WebSocket {
 public:
  virtual ~WebSocket() = default;

  /// The next message; nothing after the peer has closed in an orderly way. Throws Error(unavailable) when the
  /// connection is lost, Error(timeout) when the peer fell silent, Error(invalid) or Error(too_large) when it broke the
  /// protocol. One reader at a time.
  virtual awaitable<std::optional<Message>> read() = 0;

  /// Queues `message`; first waits while the queue is full. Messages keep the order of the calls. Throws
  /// Error(unavailable) when the socket is closed or lost. Cancelling a waiting writer queues nothing.
  virtual awaitable<void> write(Message message) = 0;

  /// Queues `message` without waiting; false when the queue is full or the socket is no longer open.
  virtual bool try_write(Message message) = 0;

  /// Sends what is queued, then a close frame, and waits for the peer's for at most close_timeout.
  virtual awaitable<void> close(CloseCode code = CloseCode::normal, std::string reason = {}) = 0;

  /// Breaks the connection at once: readers and writers fail with Error(unavailable).
  virtual void abort() = 0;

  virtual bool is_open() const = 0;
  /// How the peer closed; no_status until it did.
  virtual CloseCode close_code() const = 0;
  virtual const std::string& close_reason() const = 0;
  virtual const Peer& peer() const = 0;
  /// Bytes queued and not yet taken by the kernel.
  virtual std::size_t queued_bytes() const = 0;
};

}  // namespace underway::http
