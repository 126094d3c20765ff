#include "cli/survey_inputs.hpp"

#include "base/error.hpp"
#include "base/json.hpp"
#include "cli/context.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

constexpr std::size_t kMaxJson = 1U << 30;

survey::Traffic read_traffic(const std::vector<std::string>& files) {
  if (files.empty()) return {};
  if (files.size() > 1)
    throw Error(Code::invalid, "more than one file of traffic was given")
        .advise("`underway survey read` makes one of them");
  try {
    return json::decode_text<survey::Traffic>(os::read_file(files[0], kMaxJson), "Traffic");
  } catch (Error& e) {
    e.while_doing(fmt::format("reading the traffic in '{}'", files[0]));
    throw;
  }
}

}  // namespace

std::vector<Flag> with_survey_flags(std::vector<Flag> flags) {
  flags.push_back(
      {"host", "FILE", "A survey of the host, as `survey host` writes it; several are looks at one machine.", true});
  flags.push_back({"overrides", "FILE", "What you know better: services, doors, verdicts."});
  return flags;
}

SurveyInputs survey_inputs_of(const Arguments& arguments) {
  SurveyInputs inputs;
  inputs.traffic = read_traffic(arguments.positional());
  for (const auto& file : arguments.all("host")) {
    try {
      inputs.hosts.push_back(survey::parse_host_survey(read_input(file)));
    } catch (Error& e) {
      e.while_doing(fmt::format("reading the survey of a host in '{}'", file));
      throw;
    }
  }
  if (const auto file = arguments.find("overrides")) {
    hcl::Diagnostics diagnostics;
    inputs.overrides = survey::parse_overrides(read_input(*file), *file, diagnostics);
    if (diagnostics.has_errors()) refuse(diagnostics, fmt::format("the overrides '{}'", *file));
  }
  if (arguments.positional().empty() && inputs.hosts.empty())
    throw Error(Code::invalid, "there is nothing to divide")
        .advise("name a file of traffic, a survey of the host (-host FILE), or better both");
  return inputs;
}

survey::Division division_of(const SurveyInputs& inputs) {
  const survey::ServiceBook book(os::find_file("/etc/services").value_or(""));
  return survey::divide(inputs.traffic, inputs.hosts, inputs.overrides, book);
}

}  // namespace underway::cli
