#include "strangers/server.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "os/fd.hpp"

namespace underway::strangers {
namespace {

os::Fd dial_socket(const std::string& path) {
  os::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return os::Fd();
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const bool open = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return open ? std::move(fd) : os::Fd();
}

os::Fd dial_port(const std::string& host, const std::string& port) {
  os::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  const bool open = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return open ? std::move(fd) : os::Fd();
}

os::Fd dial(const std::string& address) {
  if (address.starts_with('/')) return dial_socket(address);
  const std::size_t colon = address.find(':');
  return dial_port(address.substr(0, colon), address.substr(colon + 1));
}

/// All that comes until the server closes, or for twenty seconds.
std::string converse(const os::Fd& fd, std::string_view request) {
  const timeval patience{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  while (!request.empty()) {
    const auto sent = ::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
    if (sent <= 0) return {};
    request.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::string got;
  char piece[16384];
  for (;;) {
    const auto size = ::recv(fd.get(), piece, sizeof piece, 0);
    if (size <= 0) return got;
    got.append(piece, static_cast<std::size_t>(size));
  }
}

/// RFC 9112, 7.1: the size of each piece stands before it, in hexadecimal digits.
std::string without_chunks(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t line = text.find("\r\n");
    const auto size = std::strtoul(std::string(text.substr(0, line)).c_str(), nullptr, 16);
    if (line == std::string_view::npos || size == 0 || text.size() < line + 2 + size) return out;
    out += text.substr(line + 2, size);
    text.remove_prefix(std::min(text.size(), line + 2 + size + 2));
  }
  return out;
}

}  // namespace

Answer Server::ask(const std::string& method, const std::string& target, const std::string& body) const {
  const os::Fd fd = dial(address_);
  if (!fd) return {};
  std::string request = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  if (!token_.empty()) request += "X-Nomad-Token: " + token_ + "\r\n";
  request += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  const std::string got = converse(fd, request);
  const std::size_t end = got.find("\r\n\r\n");
  if (!got.starts_with("HTTP/1.1 ") || end == std::string::npos) return {};
  const std::string head = got.substr(0, end), rest = got.substr(end + 4);
  const bool chunked = head.find("Transfer-Encoding: chunked") != std::string::npos ||
                       head.find("transfer-encoding: chunked") != std::string::npos;
  return {std::stoi(got.substr(9, 3)), chunked ? without_chunks(rest) : rest};
}

}  // namespace underway::strangers
