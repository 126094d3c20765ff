#include "net/neighbours.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"

namespace underway::net {
namespace {

class Socket {
 public:
  Socket(const Namespace& in, int family, int type, int protocol) {
    in.run([&] {
      raw_ = ::socket(family, type | SOCK_CLOEXEC, protocol);
      if (raw_ < 0) throw errno_error(errno, fmt::format("cannot open a socket in network namespace '{}'", in.label()));
    });
  }
  ~Socket() { ::close(raw_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return raw_; }

 private:
  int raw_ = -1;
};

void dump_listeners(int socket, std::uint8_t family, std::set<std::uint16_t>& ports) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } query{};
  query.header.nlmsg_len = sizeof query;
  query.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  query.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  query.request.sdiag_family = family;
  query.request.sdiag_protocol = IPPROTO_TCP;
  query.request.idiag_states = 1U << TCP_LISTEN;
  if (::send(socket, &query, sizeof query, 0) < 0) throw errno_error(errno, "cannot ask for the listening sockets");
  alignas(nlmsghdr) char block[16384];
  for (;;) {
    const auto received = ::recv(socket, block, sizeof block, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) throw errno_error(errno, "cannot read the listening sockets");
    auto left = static_cast<unsigned>(received);
    for (auto* message = reinterpret_cast<nlmsghdr*>(block); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      // An error means that the kernel lacks the family: nothing listens there.
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return;
      ports.insert(ntohs(static_cast<inet_diag_msg*>(NLMSG_DATA(message))->id.idiag_sport));
    }
  }
}

}  // namespace

std::set<std::uint16_t> listening_tcp_ports(const Namespace& in) {
  const Socket socket(in, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
  std::set<std::uint16_t> ports;
  dump_listeners(socket.get(), AF_INET, ports);
  dump_listeners(socket.get(), AF_INET6, ports);
  return ports;
}

bool tcp_listening(const Namespace& in, std::uint16_t port) { return listening_tcp_ports(in).contains(port); }

}  // namespace underway::net
