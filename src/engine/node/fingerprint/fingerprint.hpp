#pragma once
/// @file
/// What this machine is and has, under Nomad's attribute names (without the leading "attr."). Found once, when the
/// agent starts; nothing here polls. What a machine cannot tell is left out: a constraint on an attribute that is not
/// there is not met, while a guess would have the job placed and fail.

#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "model/node/node.hpp"
#include "node/node.hpp"

namespace underway::node {

/// The Nomad release whose job files run here unchanged, told as `nomad.version`: job files gate on it by semver.
/// 1.6.5 is the last release before features that we lack (1.7 brought workload identities and numa blocks).
inline constexpr std::string_view kNomadVersion = "1.6.5";

/// What a fingerprint adds to.
struct Findings {
  model::StringMap attributes;
  model::NodeResources resources;
  std::vector<model::NodeNetwork> networks;
  std::int64_t reserved_cpu = 0;           ///< MHz; cores that are kept back count before what is said
  std::vector<std::int64_t> usable_cores;  ///< that tasks may run on, whether they may be held or not
};

/// Where the kernel's files are looked for, and what tells of processors and buses; both empty on a machine.
struct Machine {
  std::string root = {};      ///< a directory with imitations, in tests
  std::string hardware = {};  ///< in hwloc's words, synthetic or XML, instead of what there is
  std::string path(std::string_view absolute) const { return root + std::string(absolute); }
};

void fingerprint_cpu(const Machine& machine, const Options& options, Findings& findings);
void fingerprint_memory(const Machine& machine, const Options& options, Findings& findings);
/// Kernel, distribution, signals, cgroups, hostname.
void fingerprint_host(const Machine& machine, const Options& options, Findings& findings);
/// Addresses of this network namespace.
void fingerprint_network(const Machine& machine, const Options& options, Findings& findings);
/// The file system that holds the data directory.
void fingerprint_storage(const Machine& machine, const Options& options, Findings& findings);

/// All of them, and the node as it registers, without drivers. Blocks: yes (reads files).
/// `usable_cores`, when not null, is given Findings::usable_cores.
model::Node fingerprint(const Machine& machine, const Options& options, const std::string& node_id, TimePoint now,
                        std::vector<std::int64_t>* usable_cores = nullptr);

/// The node's persistent identity, made on first use: <data_dir>/node/id and secret (0600).
struct NodeIdentity {
  std::string id;
  std::string secret;
};
NodeIdentity open_identity(const std::string& data_dir, IdSource& ids);

}  // namespace underway::node
