#pragma once
/// @file
/// What the survey's commands read: traffic, surveys of hosts, and overrides, from files.

#include "adoption/division/division.hpp"
#include "cli/command.hpp"

namespace underway::cli {

/// The flags that say what is surveyed: -host, -server, -overrides.
std::vector<Flag> with_survey_flags(std::vector<Flag> flags);

struct SurveyInputs {
  traffic::Traffic traffic;
  std::vector<inspection::HostSurvey> hosts;
  adoption::Overrides overrides;
};
/// From the positional arguments (captures and journals, or one file of `survey read -json`) and those flags.
/// Errors: not_found; invalid, with `something` also when no file is given.
SurveyInputs survey_inputs_of(const Arguments& arguments, bool something = true);

/// Of these inputs, with this machine's services(5).
adoption::Division division_of(const SurveyInputs& inputs);

/// Networks of the nodes: of the overrides, or else those of the traffic.
std::vector<std::string> node_networks_of(const SurveyInputs& inputs);

/// Files by their names below `directory`, which is made, or is there and empty. Throws conflict when it is not empty.
void write_directory(const std::string& directory, const std::map<std::string, std::string>& files);

}  // namespace underway::cli
