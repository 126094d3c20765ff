#include "inspection/detail/socket_table.hpp"

#include "base/error.hpp"
#include "inspection/detail/proc_text.hpp"
#include "inspection/detail/unix_peers.hpp"
#include "os/file.hpp"

namespace underway::inspection::detail {
namespace {

constexpr std::size_t kMostTable = 256U << 20;  // a line has 150 bytes: more than a million sockets
constexpr int kEstablished = 1;                 // linux/tcp_states.h
constexpr int kListening = 10;

}  // namespace

void SocketTable::look(std::vector<std::string>& gaps) {
  const auto text = [&](const char* name) {
    try {
      return os::find_file(fmt::format("/proc/{}/net/{}", process_, name), kMostTable).value_or("");
    } catch (const Error& e) {
      gaps.push_back(e.one_line());
      return std::string{};
    }
  };
  auto tcp = parse_inet_sockets(text("tcp"));
  auto udp = parse_inet_sockets(text("udp"));
  for (auto& socket : parse_inet_sockets(text("tcp6"))) tcp.push_back(std::move(socket));
  for (auto& socket : parse_inet_sockets(text("udp6"))) udp.push_back(std::move(socket));
  add(tcp, udp);
  const auto sockets = parse_unix_sockets(text("unix"));
  try {
    add(sockets, unix_peers(in_));
  } catch (const Error& e) {
    gaps.push_back(e.one_line());
    add(sockets, {});
  }
}

void SocketTable::add(const std::vector<InetSocket>& tcp, const std::vector<InetSocket>& udp) {
  using End = std::tuple<std::string, std::int64_t, std::string, std::int64_t>;
  std::map<End, std::int64_t> ends;
  std::set<std::int64_t> ports;
  for (const auto& socket : tcp) {
    if (socket.state == kListening) {
      ports.insert(socket.local_port);
      listening_[socket.inode] = {"tcp", socket.local, socket.local_port};
    } else if (socket.state == kEstablished) {
      ends[{socket.local, socket.local_port, socket.remote, socket.remote_port}] = socket.inode;
    }
  }
  // A socket of UDP that is not connected waits for whoever comes; clients have an address of the ephemeral range.
  for (const auto& socket : udp)
    if (socket.state != kEstablished && socket.local_port != 0 && socket.local_port < 32768)
      listening_[socket.inode] = {"udp", socket.local, socket.local_port};
  for (const auto& [end, inode] : ends) {
    const auto& [local, local_port, remote, remote_port] = end;
    if (!ports.contains(remote_port)) continue;
    const auto peer = ends.find({remote, remote_port, local, local_port});
    if (peer != ends.end()) connect({inode, peer->second, fmt::format("tcp {}:{}", remote, remote_port)});
  }
}

void SocketTable::add(const std::vector<UnixSocket>& sockets, const std::map<std::int64_t, std::int64_t>& peers) {
  std::map<std::int64_t, const UnixSocket*> known;
  for (const auto& socket : sockets) {
    known[socket.inode] = &socket;
    if (socket.listening && !socket.path.empty()) listening_[socket.inode] = {"unix", socket.path, 0};
  }
  // The end that was accepted has the name of the one that listened; the client has none.
  for (const auto& [inode, peer] : peers) {
    const auto server = known.find(peer);
    if (server == known.end() || server->second->path.empty()) continue;
    const auto client = known.find(inode);
    if (client != known.end() && client->second->path.empty()) connect({inode, peer, server->second->path});
  }
}

void SocketTable::connect(LocalConnection connection) {
  ends_.insert(connection.client);
  ends_.insert(connection.server);
  connections_.insert(std::move(connection));
}

std::vector<Listener> SocketTable::listeners(const std::set<std::int64_t>& inodes) const {
  std::vector<Listener> out;
  for (const auto inode : inodes)
    if (const auto found = listening_.find(inode); found != listening_.end()) out.push_back(found->second);
  return out;
}

bool SocketTable::connected(const std::set<std::int64_t>& inodes) const {
  return std::any_of(inodes.begin(), inodes.end(), [&](std::int64_t inode) { return ends_.contains(inode); });
}

}  // namespace underway::inspection::detail
