// Snapshots of a capsule's overlay.
#include "base/json.hpp"
#include "cli/capsule_shelf.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int take(const Arguments& arguments) {
  auto shelf = shelf_of(arguments);
  const auto snapshot = shelf.take(arguments.get("reason", "by hand"), retention_of(arguments));
  print(snapshot.id + "\n");
  say(fmt::format("writers waited {}", human_duration(snapshot.frozen)));
  return kDone;
}

int list(const Arguments& arguments) {
  const auto snapshots = shelf_of(arguments).list();
  if (arguments.has("json")) {
    boost::json::array array;
    for (const auto& snapshot : snapshots) array.push_back(json::to_value(snapshot));
    print_json(array);
    return kDone;
  }
  Table table({"ID", "TAKEN", "REASON", "HOW", "WRITERS WAITED", "IMAGE"});
  for (const auto& snapshot : snapshots)
    table.add({snapshot.id, ago(snapshot.at), snapshot.reason, std::string(describe::spell(snapshot.method)),
               human_duration(snapshot.frozen), snapshot.image.substr(0, 19)});
  if (table.empty())
    say("no snapshots");
  else
    table.print();
  return kDone;
}

}  // namespace

const Command& capsule_snapshot_command() {
  static const Command command{
      .name = "capsule snapshot",
      .arguments = "NAME",
      .summary = "Takes a snapshot of a capsule's overlay while it runs.",
      .details =
          "Writers wait for a moment; how long is printed. Run it as root on the node that holds the overlay. With "
          "a -keep flag those that none of the -keep flags wants are removed.",
      .examples = {"underway capsule snapshot slurm-services -keep-last 5 -keep-daily 7"},
      .flags = with_capsule_flags({{"reason", "TEXT", "What it is taken for."},
                                   {"keep-last", "N", "Keep the newest."},
                                   {"keep-hourly", "N", "Keep the newest of each hour."},
                                   {"keep-daily", "N", "Keep the newest of each day."},
                                   {"keep-weekly", "N", "Keep the newest of each week."}}),
      .least = 1,
      .most = 1,
      .talks_to_server = false,
      .run = take};
  return command;
}

const Command& capsule_snapshots_command() {
  static const Command command{.name = "capsule snapshots",
                               .arguments = "NAME",
                               .summary = "Lists the snapshots of a capsule's overlay.",
                               .details = "Run it as root on the node that holds the overlay.",
                               .examples = {"underway capsule snapshots slurm-services"},
                               .flags = with_capsule_flags({{"json", "", "As JSON."}}),
                               .least = 1,
                               .most = 1,
                               .talks_to_server = false,
                               .run = list};
  return command;
}

}  // namespace underway::cli
