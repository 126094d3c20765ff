#pragma once
/// @file
/// How to take an existing management server apart: a plan that a person follows step by step, with every command and
/// the way back from each step, and the files that the plan uses. Pure: nothing on any machine is changed.

#include <map>
#include <string>
#include <vector>

#include "adoption/draft/capsule_draft.hpp"
#include "inspection/site.hpp"

namespace underway::adoption {

struct AdoptionOptions {
  std::vector<std::string> nodes;   ///< networks of the nodes; empty: those of the server's interfaces
  std::vector<std::string> canary;  ///< Slurm nodes of the canary phase; empty: the first two
};

struct Adoption {
  std::map<std::string, std::string> files;  ///< by name; PLAN.md is the one to read
  std::vector<std::string> notes;            ///< what a person must know before the first step
};

Adoption plan_adoption(const inspection::HostSurvey& host, const inspection::Site& site, const Division& division,
                       const AdoptionOptions& options);

/// slurm.conf of the canary's own controller: other ports, other state, no accounting, and only these nodes.
std::string canary_slurm_conf(const inspection::SlurmSite& slurm, const std::vector<std::string>& nodes,
                              const std::string& controller);

}  // namespace underway::adoption
