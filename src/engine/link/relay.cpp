#include "link/relay.hpp"

#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>

#include <array>

namespace underway::link {
namespace {

/// As a HTTP server has with a client that takes nothing (http::ServerOptions::send_timeout).
constexpr Duration kPatience = std::chrono::seconds(30);

/// Both ends, shared by the coroutines of one relay: they go when the last of them does.
struct Ends {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Socket> socket;
  bool broken = false;  ///< the stream
  Relayed result;
  int fd() const { return socket->native_handle(); }
};

/// Until a blocked attempt is worth repeating, or the stream is broken off.
awaitable<void> ready(std::shared_ptr<Ends> ends, Socket::wait_type direction) {
  boost::system::error_code failed;
  co_await ends->socket->async_wait(direction, asio::redirect_error(asio::use_awaitable, failed));
  if (!failed) co_return;
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) throw async::Cancelled(asio::error::operation_aborted);
}

awaitable<void> from_socket(std::shared_ptr<Ends> ends) {
  static thread_local std::array<char, 32 * 1024> buffer;  // used between two waits only
  try {
    while (!ends->broken) {
      const auto got = ::recv(ends->fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) {
        co_await ends->stream->write(std::string(buffer.data(), static_cast<std::size_t>(got)));
        continue;
      }
      if (got < 0 && errno == EINTR) continue;
      if (got == 0 || errno != EAGAIN) break;  // a socket that was reset has nothing more to say either
      co_await ready(ends, Socket::wait_read);
    }
    ends->stream->end();
  } catch (const Error&) {  // broken off: to_socket() tells why
  }
}

/// False when nobody takes them any more. What came before a break is delivered, as the peer may have ended in order
/// before; but nobody is waited for then who takes nothing.
awaitable<bool> put(std::shared_ptr<Ends> ends, std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const auto sent = ::send(ends->fd(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
      ends->result.delivered = true;
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return false;
    if (ends->broken)
      co_await async::within(kPatience, "what was left for a socket", ready(ends, Socket::wait_write));
    else
      co_await ready(ends, Socket::wait_write);
  }
  co_return true;
}

awaitable<void> to_socket(std::shared_ptr<Ends> ends) {
  try {
    while (auto chunk = co_await ends->stream->read()) {
      // Who has closed the socket for reading may still be writing: that direction ends by itself.
      if (!co_await put(ends, std::move(chunk->bytes))) co_return;
    }
    ::shutdown(ends->fd(), SHUT_WR);
  } catch (const Error& error) {
    ends->result.broken_off = error;
  }
}

awaitable<void> notice_break(std::shared_ptr<Ends> ends) {
  co_await ends->stream->broken_off();
  ends->broken = true;
  boost::system::error_code ignored;
  ends->socket->cancel(ignored);
}

}  // namespace

std::shared_ptr<Socket> unix_socket(const async::Executor& executor, int fd) {
  return std::make_shared<Socket>(executor, asio::generic::stream_protocol(AF_UNIX, 0), fd);
}

awaitable<Relayed> relay(std::shared_ptr<Stream> stream, std::shared_ptr<Socket> socket) {
  const auto ends = std::make_shared<Ends>();
  ends->stream = std::move(stream);
  ends->socket = std::move(socket);
  const async::Executor executor = co_await asio::this_coro::executor;
  async::TaskGroup watch(executor, "relay"), back(executor, "relay");
  watch.spawn("break", notice_break(ends));
  back.spawn("to the stream", from_socket(ends));
  co_await to_socket(ends);
  co_await back.wait();
  co_await watch.stop();
  co_return ends->result;
}

}  // namespace underway::link
