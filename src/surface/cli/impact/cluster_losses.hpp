#pragma once
/// @file
/// What goes with a cluster, or with a part of it: Slurm jobs that run, what capsules and hosts wrote, secrets.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/impact/loss.hpp"
#include "sdk/client.hpp"

namespace underway::cli {

/// What is known of a cluster when it is asked what would be lost.
struct ClusterFacts {
  std::map<std::string, std::vector<std::string>> slurm_jobs;  ///< ids that run, by the name of their node
  std::vector<model::Capsule> capsules;
  std::map<std::string, model::CapsuleSaving> saved;  ///< by the capsule's name
};

/// Of those parts that the server can tell and Slurm answers about.
ClusterFacts ask_facts(sdk::Client& client, const std::string& cluster);

/// What goes with all of it, and with its hosts what is on their disks. Pure, as the others below.
std::vector<std::string> losses_of_removal(const ClusterFacts& facts, const std::string& cluster,
                                           const std::vector<std::string>& hosts, TimePoint now);

/// What goes with a node that is forgotten: of Slurm jobs and capsules nobody hears any more.
std::vector<std::string> losses_of_node(const ClusterFacts& facts, const model::Node& node, TimePoint now);

/// What goes with the state directory of a server that has these secrets.
std::vector<std::string> losses_of_state(const std::vector<std::string>& secrets);

/// What goes with what `plan` takes away: hosts with what they hold, and jobs whose capsule has written something.
std::vector<std::string> losses_of_change(const ClusterFacts& facts, const wire::ClusterPlan& plan,
                                          const std::string& cluster, TimePoint now);

/// Each job that the plan replaces on every node at once although others depend on it, in words; `wanted`: the jobs as
/// they are declared.
std::vector<std::string> changes_of_all_at_once(const wire::ClusterPlan& plan,
                                                const std::vector<wire::JobWithSource>& wanted);

/// What `apply` and `up` ask before they carry out a plan, beside the plan itself. As ask_before().
ExitCode ask_before_change(sdk::Client& client, const wire::ClusterPlan& plan, const wire::ClusterBody& body,
                           const Arguments& arguments);

}  // namespace underway::cli
