#pragma once
/// @file
/// How the nodes of a pool that grows and shrinks become known to Slurm, and what stands in slurm.conf for it. However
/// they join, a node is made while its job is still pending and appears as one that is idle: a job that Slurm itself
/// gave powered-down nodes to is started by a sweep that comes every 30 s (PERIODIC_TIMEOUT, slurmctld/controller.c of
/// 20.11 to 24.11).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/version.hpp"

namespace underway::slurm {

enum class JoinMode : std::uint8_t {
  dynamic,  ///< `slurmd -Z` makes the node, and it is deleted when it goes
  cloud,    ///< a line with State=CLOUD for each node there may be; those that are not there are down
  fixed,    ///< lines of nodes that are always there
};
const char* to_string(JoinMode mode);

/// What the site has that decides it.
struct JoinConditions {
  Version slurmctld;
  std::string topology_plugin;  ///< TopologyPlugin of slurm.conf; empty: Slurm's default, which is none
  std::string select_type;      ///< SelectType; empty: Slurm's default, which is cons_tres from 23.02 on
  bool elastic = true;          ///< whether the pool's nodes come and go
};
struct JoinChoice {
  JoinMode mode = JoinMode::fixed;
  std::string why;  ///< as a sentence
};
/// Dynamic nodes came with 22.05, need select/cons_tres, and have no place in a topology before 25.05; later releases
/// may refuse jobs that are to wait for them, as 24.11 does. Source: slurm.schedmd.com/dynamic_nodes.html; release
/// notes of 22.05 and 25.05; integration.slurm_pools.
JoinChoice choose_join(const JoinConditions& conditions);

/// A pool as Slurm is to know it.
struct ElasticPool {
  std::string name;                   ///< of its partition; and the feature by which its nodes are known
  std::vector<std::string> hosts;     ///< all that there may be, by Slurm's names
  std::int64_t cpus = 1;              ///< of a node
  std::int64_t sockets = 1;           ///< that they are on
  std::int64_t threads_per_core = 1;  ///< 2: `cpus` are hardware threads
  std::int64_t memory_mb = 0;         ///< MiB, that a node surely has (RealMemory); 0: not declared
  std::vector<std::string> features;  ///< besides its name
  std::string gres;                   ///< "gpu:a100:4"; empty: none
};
/// A switch of topology.conf with its nodes; switches stand in the order of the tree's leaves.
struct Leaf {
  std::string name;
  std::vector<std::string> hosts;
};

/// Where slurm.conf has these programs, by the names of the verbs: resume, suspend, resume-fail. A task beside
/// slurmctld puts them there (docs/how-to/let-slurm-ask.md).
inline constexpr const char* kAskDirectory = "/run/underway/slurm";

/// Slurm's own programs, for a site that wants Slurm to ask for nodes (slurm.conf(5), ResumeProgram).
struct AskPrograms {
  /// Absolute paths without words: slurmctld takes all of a value for the name of a file, which has to be executable
  /// for SlurmUser, and writable for its owner alone, when slurmctld starts (slurmctld/power_save.c, _valid_prog).
  std::string resume, suspend, resume_fail;
  std::int64_t resume_timeout = 600;  ///< seconds; Slurm's own 60 are too few for most machines that have to boot
  std::int64_t suspend_timeout = 30;  ///< seconds
  std::int64_t idle_before = 600;     ///< seconds that a node is idle before it is given back
  std::vector<std::string> left_alone = {};  ///< nodes that power saving must not touch (SuspendExcNodes)
};

/// The values of slurm.conf to which others are added; what the site has set stays.
struct SiteParameters {
  std::string slurmctld, communication, private_data;  ///< SlurmctldParameters, CommunicationParameters, PrivateData
  std::int64_t other_nodes = 0;                        ///< nodes that slurm.conf has besides
};

struct JoinConfiguration {
  std::vector<std::string> options;   ///< "MaxNodeCount=1024": of the whole of slurm.conf
  std::vector<std::string> lines;     ///< NodeName, NodeSet and PartitionName, in the order in which they have to stand
  std::vector<std::string> problems;  ///< why it cannot work, as sentences; empty: it can
  /// All of it, a line each.
  std::string text() const;
};
/// All pools join in the same way, as MaxNodeCount, TreeWidth and the parameters are those of the cluster. `leaves` is
/// empty without a topology. Nodes stand in the order of the leaves and have the same weight, so that Slurm packs a job
/// onto as few switches as it can; a host that is on no leaf is a problem.
JoinConfiguration render_join(JoinMode mode, const Version& slurmctld, const std::vector<ElasticPool>& pools,
                              const std::vector<Leaf>& leaves, const SiteParameters& site,
                              const std::optional<AskPrograms>& asks = {});

/// The words with which slurmd is to run on a node of the pool, without the program's name. A node says that it has
/// just been booted (-b), whatever the machine's clock has since then: clones of a snapshot, and hosts that share a
/// kernel, have been up for long, and Slurm would wait for another boot.
std::vector<std::string> slurmd_words(JoinMode mode, const ElasticPool& pool, const std::string& host);

}  // namespace underway::slurm
