#pragma once
/// @file
/// The texts of /proc, taken apart. All of it is written by others: a line that makes no sense is left out, and no text
/// asks for more memory than it is long.

#include "inspection/host_survey.hpp"

#include <map>
#include <set>

namespace underway::inspection::detail {

/// A line of /proc/net/{tcp,tcp6,udp,udp6}: proc_net_tcp(5).
struct InetSocket {
  std::string local;  ///< an address; IPv4 in IPv6 is IPv4
  std::int64_t local_port = 0;
  std::string remote;
  std::int64_t remote_port = 0;
  int state = 0;  ///< of tcp: 1 connected, 10 listening; of udp: 1 connected, 7 not
  std::int64_t inode = 0;
};
std::vector<InetSocket> parse_inet_sockets(std::string_view text);

/// A line of /proc/net/unix: proc_net_unix(5).
struct UnixSocket {
  std::int64_t inode = 0;
  bool listening = false;
  std::string path;  ///< empty when it has none; "@…" for abstract ones
};
std::vector<UnixSocket> parse_unix_sockets(std::string_view text);

/// Of /proc/PID/status.
struct ProcessStatus {
  std::int64_t parent = 0;
  std::int64_t uid = -1;
  std::string name;
  bool ended = false;  ///< a zombie
};
ProcessStatus parse_status(std::string_view text);

/// The unit that a process is in, from /proc/PID/cgroup: the innermost "….service"; empty when there is none.
std::string unit_of_cgroup(std::string_view text);

/// File names of the shared objects in /proc/PID/maps: "libmunge.so.2.0.0".
std::set<std::string> libraries_of_maps(std::string_view text);

/// /proc/PID/cmdline: words that end in NUL.
std::vector<std::string> parse_command_line(std::string_view text);

/// The inode of "socket:[1234]"; nothing for any other link.
std::optional<std::int64_t> socket_inode(std::string_view link);

/// The access of /proc/PID/fdinfo/N: whether the file is open for writing (its `flags`, octal).
bool opened_for_writing(std::string_view fdinfo);

}  // namespace underway::inspection::detail
