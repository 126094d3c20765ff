#pragma once
/// @file
/// How what Slurm says by its own programs comes to the server: slurmctld starts them with hardly any environment, as
/// SlurmUser, and forgets them.

#include <functional>
#include <string>

#include "base/clock.hpp"
#include "model/elastic/slurm_asks.hpp"
#include "slurm/elastic/resume_file.hpp"

namespace underway::cli {

/// Only nodes that are to come are told, and only jobs that wait for some.
model::SlurmAsk ask_of(const slurm::ResumeRequest& request);

/// The directory of the task that runs a slurmctld whose configuration is at `slurm_conf`, as templates put it below
/// `local`: "/…/alloc/ID/slurmctld". Empty: it lies elsewhere.
std::string task_of_configuration(const std::string& slurm_conf);

/// When, and how it is waited; given, so that it can be tried without waiting.
struct Waiting {
  std::function<TimePoint()> now;
  std::function<void(Duration)> pause;
};

/// Tries until somebody answers, once a second, for `patience` at most: a server that is started again is there within
/// seconds. `attempt` is given what is left of it. What the server refuses is not tried again. Throws what the newest
/// attempt did.
model::SlurmAnswer deliver(const std::function<model::SlurmAnswer(Duration left)>& attempt, Duration patience,
                           const Waiting& waiting);

}  // namespace underway::cli
