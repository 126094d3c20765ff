#include "cli/current_time.hpp"
#include "inspection/survey_host.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_survey_host(const Arguments& arguments) {
  inspection::HostPlace place;
  place.root = arguments.find("root");
  place.process = static_cast<int>(arguments.number("pid").value_or(0));
  place.samples = static_cast<int>(arguments.number("samples").value_or(20));
  if (place.root && place.process != 0) throw Error(Code::invalid, "-root and -pid exclude each other");
  const auto found = inspection::survey_host(place, current_time());
  print_json(json::to_value(found, json::Encoding::compact));
  for (const auto& gap : found.gaps) say(fmt::format("warning: {}", gap));
  say(fmt::format("{}: {} programs, {} timed jobs, {} exports", found.host, found.programs.size(),
                  found.timed_jobs.size(), found.exports.size()));
  return kDone;
}

}  // namespace

const Command& survey_host_command() {
  static const Command command{
      .name = "survey host",
      .summary = "Writes what a machine says of itself: who listens, and who needs whom.",
      .details =
          "Looks at the sockets, processes, units, packages and configuration of this machine, and writes JSON for "
          "`survey report` and `survey adopt`. It finds what no packet shows: munge and the database. Nothing is "
          "changed, and no secret is read. Run it as root, or the processes of others are missing.",
      .examples = {"underway survey host > sms.json", "underway survey host -root /mnt/backup > sms.json"},
      .flags = {number_flag("pid", "PID", "The host that this process is in: hosts may share a kernel.", {1, 1 << 22}),
                {"root", "DIR", "Only the files below this directory: a backup, a machine that is off."},
                number_flag("samples", "N", "How often connections are looked at, one behind the other (20).",
                            {1, 100'000})},
      .talks_to_server = false,
      .run = run_survey_host};
  return command;
}

}  // namespace underway::cli
