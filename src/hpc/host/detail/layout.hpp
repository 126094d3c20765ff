#pragma once
/// @file
/// Where things of local hosts lie below the state directory, and what their kernel objects are called. Names follow
/// from names alone, so that clean-up needs no memory.

#include <string>

#include "net/netlink.hpp"
#include "os/trash.hpp"

namespace underway::host {

struct Layout {
  std::string state_dir;

  std::string clusters() const { return state_dir + "/clusters"; }
  std::string cluster(const std::string& name) const { return clusters() + "/" + name; }
  /// The cluster's tmpfs: roots, shares, the hosts file.
  std::string tmpfs(const std::string& name) const { return cluster(name) + "/fs"; }
  std::string switch_pin(const std::string& name) const { return cluster(name) + "/switch"; }
  std::string hosts_file(const std::string& name) const { return tmpfs(name) + "/hosts"; }
  /// A path as one file name: "/srv/data" is "%2Fsrv%2Fdata".
  static std::string flat(const std::string& path) {
    std::string file;
    for (const char c : path) file += c == '/' ? "%2F" : c == '%' ? "%25" : std::string(1, c);
    return file;
  }
  std::string share(const std::string& name, const std::string& path) const {
    return tmpfs(name) + "/shares/" + flat(path);
  }
  std::string roots(const std::string& name, const std::string& host) const { return tmpfs(name) + "/roots/" + host; }
  std::string plain(const std::string& name, const std::string& host, const std::string& path) const {
    return roots(name, host) + "/plain/" + flat(path);
  }
  std::string disks(const std::string& name, const std::string& host) const { return cluster(name) + "/disks/" + host; }
  std::string disk(const std::string& name, const std::string& host, const std::string& path) const {
    return disks(name, host) + "/" + flat(path);
  }
  /// Where disks of hosts that are removed lie for a week.
  os::Trash trash() const { return os::Trash(state_dir + "/trash"); }
  std::string records(const std::string& name) const { return cluster(name) + "/hosts"; }
  std::string record(const std::string& name, const std::string& host) const {
    return records(name) + "/" + host + ".json";
  }
  std::string console(const std::string& name, const std::string& host) const {
    return cluster(name) + "/consoles/" + host + ".log";
  }
};

inline std::string cluster_owner(const std::string& cluster) { return "cluster/" + cluster; }
inline std::string host_owner(const std::string& cluster, const std::string& host) {
  return "host/" + cluster + "/" + host;
}
inline std::string group_path(const std::string& cluster, const std::string& host) {
  return "underway/" + cluster + "/" + host;
}
/// In a host whose networks are bridges.
inline std::string bridge_name(const std::string& network) { return net::link_name("br-" + network); }
/// A host's port on the switch.
inline std::string port_name(const std::string& host, const std::string& network) {
  return net::link_name(host + "." + network);
}
/// The machine's own end of a network with nat.
inline std::string uplink_name(const std::string& cluster, const std::string& network) {
  return net::link_name("uw:" + cluster + "." + network);  // ':' is no part of a link's name: always hashed
}
inline std::string nat_table(const std::string& cluster) {
  std::string table = "underway_" + cluster;
  for (auto& c : table) c = c == '-' ? '_' : c;
  return table;
}

}  // namespace underway::host
