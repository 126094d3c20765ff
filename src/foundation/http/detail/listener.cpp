#include "http/detail/listener.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace underway::http::detail {
namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

Error cannot_listen(const Endpoint& endpoint, int number) {
  Error error = errno_error(number, fmt::format("cannot listen on {}", to_string(endpoint)));
  if (number == EADDRINUSE) {
    error.advise(endpoint.is_unix()
                     ? fmt::format("`ss -xlp src {}` names the process that listens there", endpoint.socket_path)
                     : fmt::format("`ss -ltnp 'sport = :{}'` names the process that listens there; stop it or "
                                   "configure another port",
                                   endpoint.port));
  } else if (number == EADDRNOTAVAIL) {
    error.advise("`ip address` lists the addresses of this machine");
  } else if (number == EACCES && !endpoint.is_unix() && endpoint.port < 1024) {
    error.advise("ports below 1024 need root or CAP_NET_BIND_SERVICE");
  }
  return error;
}

bool somebody_listens(const sockaddr_un& address) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return true;
  const int result = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const bool refused = result != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return !refused;
}

int listen_unix(const Endpoint& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (endpoint.socket_path.size() >= sizeof address.sun_path) throw cannot_listen(endpoint, ENAMETOOLONG);
  endpoint.socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  const char* path = endpoint.socket_path.c_str();
  struct stat present{};
  if (::lstat(path, &present) == 0) {
    // Only a socket that nobody serves is ours to replace.
    if (!S_ISSOCK(present.st_mode) || somebody_listens(address)) throw cannot_listen(endpoint, EADDRINUSE);
    ::unlink(path);
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw cannot_listen(endpoint, errno);
  // Permissions are set before anyone can connect: the socket listens only after chmod.
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path, endpoint.socket_mode) != 0 || ::listen(fd, kBacklog) != 0) {
    const int number = errno;
    ::close(fd);
    throw cannot_listen(endpoint, number);
  }
  return fd;
}

int listen_address(const addrinfo& info) {
  const int fd = ::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (info.ai_family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd, info.ai_addr, info.ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0) return fd;
  const int number = errno;
  ::close(fd);
  errno = number;
  return -1;
}

int listen_tcp(Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (failed != 0) {
    throw Error(Code::invalid, fmt::format("cannot listen on {}", to_string(endpoint)))
        .because(fmt::format("'{}' is no address of this machine: {}", endpoint.host, ::gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  const int fd = listen_address(*found);
  if (fd < 0) throw cannot_listen(endpoint, errno);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  endpoint.port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                                    : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  return fd;
}

}  // namespace

Listener::Listener(const async::Executor& executor, Endpoint endpoint)
    : endpoint_(std::move(endpoint)), socket_(executor) {
  socket_.assign(endpoint_.is_unix() ? listen_unix(endpoint_) : listen_tcp(endpoint_));
}

Listener::~Listener() { close(); }

void Listener::close() {
  if (!socket_.is_open()) return;
  boost::system::error_code ignored;
  socket_.close(ignored);
  if (endpoint_.is_unix()) ::unlink(endpoint_.socket_path.c_str());
}

awaitable<int> Listener::accept() {
  while (true) {
    const int fd = ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) co_return fd;
    switch (errno) {
      case EAGAIN:
        co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
        break;
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        co_await async::sleep_for(std::chrono::milliseconds{100});
        break;
      case EBADF:
      case EINVAL:
      case ENOTSOCK:
        throw cannot_listen(endpoint_, errno);
      default:
        break;  // the client gave up between its connect and our accept: accept(2)
    }
  }
}

}  // namespace underway::http::detail
