#pragma once
/// @file
/// Hosts that are sold: an account that paid for a pool (`owner`) is promised as many as the pool may ever have,
/// wherever there is room, as others sleep for it. What is sold twice waits, whoever sleeps.

#include <cstdint>
#include <string>
#include <vector>

namespace underway::model {

struct Cluster;
struct Pool;

/// What a virtual machine holds on its node, QEMU's own with it.
struct MachineSize {
  std::int64_t cpu = 0;        ///< MHz; 0: with `pin` it has whole cores instead
  std::int64_t memory_mb = 0;  ///< MiB
};
/// Of a host of a pool of provider "qemu".
MachineSize machine_size(const Pool& pool);
/// MiB of its guest: it is to have what the pool declares, as Slurm takes no node that has less.
std::int64_t guest_memory_mb(const Pool& pool);

/// Virtual machines of one pool that have to have room at the same time.
struct PromisedHosts {
  std::string pool;
  std::string on;  ///< the node pool whose nodes hold them
  std::int64_t count = 0;
  bool sold = true;  ///< false: always there, and nobody's to put to sleep
  MachineSize size;
};
/// Of pools with an owner as many as each may have, and of others that make way for nobody those that are always there.
/// Nothing when nothing is sold.
std::vector<PromisedHosts> promised_hosts(const Cluster& cluster);
/// "12 hosts (physics 8, chemistry 4)": of those that are sold.
std::string sold_text(const std::vector<PromisedHosts>& promised);

/// Promises that cannot be kept, whoever sleeps, by what the cluster's file says of its pools: how many nodes there
/// will ever be, and what each has, where that is declared (`cpu_total_compute`, `memory_total_mb`).
std::vector<std::string> broken_promises(const Cluster& cluster);

}  // namespace underway::model
