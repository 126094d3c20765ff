// The division of a management server: as a table, JSON, a page.
#include "adoption/division/division_html.hpp"
#include "adoption/draft/capsule_draft.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/survey/inputs.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

using adoption::Division;
using adoption::Service;

std::string coloured_verdict(const Service& service) {
  const std::string text = service.verdict == adoption::Verdict::unknown ? "unknown*" : adoption::verdict_text(service);
  return paint(service.verdict == adoption::Verdict::unknown ? Colour::yellow
               : service.critical                            ? Colour::red
                                                             : Colour::dim,
               text);
}

void print_table(const Division& division) {
  Table table({"SERVICE", "VERDICT", "OPENED BY", "NODES", "HOW OFTEN", "BYTES", "RULE", "CONFIDENCE"});
  for (const auto& service : division.services)
    table.add({service.name, coloured_verdict(service), adoption::opened_by_text(service.opened_by),
               std::to_string(service.nodes), adoption::how_often(service.rhythm),
               human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(service.bytes, 0))), service.rule,
               std::string(describe::spell(service.confidence))});
  table.print();
  const bool unknown = std::any_of(division.services.begin(), division.services.end(),
                                   [](const Service& s) { return s.verdict == adoption::Verdict::unknown; });
  if (unknown) print("* unknown is treated as time-critical\n");
}

void print_lines(std::string_view indent, const std::vector<std::string>& lines) {
  const auto width = static_cast<std::size_t>(std::max(terminal_width(), 60)) - 6;
  for (const auto& line : lines) {
    std::string_view lead = "- ";
    for (const auto& part : wrap(line, width)) {
      print(fmt::format("{}{}{}\n", indent, lead, part));
      lead = "  ";
    }
  }
}

void print_why(const Service& service) {
  print(fmt::format("\n{}: {}\n", paint(Colour::bold, service.name), adoption::verdict_text(service)));
  std::vector<std::string> lines = {fmt::format("{} (rule {})", service.reason, service.rule)};
  lines.insert(lines.end(), service.evidence.begin(), service.evidence.end());
  print_lines("  ", lines);
  for (const auto& advice : service.advice) print_lines("  ", {"advice: " + advice});
}

void write_skeleton(const std::string& directory, const Division& division, const SurveyInputs& inputs) {
  const auto host = adoption::merge(inputs.hosts);
  auto drafts = adoption::draft_capsules(division, host);
  const auto place = adoption::place_of(host, node_networks_of(inputs));
  adoption::suggest_addresses(drafts, place, {});
  write_directory(directory, adoption::skeleton(drafts, place));
  for (const auto& without : drafts.without) say("without a draft: " + without);
}

int run_survey_report(const Arguments& arguments) {
  const SurveyInputs inputs = survey_inputs_of(arguments);
  const Division division = division_of(inputs);
  if (const auto file = arguments.find("html")) {
    os::write_file(*file, adoption::division_html(division));
    say(fmt::format("wrote {}", *file));
  }
  if (const auto directory = arguments.find("skeleton")) write_skeleton(*directory, division, inputs);
  if (arguments.has("json")) {
    print_json(json::to_value(division));
  } else {
    print_table(division);
    if (!arguments.has("short")) {
      for (const auto& service : division.services) print_why(service);
      if (!division.left_out.empty()) print("\nLeft out:\n");
      print_lines("  ", division.left_out);
    }
  }
  for (const auto& warning : division.warnings) say(fmt::format("warning: {}", warning));
  return kDone;
}

}  // namespace

const Command& survey_report_command() {
  static const Command command{
      .name = "survey report",
      .arguments = "[FILE…]",
      .summary = "Says which services of a management server are time-critical, and why.",
      .details =
          "Divides the services of the surveyed machine into those that nodes cannot do without and those that can be "
          "switched off for as long as you like. It takes what was seen on the wire, what the host says of itself, and "
          "what you know better. What nothing decides is treated as time-critical. The rules are explained in "
          "docs/explanation/survey.md.",
      .examples = {"underway survey report -host sms.json prov0.journal",
                   "underway survey report -host sms.json -server 10.1.0.1/16 -html division.html mgmt.pcap",
                   "underway survey report -host sms.json -skeleton drafts prov0.journal"},
      .flags =
          with_survey_flags({{"json", "", "As JSON."},
                             {"html", "FILE", "Also writes one page with a picture of the flows."},
                             {"skeleton", "DIR", "Also drafts job files and images for the critical services there."},
                             {"short", "", "The table alone, without evidence and advice."}}),
      .most = 1000,
      .talks_to_server = false,
      .run = run_survey_report};
  return command;
}

}  // namespace underway::cli
