#include "vm/qmp/line_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/error.hpp"

namespace underway::vm {

namespace {

os::Fd open_place(const std::string& directory) {
  return os::Fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

os::Fd make_socket() {
  os::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw errno_error(errno, "cannot make a socket");
  return socket;
}

sockaddr_un address_in(const os::Fd& place, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = fmt::format("/proc/self/fd/{}/{}", place.get(), name);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

}  // namespace

os::Fd listen_socket(const std::string& directory, const std::string& name) {
  const auto place = open_place(directory);
  if (!place) throw errno_error(errno, fmt::format("cannot open '{}'", directory));
  auto socket = make_socket();
  const auto address = address_in(place, name);
  if (::unlinkat(place.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    throw errno_error(errno, fmt::format("cannot remove '{}/{}'", directory, name));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    throw errno_error(errno, fmt::format("cannot listen at '{}/{}'", directory, name));
  return socket;
}

os::Fd connect_socket(const std::string& directory, const std::string& name) {
  // The directory may not be there yet either.
  const auto place = open_place(directory);
  if (!place) return {};
  auto socket = make_socket();
  const auto address = address_in(place, name);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  return {};
}

int Deadline::milliseconds() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

Duration Deadline::left() const {
  return std::max(Duration{0}, std::chrono::duration_cast<Duration>(end_ - std::chrono::steady_clock::now()));
}

LineSocket::LineSocket(os::Fd socket, std::string who) : socket_(std::move(socket)), who_(std::move(who)) {
  os::set_nonblocking(socket_, true);
}

LineSocket LineSocket::connect(const std::string& directory, const std::string& name, const std::string& who,
                               Duration within) {
  const Deadline deadline(within);
  for (;;) {
    if (auto socket = connect_socket(directory, name)) return {std::move(socket), who};
    const int error = errno;
    if (deadline.passed())
      throw Error(Code::unavailable, fmt::format("{} does not answer", who))
          .because(fmt::format("nobody listens at '{}/{}': {}", directory, name, std::strerror(error)));
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

void LineSocket::send(std::string_view bytes, const Deadline& deadline, int descriptor) {
  while (!bytes.empty()) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    if (descriptor >= 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (n >= 0) {
      descriptor = -1;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      if (!os::wait_for(socket_.get(), POLLOUT, deadline.milliseconds()))
        throw Error(Code::timeout, fmt::format("{} takes nothing in", who_));
    } else if (errno != EINTR) {
      throw errno_error(errno, fmt::format("cannot speak to {}", who_));
    }
  }
}

std::optional<std::string> LineSocket::receive(const Deadline& deadline) {
  for (;;) {
    if (const auto end = buffer_.find('\n', searched_); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    searched_ = buffer_.size();
    if (buffer_.size() > kMaxLine)
      throw Error(Code::too_large, fmt::format("{} says too much", who_))
          .because(fmt::format("a line of more than {} bytes", kMaxLine));
    std::array<char, 16384> bytes;
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (n > 0) {
      buffer_.append(bytes.data(), static_cast<std::size_t>(n));
    } else if (n == 0 || errno == ECONNRESET) {
      throw Error(Code::unavailable, fmt::format("{} has ended", who_));
    } else if (errno == EAGAIN) {
      if (!os::wait_for(socket_.get(), POLLIN, deadline.milliseconds())) return std::nullopt;
    } else if (errno != EINTR) {
      throw errno_error(errno, fmt::format("cannot listen to {}", who_));
    }
  }
}

}  // namespace underway::vm
