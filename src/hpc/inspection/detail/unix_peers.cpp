#include "inspection/detail/unix_peers.hpp"

#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <memory>

#include "base/error.hpp"

namespace underway::inspection::detail {
namespace {

using Peers = std::map<std::int64_t, std::int64_t>;

int note(nl_msg* message, void* context) {
  nlmsghdr* header = nlmsg_hdr(message);
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || nlmsg_datalen(header) < static_cast<int>(sizeof(unix_diag_msg)))
    return NL_OK;
  const auto* socket = static_cast<const unix_diag_msg*>(nlmsg_data(header));
  const nlattr* peer = nlmsg_find_attr(header, sizeof(unix_diag_msg), UNIX_DIAG_PEER);
  if (peer != nullptr && nla_len(peer) >= static_cast<int>(sizeof(std::uint32_t)))
    (*static_cast<Peers*>(context))[socket->udiag_ino] = nla_get_u32(peer);
  return NL_OK;
}

void check(int code, const char* what) {
  if (code < 0) throw Error(Code::internal, what).because(nl_geterror(code));
}

Peers ask() {
  const std::unique_ptr<nl_sock, void (*)(nl_sock*)> socket(nl_socket_alloc(), nl_socket_free);
  if (!socket) throw errno_error(ENOMEM, "cannot make a netlink socket");
  Peers peers;
  nl_socket_disable_seq_check(socket.get());
  check(nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, note, &peers), "cannot read unix sockets");
  check(nl_connect(socket.get(), NETLINK_SOCK_DIAG), "cannot ask the kernel about sockets");
  unix_diag_req request{};
  request.sdiag_family = AF_UNIX;
  request.udiag_states = ~0U;
  request.udiag_show = UDIAG_SHOW_PEER;
  check(nl_send_simple(socket.get(), SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &request, sizeof request),
        "cannot ask the kernel about unix sockets");
  check(nl_recvmsgs_default(socket.get()), "cannot read unix sockets");
  return peers;
}

}  // namespace

std::map<std::int64_t, std::int64_t> unix_peers(const net::Namespace& in) {
  Peers peers;
  in.run([&] { peers = ask(); });
  return peers;
}

}  // namespace underway::inspection::detail
