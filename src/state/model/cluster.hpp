#pragma once
/// @file
/// A cluster: networks + pools + jobs, in one directory of HCL files. A pool's hosts are made by a provider; a host
/// becomes a node when its agent joins.

#include "model/elastic/policy.hpp"
#include "model/job/job.hpp"
#include "model/machine_set.hpp"
#include "model/slurm_member.hpp"

namespace underway::model {

struct Network {
  std::string name;
  std::string cidr;  ///< e.g. "10.77.0.0/24"
  bool nat = false;  ///< whether hosts reach the outside through the machine
};

/// A directory made on each host at boot.
struct HostDirectory {
  std::string path;
  std::string owner = "root";
  std::string group = "root";
  std::string mode = "0755";
};

/// A directory that all hosts of the cluster share.
struct Share {
  std::string path;
  std::string mode = "0755";
};

/// MHz that are reserved for each processor of a virtual machine, when nothing else is said.
inline constexpr std::int64_t kMachineMhzPerCpu = 500;
/// What QEMU has beside the guest's memory: its own, its devices' and the translator's. Measured (QEMU 7.2, -accel tcg,
/// Linux up to its shell): 105 MiB, 21 of them of files and 48 of the 64 that translated code may have.
inline constexpr std::int64_t kQemuMb = 160;

/// What a host of provider "qemu" is made of.
struct VirtualMachine {
  std::string on;     ///< the node pool whose nodes hold the machines
  std::string image;  ///< its first disk; empty: none. These three are files of those nodes
  std::string kernel;
  std::string initrd;
  std::string append;            ///< the kernel's command line
  std::string disk = "8G";       ///< an empty disk of its own, that outlives restarts; empty: none
  std::int64_t cpu = 0;          ///< MHz that are reserved; 0: kMachineMhzPerCpu for each of the pool's `cpus`
  bool pin = false;              ///< each processor has a core of the node for itself
  bool huge_pages = false;       ///< its memory is of the node's huge pages
  std::string migrate = "auto";  ///< how it goes to another node: "auto", "live" or "stop" (vm/config.hpp)
  /// Which of those nodes may hold the pool's machines, which should rather, and over what they are shared out. None of
  /// these: where the least room is left, so that whole nodes stay free.
  std::vector<Constraint> constraints;
  std::vector<Affinity> affinities;
  std::vector<Spread> spreads;
};

struct Pool {
  std::string name;
  std::string provider = "local";
  std::int64_t size = 1;               ///< of one that grows: hosts that are always there
  std::string hostname;                ///< "c%d" numbers from 1; without %d only for size 1; empty: the pool's name
  std::vector<std::string> networks;   ///< empty: all of the cluster's
  bool bridges = false;                ///< each network is a bridge "br-<network>" on its hosts, for capsules to join
  std::int64_t cpus = 0;               ///< told to the batch system; 0: the machine's
  std::int64_t memory_mb = 0;          ///< MiB; 0: the machine's
  std::int64_t cpu_total_compute = 0;  ///< MHz that each of its nodes has for allocations; 0: its machine's
  std::int64_t memory_total_mb = 0;    ///< the same, MiB
  std::string node_class;
  StringMap meta;
  std::vector<HostDirectory> directories;
  std::optional<VirtualMachine> machine;  ///< of provider "qemu"
  std::optional<SlurmJoin> slurm;         ///< present: its hosts join Slurm by themselves
  std::optional<PoolElastic> elastic;     ///< present: it has as many hosts as Slurm's queue asks for

  /// Names of the hosts that are always there, in order: "c1", "c2", …
  std::vector<std::string> host_names() const;
  /// The same of all hosts that it may ever have: SlurmJoin::most.
  std::vector<std::string> all_host_names() const;
};

/// A random item of a variable.
struct GeneratedItem {
  std::string name;
  std::int64_t bytes = 32;  ///< of randomness
  std::string encoding = "base64";
};

/// A variable that the cluster needs: made by the server when it is missing, and never changed afterwards.
struct SecretDeclaration {
  std::string path;
  std::vector<GeneratedItem> generate;
};

struct Cluster {
  std::string name;
  std::string datacenter = "dc1";
  std::vector<Network> networks;
  std::vector<Share> shares;
  std::vector<HostDirectory> directories;  ///< made on every host
  std::vector<SecretDeclaration> secrets;
  std::vector<Pool> pools;
  std::vector<MachineSet> machines;      ///< what Slurm jobs may ask for
  std::optional<ElasticPolicy> elastic;  ///< of its pools that grow and shrink
  std::vector<std::string> jobs;         ///< ids of the jobs that its directory declares
  bool stop = false;                     ///< being taken down
  std::string directory;                 ///< where it was declared, for people
  Revision create_index = 0;
  Revision modify_index = 0;

  const Pool* find_pool(std::string_view pool_name) const;
  const MachineSet* find_machines(std::string_view set_name) const;
};

/// The job that holds the virtual machines of a pool, in the default namespace: "demo-burst-hosts".
std::string pool_job_id(const std::string& cluster, const std::string& pool);
/// The job that holds the virtual machines of a Slurm job, there too: "demo-slurm-17".
std::string slurm_machines_job_id(const std::string& cluster, const std::string& slurm_job);

enum class HostStatus {
  pending,
  creating,
  running,
  stopping,
  failed,
  stopped,  ///< its machine is gone, and its name and addresses are kept while Slurm has them (SlurmMember)
};

struct Host {
  std::string name;  ///< unique in its cluster
  std::string cluster;
  std::string pool;
  std::string provider = "local";
  StringMap addresses;  ///< by network
  HostStatus status = HostStatus::pending;
  std::string status_description;
  std::string node_id;  ///< once its agent joined
  /// Its machine is to sleep, for this reason, for people; empty: it is to be awake.
  std::string sleep;
  std::int64_t sleep_since = 0;  ///< when that last changed, ns since the epoch; 0: never
  bool sleeps_to_move = false;   ///< it is woken by itself where its machine goes on
  bool asleep = false;           ///< it does: its memory is on the disk of its node, and others may have its room
  std::string machine_node;      ///< of provider "qemu": the node that its machine was placed on last, with its disk
  std::int64_t created_at = 0;
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// All problems of the cluster's declaration, in words; empty when it is valid: names, overlapping or too small
/// networks are left to net; here sizes, patterns, doubles and references.
std::vector<std::string> problems(const Cluster& cluster);

const describe::Enumeration& description(describe::Tag<HostStatus>);
const describe::Structure& description(describe::Tag<Network>);
const describe::Structure& description(describe::Tag<HostDirectory>);
const describe::Structure& description(describe::Tag<Share>);
const describe::Structure& description(describe::Tag<GeneratedItem>);
const describe::Structure& description(describe::Tag<SecretDeclaration>);
const describe::Structure& description(describe::Tag<VirtualMachine>);
const describe::Structure& description(describe::Tag<Pool>);
const describe::Structure& description(describe::Tag<Cluster>);
const describe::Structure& description(describe::Tag<Host>);

}  // namespace underway::model
