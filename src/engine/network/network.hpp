#pragma once
/// @file
/// The networks of a node's allocations. An allocation that does not use the host's network has a network namespace,
/// pinned to a path, that lives from attach() to detach(), whoever dies in between.
///
///   bridge       eth0 in the namespace, joined to the node's bridge; the bridge is its way out, masqueraded
///   none         nothing but lo
///   cni/<name>   what the plugins of the network configuration <name> make
///
/// Ports of the host lead in by nftables: what comes to host address and port goes to the allocation's address and its
/// own port. The rules are one table, made anew from the records with every change.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/allocation.hpp"

namespace underway::network {

struct Options {
  std::string directory;  ///< absolute; ours alone
  std::string bridge = "underway0";
  std::string subnet = "172.26.64.0/20";  ///< of the bridge, which has its first address
  bool hairpin = false;                   ///< the bridge sends frames back to where they came from
  std::string cni_path = "/opt/cni/bin:/usr/lib/cni";
  std::string cni_config_dir = "/opt/cni/config";
};

struct Request {
  std::string allocation;  ///< its id
  std::string mode;        ///< never "host"
  std::vector<model::AllocatedPort> ports;
  std::map<std::string, std::string> cni_args;
};

/// What an allocation has.
struct Attachment {
  std::string namespace_path;
  model::AllocNetworkStatus status;  ///< without an address in mode none
};

/// Thread: any; calls for one allocation come one after the other. Blocks: yes, all of it.
class AllocationNetworks {
 public:
  virtual ~AllocationNetworks() = default;
  /// What it has already is found again; what is half made is made anew, with the address that it had.
  /// Errors: unsupported (not root, no `nft`, no such CNI network), conflict (the subnet is in use), exhausted (no
  /// address is left), and what kernel and plugins say.
  virtual Attachment attach(const Request& request) = 0;
  /// What was made and still stands; nothing when it never was, or is gone with the machine's last boot.
  virtual std::optional<Attachment> find(const std::string& allocation) = 0;
  /// Idempotent. What cannot be undone is thrown at the end, when all else is.
  virtual void detach(const std::string& allocation) = 0;
  /// After a start: detaches whatever is of none of these. The ids of what was.
  virtual std::vector<std::string> keep_only(const std::set<std::string>& allocations) = 0;
};

std::unique_ptr<AllocationNetworks> make_networks(Options options);

/// What is wrong with them; empty: nothing.
std::vector<std::string> problems(const Options& options);
/// The node's attributes: "network.bridge", "network.none", "network.cni.<name>", where they can be had.
model::StringMap fingerprint(const Options& options);

}  // namespace underway::network
