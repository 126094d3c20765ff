#pragma once
/// @file
/// Plans in words and colours: what changes, where, and what cannot be placed.

#include "wire/cluster/cluster.hpp"

namespace underway::cli {

/// The job diff as Nomad prints it, with unified lines for long texts.
std::string diff_text(const model::JobDiff& diff);
std::string diff_text(const model::ObjectDiff& diff, int depth);
/// "~ c1: replace slurmd.slurmd[0]", per allocation; large sets are counted.
/// "Job Warnings:" and what they are; empty when there are none.
std::string job_warnings_text(const std::string& warnings);
std::string touched_text(const std::vector<wire::Touched>& touched);
/// Why groups cannot be placed, in words; empty when all can.
std::string failures_text(const std::map<std::string, model::AllocMetric>& failed);

}  // namespace underway::cli
