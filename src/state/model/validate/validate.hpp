#pragma once
/// @file
/// The limits of a job specification that need no knowledge of the cluster. Where a job may run, whether a driver
/// exists and whether ports are free is the scheduler's to say.

#include "model/job/job.hpp"

#include <functional>

namespace underway::model {

struct Problem {
  std::string path;     ///< "group 'web' task 'api'"; empty: the job itself
  std::string message;  ///< what is wrong, with the value
  /// "group 'web' task 'api': driver is missing"
  std::string text() const;
  bool operator==(const Problem&) const = default;
};

struct ValidateOptions {
  std::int64_t max_count = 50'000;  ///< sum of the groups' counts
  std::int64_t max_priority = 100;
  /// Looks at the operand's form (regular expressions, versions, …) and returns what is wrong with it, or "". The
  /// operators' names are checked here; the scheduler, which knows what they mean, supplies the rest.
  std::function<std::string(const Constraint&)> check_constraint;
  /// What the task's driver says to its config, each beginning with the key: "config.ulimits: is not known". The
  /// drivers supply it.
  std::function<std::vector<std::string>(const Task&)> check_config;
};

/// All problems at once, in the order of the file; empty when the job is valid. Expects a canonicalized job.
std::vector<Problem> validate(const Job& job, const ValidateOptions& options = {});

/// The same of the words with which others than jobs say where their allocations may be.
std::vector<Problem> validate_placement(const std::vector<Constraint>& constraints,
                                        const std::vector<Affinity>& affinities, const std::vector<Spread>& spreads);

/// Operators of constraints, as in Nomad.
const std::vector<std::string>& constraint_operators();
/// Signals that `kill_signal` and `change_signal` may name, with their numbers on this platform.
std::optional<int> signal_number(std::string_view name);

}  // namespace underway::model
