#pragma once
/// @file
/// The plan's text: what was found, the steps in their order, and what is still open.

#include "adoption/plan/adoption.hpp"
#include "adoption/plan/plan_text.hpp"

namespace underway::adoption {

struct AdoptionFacts {
  const inspection::HostSurvey& host;
  const inspection::Site& site;
  const Division& division;
  Drafts drafts;
  DraftPlace place;
  std::vector<std::string> canary;  ///< Slurm's names
  std::string canary_address;       ///< "10.1.255.250/16"
  std::string new_server_address;   ///< for the server, when Slurm's capsule has its old one
};

/// `underway file add` of a file that capsules must have as the nodes have it.
std::string synchronise_command(const inspection::SyncedFile& file);
std::string write_plan(const AdoptionFacts& facts);
/// The step in which Slurm's controller moves into its capsule.
Step slurm_step(const AdoptionFacts& facts, const CapsuleDraft& capsule);
/// What a person must decide or look at before the first step.
std::vector<std::string> open_questions(const AdoptionFacts& facts);

}  // namespace underway::adoption
