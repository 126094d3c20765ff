#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/survey/text.hpp"
#include "cli/terminal.hpp"
#include "traffic/reading.hpp"

namespace underway::cli {
namespace {

int run_survey_read(const Arguments& arguments) {
  traffic::ReadOptions options;
  options.surveyed = arguments.all("server");
  const auto traffic = traffic::read_traffic(arguments.positional(), options);
  if (arguments.has("json")) {
    print_json(json::to_value(traffic));
  } else {
    print_flows(traffic, arguments.has("v"));
    say(survey_summary(traffic));
  }
  for (const auto& problem : traffic.problems) say(paint(Colour::yellow, "warning: " + problem, 2));
  return kDone;
}

}  // namespace

const Command& survey_read_command() {
  static const Command command{
      .name = "survey read",
      .arguments = "FILE…",
      .summary = "Reads capture files and journals and prints who opens what at the management server.",
      .details =
          "Files are pcap, pcapng or journals of `survey capture`; \"-\" is a capture on standard input. Several "
          "files are one survey. A file that is cut off or damaged counts as far as it can be read, with a "
          "warning.\n\n"
          "The management server is found as the machine that most others talk to, unless -server names it.",
      .examples = {"underway survey read mgmt.pcap", "zcat mgmt.pcapng.gz | underway survey read -",
                   "underway survey read -server 10.1.0.1/16 -json prov0.journal mgmt.pcap"},
      .flags = {{"server", "ADDRESS", "The surveyed machine: a MAC or an address, with its prefix if that is known.",
                 true},
                {"v", "", "Traffic between other machines too, and who the clients are."},
                {"json", "", "As JSON."}},
      .least = 1,
      .most = 1000,
      .talks_to_server = false,
      .run = run_survey_read};
  return command;
}

}  // namespace underway::cli
