#pragma once
/// @file
/// What an administrator has changed by scontrol: what we declared of nodes is compared with what Slurm says of them,
/// and what differs is adopted or reverted, as the site declared.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "slurm/elastic/members.hpp"

namespace underway::slurm {

/// A node as we told Slurm of it.
struct DeclaredNode {
  std::string name;
  JoinMode mode = JoinMode::dynamic;
  bool present = true;    ///< its machine is there, and its slurmd was told to run
  std::string held = {};  ///< the reason for which we hold it (members.hpp, readiness.hpp); empty: we do not
  std::string address;    ///< empty: none yet
  std::int64_t cpus = 0, memory_mb = 0;  ///< 0: not declared
  std::vector<std::string> features;     ///< all of them
  std::int64_t weight = 1;
};

/// What the site wants done with what others changed.
enum class Foreign : std::uint8_t {
  adopt,   ///< it stays, and is what counts from now on
  revert,  ///< it is put back
};
struct NodeDifference {
  enum class Kind : std::uint8_t {
    unknown,  ///< Slurm does not have a node that should be there
    foreign,  ///< Slurm has a node that nobody declared
    address,
    features,
    weight,
    shape,     ///< processors or memory: only slurm.conf, or slurmd's registration, changes them
    held,      ///< somebody else drained it or set it down
    released,  ///< somebody let in what we hold
  };
  Kind kind = Kind::address;
  std::string node;
  std::string text;      ///< as a sentence, with both values
  bool reverts = false;  ///< `command` puts it back; false: it is adopted, or nothing can be said to Slurm
  Command command;
};
const char* to_string(NodeDifference::Kind kind);

/// By node, in the order of `declared`; nodes that nobody declared last. `what`: what is to be done with a difference
/// of that kind; what is not in it is adopted, but for two kinds: an address that is not the node's makes jobs fail,
/// and a node that we hold may not take jobs, so these are put back unless the site says otherwise. A drain by somebody
/// else is never taken back: whoever gave it knows why. A node that nobody declared is told of, and deleted only when
/// it is dynamic, drained and empty.
std::vector<NodeDifference> compare_nodes(const std::vector<DeclaredNode>& declared,
                                          const std::vector<NodeRecord>& records,
                                          const std::map<NodeDifference::Kind, Foreign>& what = {});

}  // namespace underway::slurm
