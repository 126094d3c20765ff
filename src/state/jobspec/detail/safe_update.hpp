#pragma once
/// @file
/// How the jobs of a cluster's directory are rolled out where they do not say it themselves. A job file that is run by
/// itself keeps Nomad's defaults (model/job/policy.hpp).

#include "model/cluster.hpp"
#include "model/job/job.hpp"

namespace underway::jobspec::detail {

/// Fills in what `update` of the job, or of its groups, leaves open, so that a mistake costs one node: a canary first,
/// a tenth of the hosts at a time, and back to the version before with the first one that is not well. A service has no
/// canary: beside the controller that works a second one would share its port and its state; the first that is replaced
/// is the trial. `max_parallel = 0` asks for everywhere at once, and is left alone; so is a job whose tasks are
/// capsules.
void roll_out_safely(model::Job& job, const model::Cluster& cluster);

}  // namespace underway::jobspec::detail
