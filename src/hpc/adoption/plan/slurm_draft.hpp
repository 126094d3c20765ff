#pragma once
/// @file
/// What the draft of Slurm's capsule owes to the site's configuration: the directories that its daemons write to, and
/// what is asked before its controller starts.

#include <string>
#include <vector>

#include "adoption/draft/capsule_draft.hpp"
#include "inspection/site.hpp"

namespace underway::adoption {

/// `program` behind a shell that makes the directories that are not there: logs and /run are empty in a new capsule.
std::vector<std::string> with_directories(const std::vector<std::string>& directories, const std::string& owner,
                                          const std::vector<std::string>& program);

/// Changes the draft of Slurm's capsule, and no other. `server` is the address that the old server will have.
void fit_to_site(CapsuleDraft& capsule, const inspection::Site& site, const std::string& server);

/// Where a slurmctld keeps its state when slurm.conf does not say (slurm.conf(5), StateSaveLocation).
std::string state_directory(const inspection::SlurmSite& slurm);

}  // namespace underway::adoption
