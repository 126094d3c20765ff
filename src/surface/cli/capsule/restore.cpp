// Going back: to a snapshot, to a backup, to the last state of another image.
#include "base/error.hpp"
#include "cli/capsule/follow_capsule.hpp"
#include "cli/capsule/local_saver.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

void tell_way_back(const model::Snapshot& before) {
  say(fmt::format("what it was before is the snapshot {}", before.id));
}

saving::FindRequest wanted_of(const Arguments& arguments) {
  const auto id = arguments.find("snapshot"), at = arguments.find("at");
  if (id.has_value() == at.has_value()) throw Error(Code::invalid, "say either -snapshot or -at");
  saving::FindRequest wanted{
      .capsule = capsule_of(arguments), .where = where_of(arguments), .snapshot = id.value_or("")};
  wanted.backup = arguments.has("backup") || !wanted.where.repository.empty();
  if (at) wanted.at = unix_nanos(time_of(*at));
  return wanted;
}

/// Tells each phase until it is over.
model::CapsuleUpgrade watch_restore(sdk::Client& client, const std::string& name, const std::string& id) {
  const OnInterrupt interrupted(fmt::format("It goes on without being watched: underway capsule status {}", name));
  std::optional<model::UpgradePhase> told;
  const auto capsule = follow_capsule(client, name, [&](const model::Capsule& now) {
    const bool ours = now.upgrade && now.upgrade->id == id;
    if (ours && told != now.upgrade->phase) {
      told = now.upgrade->phase;
      say(fmt::format("    {}", describe::spell(*told)));
    }
    return ours;
  });
  if (capsule.last_upgrade && capsule.last_upgrade->id == id) return *capsule.last_upgrade;
  throw overtaken("restore", name);
}

int restore_by_server(const Arguments& arguments) {
  const auto wanted = wanted_of(arguments);
  const auto& name = wanted.capsule.name;
  auto client = make_client(arguments);
  const auto begun = client.restore_capsule(
      name, {.snapshot = wanted.snapshot, .at = wanted.at, .backup = wanted.backup, .where = wanted.where});
  say(fmt::format("==> Restoring capsule \"{}\" to {}, the snapshot {} ({})", name,
                  format_time(from_unix_nanos(begun.snapshot.at)), begun.snapshot.id, begun.snapshot.reason));
  const auto end = watch_restore(client, name, begun.upgrade_id);
  if (end.error.empty()) {
    print(fmt::format("restored the snapshot {}\n", begun.snapshot.id));
    say(fmt::format("==> It was away for {}; what it was before is the snapshot {}", human_duration(end.gap),
                    end.snapshot));
    return kDone;
  }
  say(fmt::format("==> Capsule \"{}\" {}: {}", name, end.rolled_back ? "is what it was before" : "was not restored",
                  end.error));
  return kFailed;
}

int restore_capsule(const Arguments& arguments) {
  if (!arguments.has("local")) return restore_by_server(arguments);
  const LocalSaver saver(arguments);
  const auto wanted = wanted_of(arguments);
  const auto found = saver->find(wanted);
  const auto before = saver->restore(wanted.capsule, found.id);
  print(fmt::format("restored the snapshot {} ({})\n", found.id, found.reason));
  tell_way_back(before);
  return kDone;
}

/// Image and overlay together, as they were before the last upgrade.
int roll_back_by_server(const Arguments& arguments) {
  const auto& name = arguments.positional().front();
  auto client = make_client(arguments);
  wire::UpgradeCapsule request;
  request.revert = true;
  const auto end = watch_restore(client, name, client.upgrade_capsule(name, request));
  if (end.error.empty()) {
    print(fmt::format("capsule \"{}\" runs {} again, with the snapshot {}\n", name, end.to_image, end.data));
    say(fmt::format("==> It was away for {}; what it was before is the snapshot {}", human_duration(end.gap),
                    end.snapshot));
    return kDone;
  }
  say(fmt::format("==> Capsule \"{}\" {}: {}", name, end.rolled_back ? "is what it was before" : "was left as it is",
                  end.error));
  return kFailed;
}

int roll_back(const Arguments& arguments) {
  if (!arguments.has("local")) return roll_back_by_server(arguments);
  const LocalSaver saver(arguments);
  auto snapshot_store = saver->snapshot_store(capsule_of(arguments));
  const auto done = snapshot_store.roll_back();
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
          "What is to be restored is brought to the capsule's node while it runs. Then it stops, what it was is kept "
          "as a "
          "snapshot, the other takes its place in one step, and it starts; when its check does not pass it becomes "
          "what "
          "it was before. The restore is the server's: it goes on when this command is interrupted, and when the "
          "server "
          "is restarted. -at takes the newest that is not younger: a backup with -backup or -repository, else a "
          "snapshot.\n"
          "With -local the capsule must be stopped, and stays so.",
      .examples = {"underway capsule restore slurm-services -snapshot 20261121-234103",
                   "underway capsule restore slurm-services -at 3h",
                   "underway capsule restore slurm-services -at 2026-11-01T00:00:00Z -repository /srv/backup "
                   "-password-file /etc/underway/backup.password"},
      .flags = with_backup_flags({{"snapshot", "ID", "This snapshot."},
                                  {"backup", "", "From a backup, where the job's `backup` block says."},
                                  {"at", "TIME", "As it was then: 2026-11-21T23:00:00Z, or how long ago: 3h."}}),
      .least = 1,
      .most = 1,
      .run = restore_capsule};
  return command;
}

const Command& capsule_rollback_command() {
  static const Command command{
      .name = "capsule rollback",
      .arguments = "NAME",
      .summary = "Takes the last upgrade of a capsule back: image and overlay together.",
      .details =
          "For an upgrade that went wrong: a database that a new version has migrated is of no use to the old one. The "
          "same as `capsule upgrade -revert`. What was written since the upgrade is kept as a snapshot.\n"
          "With -local the capsule must be stopped; its overlay becomes what it was when it last ran another image. "
          "Revert the job to the image that is printed before you start it again.",
      .examples = {"underway capsule rollback slurm-services"},
      .flags = with_capsule_flags({}),
      .least = 1,
      .most = 1,
      .run = roll_back};
  return command;
}

}  // namespace underway::cli
