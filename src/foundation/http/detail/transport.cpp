#include "http/detail/transport.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <boost/asio/redirect_error.hpp>

namespace underway::http::detail {
namespace {

std::string describe_errno(int number) { return errno_error(number, "").reasons().front(); }

/// Large enough that a big body takes few calls; shared by all transports of a thread, as a read is over at once.
std::span<char> scratch() {
  static thread_local std::array<char, 64 * 1024> buffer;
  return buffer;
}

}  // namespace

Transport::Transport(NativeSocket socket, Peer peer)
    : socket_(std::move(socket)), peer_(std::move(peer)), timer_(socket_.get_executor()) {}

Attempt Transport::try_read(char* data, std::size_t size) {
  while (true) {
    const ssize_t got = ::recv(socket_.native_handle(), data, size, MSG_DONTWAIT);
    if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
    if (got == 0) return {.end = true};
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {.blocked = Want::read};
    return {.failure = describe_errno(errno)};
  }
}

Attempt Transport::try_write(std::string_view data) {
  while (true) {
    const ssize_t sent = ::send(socket_.native_handle(), data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {.blocked = Want::write};
    return {.failure = describe_errno(errno)};
  }
}

awaitable<void> Transport::handshake(Turns*) { co_return; }

void Transport::finish_sending() {
  boost::system::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

awaitable<bool> Transport::read_into(std::string& inbox) {
  while (true) {
    if (!is_open()) throw lost("it was closed here");
    const auto buffer = scratch();
    const Attempt attempt = try_read(buffer.data(), buffer.size());
    if (attempt.bytes > 0) {
      inbox.append(buffer.data(), attempt.bytes);
      co_return true;
    }
    if (attempt.end) co_return false;
    if (attempt.blocked == Want::nothing) throw lost(attempt.failure);
    co_await wait(attempt.blocked);
  }
}

awaitable<void> Transport::write_all(std::string_view data, Duration stall) {
  while (!data.empty()) {
    if (!is_open()) throw lost("it was closed here");
    const Attempt attempt = try_write(data);
    data.remove_prefix(attempt.bytes);
    if (attempt.bytes > 0) continue;
    if (attempt.blocked == Want::nothing) throw lost(attempt.failure);
    expires_at(async::deadline_in(stall));
    co_await wait(attempt.blocked);
    expires_at(async::kNever);
  }
}

awaitable<void> Transport::wait(Want want) {
  if (expired_) throw Error(Code::timeout, fmt::format("{} did not respond in time", peer_.address));
  if (!is_open()) throw lost("it was closed here");
  const auto self = shared_from_this();
  boost::system::error_code failed;
  co_await socket_.async_wait(want == Want::read ? asio::socket_base::wait_read : asio::socket_base::wait_write,
                              asio::redirect_error(asio::use_awaitable, failed));
  if (!failed) co_return;
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) throw async::Cancelled(asio::error::operation_aborted);
  if (expired_) throw Error(Code::timeout, fmt::format("{} did not respond in time", peer_.address));
  throw lost(failed == asio::error::operation_aborted ? "it was closed here" : failed.message());
}

void Transport::expires_at(async::SteadyTime when) {
  expired_ = false;
  deadline_ = when;
  // A later deadline costs nothing: the timer finds it when it fires.
  if (when < armed_for_) arm(when);
}

void Transport::arm(async::SteadyTime when) {
  armed_for_ = when;
  timer_.expires_at(when);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code failed) {
    if (failed) return;
    if (const auto self = weak.lock()) self->on_timer();
  });
}

void Transport::on_timer() {
  armed_for_ = async::kNever;
  if (deadline_ == async::kNever) return;
  if (deadline_ > std::chrono::steady_clock::now()) return arm(deadline_);
  expired_ = true;
  deadline_ = async::kNever;
  cancel_waits();
}

void Transport::close() {
  timer_.cancel();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void Transport::cancel_waits() {
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

Error Transport::lost(const std::string& why) const {
  return Error(Code::unavailable, fmt::format("connection to {} lost", peer_.address)).because(why);
}

std::shared_ptr<Transport> accepted(const async::Executor& executor, int fd, const TlsHolder* tls) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  if (address.ss_family != AF_UNIX) tune(fd);
  Peer peer = peer_of(fd);
  NativeSocket socket(executor, asio::generic::stream_protocol(address.ss_family, 0), fd);
  if (tls != nullptr) return tls_transport(std::move(socket), std::move(peer), tls->current(), "");
  return std::make_shared<Transport>(std::move(socket), std::move(peer));
}

std::shared_ptr<Transport> dialled(NativeSocket socket, Peer peer, const std::optional<TlsContext>& tls,
                                   const std::string& host) {
  if (tls) return tls_transport(std::move(socket), std::move(peer), *tls, host);
  return std::make_shared<Transport>(std::move(socket), std::move(peer));
}

void tune(int fd) {
  const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

Peer peer_of(int fd) {
  Peer peer;
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    peer.address = "an unknown address";
  } else if (address.ss_family == AF_UNIX) {
    peer.address = "unix";
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) peer.uid = credentials.uid;
  } else if (address.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    peer.address = fmt::format("[{}]:{}", text.data(), ntohs(v6->sin6_port));
  } else {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    peer.address = fmt::format("{}:{}", text.data(), ntohs(v4->sin_port));
  }
  return peer;
}

}  // namespace underway::http::detail
