#include "survey/survey_host.hpp"

#include <charconv>

#include "base/error.hpp"
#include "base/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int number_of(const Arguments& arguments, std::string_view flag, int otherwise, int most) {
  const auto text = arguments.find(flag);
  if (!text) return otherwise;
  int value = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (failure != std::errc{} || *end != '\0' || value < 1 || value > most)
    throw Error(Code::invalid, fmt::format("-{} '{}' is no number between 1 and {}", flag, *text, most));
  return value;
}

int run_survey_host(const Arguments& arguments) {
  survey::HostPlace place;
  place.root = arguments.find("root");
  place.process = number_of(arguments, "pid", 0, 1 << 22);
  place.samples = number_of(arguments, "samples", 20, 100'000);
  if (place.root && place.process != 0) throw Error(Code::invalid, "-root and -pid exclude each other");
  const auto found = survey::survey_host(place, SystemClock().now());
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
      .flags = {{"pid", "PID", "The host that this process is in: hosts may share a kernel."},
                {"root", "DIR", "Only the files below this directory: a backup, a machine that is off."},
                {"samples", "N", "How often connections are looked at, one behind the other (20)."}},
      .talks_to_server = false,
      .run = run_survey_host};
  return command;
}

}  // namespace underway::cli
