#pragma once
/// @file
/// What the survey's commands read: traffic, surveys of hosts, and overrides, from files.

#include "cli/command.hpp"
#include "survey/division.hpp"

namespace underway::cli {

/// The flags that say what is surveyed: -host, -overrides.
std::vector<Flag> with_survey_flags(std::vector<Flag> flags);

struct SurveyInputs {
  survey::Traffic traffic;
  std::vector<survey::HostSurvey> hosts;
  survey::Overrides overrides;
};
/// From the positional arguments (traffic) and those flags. Throws not_found, invalid.
SurveyInputs survey_inputs_of(const Arguments& arguments);

/// Of these inputs, with this machine's services(5).
survey::Division division_of(const SurveyInputs& inputs);

}  // namespace underway::cli
