#include "cli/survey/inputs.hpp"

#include <fstream>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"
#include "traffic/reading.hpp"

namespace underway::cli {
namespace {

constexpr std::size_t kMaxJson = 1U << 30;

/// Whether the file is what `survey read -json` writes.
bool is_json(const std::string& path) {
  if (path == "-") return false;
  std::string front(16, '\0');
  front.resize(static_cast<std::size_t>(std::ifstream(path, std::ios::binary).read(front.data(), 16).gcount()));
  const auto begin = trim(front);
  return !begin.empty() && begin.front() == '{';
}

traffic::Traffic traffic_of(const Arguments& arguments) {
  const auto& files = arguments.positional();
  if (files.empty()) return {};
  if (files.size() > 1 || !is_json(files[0])) {
    traffic::ReadOptions options;
    options.surveyed = arguments.all("server");
    return traffic::read_traffic(files, options);
  }
  try {
    return json::decode_text<traffic::Traffic>(os::read_file(files[0], kMaxJson), "Traffic");
  } catch (Error& e) {
    e.while_doing(fmt::format("reading the traffic in '{}'", files[0]));
    throw;
  }
}

}  // namespace

std::vector<Flag> with_survey_flags(std::vector<Flag> flags) {
  flags.push_back(
      {"host", "FILE", "A survey of the host, as `survey host` writes it; several are looks at one machine.", true});
  flags.push_back(
      {"server", "ADDRESS", "The surveyed machine in captures: a MAC or an address, with its prefix if known.", true});
  flags.push_back({"overrides", "FILE", "What you know better: services, doors, verdicts."});
  return flags;
}

SurveyInputs survey_inputs_of(const Arguments& arguments, bool something) {
  SurveyInputs inputs;
  inputs.traffic = traffic_of(arguments);
  for (const auto& file : arguments.all("host")) {
    try {
      inputs.hosts.push_back(inspection::parse_host_survey(read_input(file)));
    } catch (Error& e) {
      e.while_doing(fmt::format("reading the survey of a host in '{}'", file));
      throw;
    }
  }
  if (const auto file = arguments.find("overrides")) {
    hcl::Diagnostics diagnostics;
    inputs.overrides = adoption::parse_overrides(read_input(*file), *file, diagnostics);
    if (diagnostics.has_errors()) refuse(diagnostics, fmt::format("the overrides '{}'", *file));
  }
  if (something && arguments.positional().empty() && inputs.hosts.empty())
    throw Error(Code::invalid, "there is nothing to divide")
        .advise("name a file of traffic, a survey of the host (-host FILE), or better both");
  return inputs;
}

std::vector<std::string> node_networks_of(const SurveyInputs& inputs) {
  return inputs.overrides.nodes.empty() ? inputs.traffic.local_networks : inputs.overrides.nodes;
}

void write_directory(const std::string& directory, const std::map<std::string, std::string>& files) {
  if (os::exists(directory) && !os::list_directory(directory).empty())
    throw Error(Code::conflict, fmt::format("'{}' is not empty", directory))
        .advise("name a directory that is, or is to be made");
  for (const auto& [name, text] : files) {
    const std::string path = directory + "/" + name;
    os::make_directories(path.substr(0, path.rfind('/')));
    os::write_file(path, text);
    say(fmt::format("wrote {}", path));
  }
}

adoption::Division division_of(const SurveyInputs& inputs) {
  const adoption::ServiceCatalog catalog(os::find_file("/etc/services").value_or(""));
  return adoption::divide(inputs.traffic, inputs.hosts, inputs.overrides, catalog);
}

}  // namespace underway::cli
