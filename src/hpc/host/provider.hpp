#pragma once
/// @file
/// What a provider of hosts does. A host becomes a node of the cluster when the agent in it joins; of a host whose
/// agent never does, the provider alone can say anything. Each may be done twice: a `create` that was killed half way
/// is asked for again, and takes away what half exists first.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.hpp"
#include "net/address.hpp"
#include "os/process/process.hpp"

namespace underway::host {

struct NetworkSpec {
  std::string name;
  net::Cidr cidr;
  /// Hosts reach the outside through the machine, which has `gateway` as its address on this network.
  bool nat = false;
  /// Absent: the first address of the network. Used with `nat` only.
  std::optional<net::Ip> gateway;
};

struct ClusterSpec {
  std::string name;
  /// The first one gives a host's plain name its address; the others "<host>-<network>".
  std::vector<NetworkSpec> networks;
  /// Directories that all hosts share, at the same path in each.
  std::vector<model::Share> shares;
  /// Upper bound of what all hosts of the cluster write to their roots and shares together; 0: half of the memory.
  std::uint64_t size_limit_bytes = 0;
};

struct Bind {
  std::string source;  ///< on the machine; a directory or a file
  std::string target;  ///< in the host
  bool read_only = true;
};

/// Written into the host's root before it starts: what must not be seen among arguments.
struct HostFile {
  std::string path;
  std::string text;
  unsigned mode = 0644;
};

struct HostSpec {
  std::string cluster;
  std::string name;  ///< one DNS label (RFC 1123), unique in its cluster
  std::string pool;
  /// By network; the prefix is the network's.
  std::map<std::string, net::Cidr> addresses;
  /// Each network is a bridge "br-<network>" in the host, which has the host's interface as a port and its address.
  bool bridges = false;
  /// What is told to the batch system; 0: the machine's.
  std::int64_t cpus = 0;
  std::int64_t memory_mb = 0;
  /// Hold the host to `cpus` and `memory_mb` by its cgroup.
  bool enforce_limits = false;
  std::vector<model::HostDirectory> directories;
  /// Directories of the host, empty at first, that lie beside its root and not on an overlay: on these an overlay's
  /// upper layer can lie. They go with the host.
  std::vector<std::string> plain_directories;
  /// The same on the machine's disk instead of in memory: a file from which a file system is mounted has to lie there.
  std::vector<std::string> disk_directories;
  std::vector<Bind> binds;
  std::vector<HostFile> files;
  /// The program that pid 1 keeps running, and its whole environment ("NAME=value"). Empty: none. A program below the
  /// machine's /tmp or /run is not seen in the host unless `binds` shows it.
  std::vector<std::string> agent_argv;
  std::vector<std::string> agent_env;
};

struct HostInfo {
  std::string cluster;
  std::string name;
  std::string pool;
  std::map<std::string, net::Cidr> addresses;
  /// creating (a create that did not finish), running, failed (pid 1 is gone).
  model::HostStatus status = model::HostStatus::pending;
  std::string description;      ///< why, when failed
  os::ProcessIdentity init;     ///< the host's pid 1, as the machine numbers it
  std::int64_t created_at = 0;  ///< Unix nanoseconds
  std::string console;          ///< path of the log of init and agent
};

/// Thread: any. Blocks: yes; call it from a pool.
class Provider {
 public:
  virtual ~Provider() = default;
  /// Makes the cluster's networks and shares, or adds what is missing. Before the first `create`.
  virtual void prepare(const ClusterSpec& cluster) = 0;
  /// Returns when pid 1 runs and the addresses are set; the agent starts right after.
  /// Errors: invalid (names all problems of the spec), not_found (no such network), whatever step failed, by name.
  virtual HostInfo create(const HostSpec& host) = 0;
  /// Power off and remove, as if by pulling the plug. False when there was no such host.
  virtual bool destroy(const std::string& cluster, const std::string& name) = 0;
  /// What exists, by cluster and name.
  virtual std::vector<HostInfo> list() = 0;
  /// The last thing that a host's agent said where nobody but the provider hears it, in one line; empty: nothing.
  virtual std::string last_words(const std::string& cluster, const std::string& name) = 0;
  /// After a restart: takes over the hosts that run, takes away what a crash left half made. Returns what exists.
  virtual std::vector<HostInfo> adopt() = 0;
  /// Names that hosts must be able to resolve before they exist (a batch system blocks on unknown ones).
  virtual void announce(const std::string& cluster,
                        const std::map<std::string, std::map<std::string, net::Cidr>>& hosts) = 0;
  /// All hosts, networks, shares of the cluster. False when there was none.
  virtual bool remove_cluster(const std::string& cluster) = 0;
};

/// All problems in words; empty when it can be made.
std::vector<std::string> problems(const ClusterSpec& cluster);
std::vector<std::string> problems(const HostSpec& host);

}  // namespace underway::host
