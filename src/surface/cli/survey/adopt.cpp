// The plan to take an existing management server apart.
#include "adoption/plan/adoption.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/survey/inputs.hpp"
#include "cli/terminal.hpp"
#include "inspection/survey_host.hpp"

namespace underway::cli {
namespace {

int run_survey_adopt(const Arguments& arguments) {
  const auto out = arguments.find("out");
  if (!out) throw Error(Code::invalid, "-out is not given").advise("name a directory that is empty or to be made");
  const std::string root = arguments.get("root", "/");
  SurveyInputs inputs = survey_inputs_of(arguments, false);
  if (inputs.hosts.empty()) {
    inspection::HostPlace place;
    if (arguments.has("root")) place.root = root;
    place.samples = 20;
    inputs.hosts.push_back(inspection::survey_host(place, current_time()));
  }
  const auto host = adoption::merge(inputs.hosts);
  const auto site = inspection::read_site(root);
  adoption::AdoptionOptions options;
  options.nodes = node_networks_of(inputs);
  for (const auto& list : arguments.all("canary"))
    for (const auto& name : split(list, ',')) options.canary.push_back(name);
  const auto adoption = adoption::plan_adoption(host, site, division_of(inputs), options);
  write_directory(*out, adoption.files);
  for (const auto& note : adoption.notes) say("look at: " + note);
  say(fmt::format("the plan is {}/PLAN.md; nothing was changed", *out));
  return kDone;
}

}  // namespace

const Command& survey_adopt_command() {
  static const Command command{
      .name = "survey adopt",
      .arguments = "-out DIR [FILE…]",
      .summary = "Writes the plan to take an existing management server apart, and the files that it needs.",
      .details =
          "Reads the services, configuration, Slurm state and users of this machine (or of a root directory), and what "
          "was "
          "seen on the wire. Writes into an empty directory: PLAN.md, which is followed step by step, with every "
          "command and "
          "the way back from each step; job files and image definitions of the capsules; cluster.hcl; the list of "
          "synchronised "
          "files; and a canary phase with a Slurm controller of its own. It changes nothing, and reads no secret.",
      .examples = {"underway survey adopt -out plan week.journal",
                   "underway survey adopt -root /mnt/sms -host sms.json -canary c1,c2 -out plan week.journal"},
      .flags = with_survey_flags(
          {{"out", "DIR", "Where the plan goes; empty, or to be made."},
           {"root", "DIR", "The root directory of the server, if it is not this machine."},
           {"canary", "NODES", "Slurm nodes for the canary phase, with commas; the first two.", true}}),
      .most = 1000,
      .talks_to_server = false,
      .run = run_survey_adopt};
  return command;
}

}  // namespace underway::cli
