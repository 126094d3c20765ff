// Snapshots of a capsule's overlay.
#include "base/json/json.hpp"
#include "cli/capsule/local_saver.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int take(const Arguments& arguments) {
  const auto name = capsule_of(arguments);
  const wire::TakeSnapshot request{.reason = arguments.get("reason", "by hand"), .keep = retention_of(arguments)};
  const auto snapshot =
      arguments.has("local")
          ? LocalSaver(arguments)->snapshot({.capsule = name, .reason = request.reason, .keep = request.keep})
          : make_client(arguments).take_capsule_snapshot(name.name, request);
  print(snapshot.id + "\n");
  say(fmt::format("writers waited {}", human_duration(snapshot.frozen)));
  return kDone;
}

int list_capsule_snapshots(const Arguments& arguments) {
  const auto name = capsule_of(arguments);
  const auto snapshots = (arguments.has("local") ? LocalSaver(arguments)->snapshots(name)
                                                 : make_client(arguments).capsule_snapshots(name.name))
                             .snapshots;
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
          "Writers wait for a moment; how long is printed. With a -keep flag those that none of the -keep flags wants "
          "are removed.",
      .examples = {"underway capsule snapshot slurm-services -keep-last 5 -keep-daily 7",
                   "underway capsule snapshot slurm-services -local"},
      .flags = with_capsule_flags(with_keep_flags({{"reason", "TEXT", "What it is taken for."}})),
      .least = 1,
      .most = 1,
      .run = take};
  return command;
}

const Command& capsule_snapshots_command() {
  static const Command command{.name = "capsule snapshots",
                               .arguments = "NAME",
                               .summary = "Lists the snapshots of a capsule's overlay.",
                               .details = "They lie on the node that has the overlay, which is asked.",
                               .examples = {"underway capsule snapshots slurm-services"},
                               .flags = with_capsule_flags({{"json", "", "As JSON."}}),
                               .least = 1,
                               .most = 1,
                               .run = list_capsule_snapshots};
  return command;
}

}  // namespace underway::cli
