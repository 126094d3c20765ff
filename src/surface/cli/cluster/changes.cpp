#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "impact/entries.hpp"

namespace underway::cli {
namespace {

using model::ChangeEntry;
using model::Impact;

/// Longer spans are also told month by month.
constexpr Duration kMonths = std::chrono::hours(24 * 62);

Colour colour_of(Impact impact) {
  switch (impact) {
    case Impact::none:
      return Colour::green;
    case Impact::brief:
      return Colour::blue;
    case Impact::drain:
      return Colour::yellow;
    case Impact::outage:
      return Colour::red;
  }
  return Colour::bold;
}

void print_entries(const std::vector<ChangeEntry>& entries) {
  Table table({"TIME", "WHO", "CLASS", "CHANGE", "WHY"});
  for (const auto& entry : entries)
    table.add({format_time(from_unix_nanos(entry.at)), entry.who,
               paint(colour_of(entry.impact), describe::spell(entry.impact)), entry.what, entry.why});
  if (!table.empty()) table.print();
}

void print_months(const std::vector<ChangeEntry>& entries) {
  Table table({"MONTH", "CHANGES", "NO-IMPACT", "(BRIEF)", "DRAIN", "OUTAGE"});
  for (const auto& [month, tally] : impact::by_month(entries))
    table.add({month, std::to_string(tally.all()), std::to_string(tally.no_impact()), std::to_string(tally.brief),
               std::to_string(tally.drain), std::to_string(tally.outage)});
  print("\n");
  table.print();
}

int run_changes(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string since = arguments.get("since", "365d");
  const auto entries = client.changes(since);
  const auto tally = impact::tally_of(entries);
  if (arguments.has("json")) {
    boost::json::object months;
    for (const auto& [month, of_month] : impact::by_month(entries)) months[month] = json::to_value(of_month);
    print_json(boost::json::object{
        {"Changes", json::to_value(entries)}, {"Counts", json::to_value(tally)}, {"Months", std::move(months)}});
    return kDone;
  }
  print_entries(entries);
  const bool long_span = !entries.empty() && Duration(entries.back().at - entries.front().at) > kMonths;
  if (long_span) print_months(entries);
  print((entries.empty() ? "" : "\n") + impact::sentence(tally) + "\n");
  return kDone;
}

}  // namespace

const Command& changes_command() {
  static const Command command{
      .name = "changes",
      .summary = "Lists what was changed, by whom, and what those who use the cluster noticed.",
      .details =
          "Each change has a class: `none`, nobody notices; `brief`, a service is away for seconds and its clients ask "
          "again; `drain`, nodes have to be emptied first; `outage`, running work ends, or a service has no way to go "
          "on. The count at the end takes `none` and `brief` together as no-impact: neither needs a maintenance "
          "window. "
          "Over more than two months they are counted by month as well. `plan` and `job plan` say the class of a "
          "change before it is made. The newest 10,000 are kept. Needs the right operator:read.",
      .examples = {"underway changes -since 30d", "underway changes -since 2026-01-01T00:00:00Z -json"},
      .flags = {{"since", "TIME", "From this instant (RFC 3339), or so long ago: 30d, 90m; 365d."},
                {"json", "", "As JSON: the changes, and their counts."}},
      .least = 0,
      .most = 0,
      .run = run_changes};
  return command;
}

}  // namespace underway::cli
