// Going back: to a snapshot, to a backup, to the last state of another image.
#include "base/error.hpp"
#include "cli/capsule_shelf.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

void tell_way_back(const overlay::Snapshot& before) {
  say(fmt::format("what it was before is the snapshot {}", before.id));
}

int restore_backup(const Arguments& arguments, overlay::Shelf& shelf, TimePoint at) {
  const auto repository = repository_of(arguments);
  const auto backup = overlay::backup_at(overlay::list_backups(repository, capsule_of(arguments)), at);
  const auto before = shelf.restore(repository, backup);
  print(fmt::format("restored the backup of {}\n", format_time(from_unix_nanos(backup.at))));
  tell_way_back(before);
  return kDone;
}

int restore(const Arguments& arguments) {
  auto shelf = shelf_of(arguments);
  const auto id = arguments.find("snapshot"), at = arguments.find("at");
  if (id.has_value() == at.has_value()) throw Error(Code::invalid, "say either -snapshot or -at");
  if (at && arguments.has("repository")) return restore_backup(arguments, shelf, time_of(*at));
  const auto snapshot = id ? *id : overlay::snapshot_at(shelf.list(), time_of(*at)).id;
  const auto before = shelf.restore(snapshot);
  print(fmt::format("restored the snapshot {}\n", snapshot));
  tell_way_back(before);
  return kDone;
}

int roll_back(const Arguments& arguments) {
  const auto done = shelf_of(arguments).roll_back();
  print(fmt::format("restored the snapshot {}, of image {}\n", done.target.id, done.target.image));
  tell_way_back(done.before);
  say("revert the job to that image before you start it: `underway job revert`");
  return kDone;
}

}  // namespace

const Command& capsule_restore_command() {
  static const Command command{
      .name = "capsule restore",
      .arguments = "NAME",
      .summary = "Makes a capsule's overlay what it was: from a snapshot or a backup.",
      .details =
          "The capsule must be stopped. Whole or not at all: what comes back is verified, and then takes the overlay's "
          "place in one step. What was there before is kept as a snapshot. Run it as root on the node that holds the "
          "overlay. -at takes the newest that is not younger: a backup if -repository is given, else a snapshot.",
      .examples = {"underway capsule restore slurm-services -snapshot 20261121-234103",
                   "underway capsule restore slurm-services -at 3h",
                   "underway capsule restore slurm-services -at 2026-11-01T00:00:00Z -repository /srv/backup "
                   "-password-file /etc/underway/backup.password"},
      .flags = with_backup_flags({{"snapshot", "ID", "This snapshot."},
                                  {"at", "TIME", "As it was then: 2026-11-21T23:00:00Z, or how long ago: 3h."}}),
      .least = 1,
      .most = 1,
      .talks_to_server = false,
      .run = restore};
  return command;
}

const Command& capsule_rollback_command() {
  static const Command command{
      .name = "capsule rollback",
      .arguments = "NAME",
      .summary = "Makes a capsule's overlay what it was when it last ran another image.",
      .details =
          "For an upgrade that went wrong: a database that a new version has migrated is of no use to the old one. The "
          "capsule must be stopped. Revert the job to the image that is printed before you start it again.",
      .examples = {"underway capsule rollback slurm-services"},
      .flags = with_capsule_flags({}),
      .least = 1,
      .most = 1,
      .talks_to_server = false,
      .run = roll_back};
  return command;
}

}  // namespace underway::cli
