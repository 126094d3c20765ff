#pragma once
/// @file
/// What Slurm says by its own programs (ResumeProgram, SuspendProgram, ResumeFailProgram) of the nodes of pools that it
/// asks for itself (PoolElastic::asked_by), and what is made of it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::model {

/// A Slurm job that waits for nodes.
struct AskingJob {
  std::int64_t id = 0;             ///< Slurm's number
  std::vector<std::string> nodes;  ///< those of its nodes that are to come
};
struct SlurmAsk {
  std::vector<std::string> nodes;  ///< by Slurm's names, which are those of hosts
  std::vector<AskingJob> jobs;     ///< of a resume: who waits for them; empty: Slurm did not say
};
/// Most nodes of one ask, and most that all its jobs together may name. Of a pool there are 10,000 at most.
inline constexpr std::size_t kMostNodesAsked = 100'000, kMostNodesOfAskingJobs = 1'000'000;

struct SlurmAnswer {
  std::vector<std::string> asked_for;   ///< hosts that are to be there from now on, or were already
  std::vector<std::string> given_back;  ///< hosts that are to go, or have gone already
  std::vector<std::string> left_alone;  ///< hosts that Slurm has no say in: of other pools, or always there
};

/// Everything that is wrong with it as such: too much, nothing, or jobs without a number. Empty: it is valid.
std::vector<std::string> problems(const SlurmAsk& ask);

const describe::Structure& description(describe::Tag<AskingJob>);
const describe::Structure& description(describe::Tag<SlurmAsk>);
const describe::Structure& description(describe::Tag<SlurmAnswer>);

}  // namespace underway::model
