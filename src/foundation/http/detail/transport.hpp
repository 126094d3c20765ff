#pragma once
/// @file
/// One connected byte stream, plain or TLS, TCP or unix: what server, client and WebSocket stand on. Reads and writes
/// are tried first and waited for only when they would block, so nobody holds a buffer while waiting.

#include <boost/asio/generic/stream_protocol.hpp>

#include "http/detail/turns.hpp"
#include "http/message.hpp"
#include "http/tls.hpp"

namespace underway::http::detail {

using NativeSocket = asio::generic::stream_protocol::socket;

enum class Want { nothing, read, write };

/// What one attempt came to: bytes, or the direction it waits for, or the end, or a failure.
struct Attempt {
  std::size_t bytes = 0;
  Want blocked = Want::nothing;
  bool end = false;
  std::string failure = {};
};

/// Thread: one loop. Always owned by a shared_ptr.
class Transport : public std::enable_shared_from_this<Transport> {
 public:
  Transport(NativeSocket socket, Peer peer);
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual Attempt try_read(char* data, std::size_t size);
  virtual Attempt try_write(std::string_view data);
  /// `turns`: of a server that has many to do; null: at once.
  virtual awaitable<void> handshake(Turns* turns = nullptr);
  /// Tells the peer that nothing more will be sent.
  virtual void finish_sending();

  /// The next bytes, appended to `inbox`; false at the end of the stream.
  awaitable<bool> read_into(std::string& inbox);
  /// Returns when the kernel has all of `data`; Error(timeout) when it takes no byte for `stall`.
  awaitable<void> write_all(std::string_view data, Duration stall);
  /// Waits until a blocked attempt is worth repeating. Throws Error(timeout) once the deadline has passed and
  /// Error(unavailable) when the transport is closed here.
  awaitable<void> wait(Want want);

  /// The deadline of present and future waits; kNever lifts it.
  void expires_at(async::SteadyTime when);
  void close();
  /// Cancels the waits of this moment.
  void cancel_waits();
  bool is_open() const { return socket_.is_open(); }

  NativeSocket& socket() { return socket_; }
  Peer& peer() { return peer_; }
  const Peer& peer() const { return peer_; }
  Error lost(const std::string& why) const;

 private:
  void arm(async::SteadyTime when);
  void on_timer();

  NativeSocket socket_;
  Peer peer_;
  asio::steady_timer timer_;
  async::SteadyTime deadline_ = async::kNever;
  async::SteadyTime armed_for_ = async::kNever;
  bool expired_ = false;
};

/// A transport over an accepted, nonblocking descriptor, which it takes over.
std::shared_ptr<Transport> accepted(const async::Executor& executor, int fd, const TlsHolder* tls);
/// A transport over a connected socket; with TLS, `host` is the name to verify.
std::shared_ptr<Transport> dialled(NativeSocket socket, Peer peer, const std::optional<TlsContext>& tls,
                                   const std::string& host);

/// In tls_transport.cpp.
std::shared_ptr<Transport> tls_transport(NativeSocket socket, Peer peer, const TlsContext& tls,
                                         const std::string& host);

/// Options of every TCP socket: no delay, and keep-alive probes that notice a vanished host in about two minutes.
void tune(int fd);
/// Address of the other end of `fd`; of a unix socket also the user.
Peer peer_of(int fd);

}  // namespace underway::http::detail
