// Backups of a capsule's overlay, and whether what was saved is worth something.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/capsule/local_saver.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

constexpr std::int64_t kCheckedPart = 5;  // percent

int back_up(const Arguments& arguments) {
  const auto name = capsule_of(arguments);
  const wire::MakeBackup request{.where = where_of(arguments),
                                 .keep = retention_of(arguments),
                                 .check_percent = arguments.has("check") ? kCheckedPart : 0};
  const auto made =
      arguments.has("local")
          ? LocalSaver(arguments)->backup(
                {.capsule = name, .where = request.where, .keep = request.keep, .check_percent = request.check_percent})
          : make_client(arguments).make_capsule_backup(name.name, request);
  print(made.backup.id.substr(0, 8) + "\n");
  say(fmt::format("read {}, of which {} were new, in {}", human_bytes(static_cast<std::uint64_t>(made.read_bytes)),
                  human_bytes(static_cast<std::uint64_t>(made.added_bytes)), human_duration(made.took)));
  if (arguments.has("check")) say("the repository is sound");
  return kDone;
}

int list_capsule_backups(const Arguments& arguments) {
  const auto name = capsule_of(arguments);
  const auto where = where_of(arguments);
  const auto backups =
      (arguments.has("local") ? LocalSaver(arguments)->backups({.capsule = name, .where = where, .keep = {}})
                              : make_client(arguments).capsule_backups(name.name, {.where = where, .keep = {}}))
          .backups;
  if (arguments.has("json")) {
    boost::json::array array;
    for (const auto& backup : backups) array.push_back(json::to_value(backup));
    print_json(array);
    return kDone;
  }
  Table table({"ID", "OF", "AGE", "IMAGE"});
  for (const auto& backup : backups)
    table.add(
        {backup.id.substr(0, 8), format_time(from_unix_nanos(backup.at)), ago(backup.at), backup.image.substr(0, 19)});
  if (table.empty())
    say("no backups");
  else
    table.print();
  return kDone;
}

void tell(const model::Drilled& told, bool backup) {
  print(fmt::format("{} {} of {}\n", backup ? "backup" : "snapshot", backup ? told.of.substr(0, 8) : told.of,
                    format_time(from_unix_nanos(told.at))));
  print(fmt::format("restored in {}, tried in {}\n", human_duration(told.drill.restored),
                    human_duration(told.drill.checked)));
  if (told.rehearsal) {
    for (const auto& finding : told.rehearsal->findings)
      print(fmt::format("{}: {} in {}\n", finding.name, finding.passed ? "passed" : "failed",
                        human_duration(finding.took)));
  }
  for (const auto& problem : told.drill.problems) print(fmt::format("problem: {}\n", problem));
}

int drill(const Arguments& arguments) {
  const auto name = capsule_of(arguments);
  const auto at = arguments.find("at");
  wire::MakeDrill request;
  request.where = where_of(arguments);
  request.backup = arguments.has("backup") || !request.where.repository.empty();
  request.snapshot = arguments.get("snapshot");
  request.at = at ? unix_nanos(time_of(*at)) : 0;
  request.only_compare = arguments.has("only-compare");
  request.scripts = scripts_of({arguments.positional().begin() + 1, arguments.positional().end()});
  if (request.only_compare && !request.scripts.empty())
    throw Error(Code::invalid, "nothing is started with -only-compare, so that no script can be run");
  const auto told = arguments.has("local") ? LocalSaver(arguments)->drill({.capsule = name,
                                                                           .backup = request.backup,
                                                                           .where = request.where,
                                                                           .snapshot = request.snapshot,
                                                                           .at = request.at,
                                                                           .start = !request.only_compare,
                                                                           .scripts = request.scripts})
                                           : make_client(arguments).drill_capsule(name.name, request);
  tell(told, request.backup);
  return told.passed() ? kDone : kFailed;
}

}  // namespace

const Command& capsule_backup_command() {
  static const Command command{
      .name = "capsule backup",
      .arguments = "NAME",
      .summary = "Backs a capsule's overlay up, encrypted, while it runs.",
      .details =
          "The node that has the overlay takes a snapshot, copies it into a restic repository, and removes the "
          "snapshot. "
          "The repository is made if there is none. Whoever loses the password has lost the backups: keep a copy "
          "elsewhere.",
      .examples = {"underway capsule backup slurm-services",
                   "underway capsule backup slurm-services -repository sftp:backup@nas:/srv/capsules -password-file "
                   "/etc/underway/backup.password -keep-daily 30"},
      .flags = with_backup_flags(
          with_keep_flags({{"check", "", "Reads a part of the repository afterwards, and compares it."}})),
      .least = 1,
      .most = 1,
      .run = back_up};
  return command;
}

const Command& capsule_backups_command() {
  static const Command command{
      .name = "capsule backups",
      .arguments = "NAME",
      .summary = "Lists the backups of a capsule.",
      .details = "The node that has the overlay looks into the repository.",
      .examples = {"underway capsule backups slurm-services",
                   "underway capsule backups slurm-services -local -repository /srv/backup -password-file "
                   "/etc/underway/backup.password"},
      .flags = with_backup_flags({{"json", "", "As JSON."}}),
      .least = 1,
      .most = 1,
      .run = list_capsule_backups};
  return command;
}

const Command& capsule_drill_command() {
  static const Command command{
      .name = "capsule drill",
      .arguments = "NAME [SCRIPT…]",
      .summary = "Tries whether a snapshot or backup is worth something.",
      .details =
          "Brings it back aside and compares its digest; then a clone of the capsule starts from it, in networks that "
          "lead nowhere, and runs the capsule's step `check` and your SCRIPTs. All of it goes away again, and the "
          "capsule runs on meanwhile. The exit code is 1 when something is wrong.",
      .examples = {"underway capsule drill slurm-services", "underway capsule drill slurm-services -backup -at 24h",
                   "underway capsule drill slurm-services ./sacct-of-last-week"},
      .flags = with_backup_flags(
          {{"backup", "", "A backup is tried, from where the job's `backup` block says; else a snapshot."},
           {"snapshot", "ID", "This snapshot."},
           {"at", "TIME", "As it was then: 2026-11-21T23:00:00Z, or how long ago: 3h."},
           {"only-compare", "", "Starts nothing: digests are compared, and that is all."}}),
      .least = 1,
      .most = 33,
      .run = drill};
  return command;
}

}  // namespace underway::cli
