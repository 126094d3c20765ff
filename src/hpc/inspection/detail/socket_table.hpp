#pragma once
/// @file
/// The sockets of one network namespace: who waits where, and which two ends within the machine belong together.

#include <map>
#include <set>

#include "inspection/host_survey.hpp"
#include "net/namespace.hpp"

namespace underway::inspection::detail {

struct InetSocket;
struct UnixSocket;

/// Two ends of one connection inside of the machine.
struct LocalConnection {
  std::int64_t client = 0;  ///< inode
  std::int64_t server = 0;  ///< inode
  std::string through;      ///< "/run/munge/munge.socket.2", "tcp 127.0.0.1:6819"
  auto operator<=>(const LocalConnection&) const = default;
};

class SocketTable {
 public:
  /// `in` outlives the table; `process` is one of the namespace.
  SocketTable(const net::Namespace& in, pid_t process) : in_(in), process_(process) {}

  /// Adds what there is now to what was seen before. What could not be read goes to `gaps`. Blocks: yes.
  void look(std::vector<std::string>& gaps);

  /// Those of these sockets that wait for others.
  std::vector<Listener> listeners(const std::set<std::int64_t>& inodes) const;
  /// Whether one of these sockets is an end of a connection inside of the machine.
  bool connected(const std::set<std::int64_t>& inodes) const;
  const std::set<LocalConnection>& connections() const { return connections_; }

  /// The pure part of look(), for tests: the sockets of the internet family of one look.
  void add(const std::vector<InetSocket>& tcp, const std::vector<InetSocket>& udp);
  /// And the unix sockets, with their peers.
  void add(const std::vector<UnixSocket>& sockets, const std::map<std::int64_t, std::int64_t>& peers);

 private:
  void connect(LocalConnection connection);

  const net::Namespace& in_;
  pid_t process_;
  std::map<std::int64_t, Listener> listening_;
  std::set<LocalConnection> connections_;
  std::set<std::int64_t> ends_;
};

}  // namespace underway::inspection::detail
