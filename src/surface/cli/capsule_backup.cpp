// Backups of a capsule's overlay, and whether they are worth something.
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/capsule_shelf.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "os/process.hpp"

namespace underway::cli {
namespace {

int back_up(const Arguments& arguments) {
  const auto repository = repository_of(arguments);
  const auto result = shelf_of(arguments).back_up(repository, retention_of(arguments));
  print(result.backup.id.substr(0, 8) + "\n");
  say(fmt::format("read {}, of which {} were new, in {}", human_bytes(result.read_bytes),
                  human_bytes(result.added_bytes), human_duration(result.took)));
  if (arguments.has("check")) {
    overlay::check_repository(repository, 5);
    say("the repository is sound");
  }
  return kDone;
}

int list(const Arguments& arguments) {
  const auto backups = overlay::list_backups(repository_of(arguments), capsule_of(arguments));
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

std::vector<std::string> run_check(const std::vector<std::string>& command, const std::string& upper) {
  if (command.empty()) return {};
  auto argv = command;
  argv.push_back(upper);
  os::SpawnSpec spec{.argv = std::move(argv)};
  spec.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  const auto output = os::run_program(std::move(spec), std::chrono::minutes{30});
  if (output.status.success()) return {};
  return {fmt::format("the check failed ({}): {}", os::to_string(output.status),
                      trim(output.err.empty() ? output.out : output.err))};
}

int drill(const Arguments& arguments) {
  auto shelf = shelf_of(arguments);
  std::vector<std::string> command(arguments.positional().begin() + 1, arguments.positional().end());
  const auto check = [&](const std::string& upper) { return run_check(command, upper); };
  overlay::Drill result;
  if (arguments.has("repository")) {
    const auto repository = repository_of(arguments);
    const auto at = arguments.find("at");
    const auto backup = overlay::backup_at(overlay::list_backups(repository, capsule_of(arguments)),
                                           at ? time_of(*at) : SystemClock().now());
    result = shelf.drill(repository, backup, check);
  } else {
    result = shelf.drill(check);
  }
  print_drill(result);
  return result.problems.empty() ? kDone : kFailed;
}

}  // namespace

const Command& capsule_backup_command() {
  static const Command command{
      .name = "capsule backup",
      .arguments = "NAME",
      .summary = "Backs a capsule's overlay up, encrypted, while it runs.",
      .details =
          "Takes a snapshot, copies it into a restic repository, and removes the snapshot. The repository is made if "
          "there "
          "is none. Whoever loses the password has lost the backups: keep a copy elsewhere. Run it as root on the node "
          "that holds the overlay.",
      .examples = {"underway capsule backup slurm-services -repository sftp:backup@nas:/srv/capsules -password-file "
                   "/etc/underway/backup.password -keep-daily 30"},
      .flags = with_backup_flags({{"check", "", "Reads a part of the repository afterwards, and compares it."},
                                  {"keep-last", "N", "Keep the newest."},
                                  {"keep-hourly", "N", "Keep the newest of each hour."},
                                  {"keep-daily", "N", "Keep the newest of each day."},
                                  {"keep-weekly", "N", "Keep the newest of each week."}}),
      .least = 1,
      .most = 1,
      .talks_to_server = false,
      .run = back_up};
  return command;
}

const Command& capsule_backups_command() {
  static const Command command{
      .name = "capsule backups",
      .arguments = "NAME",
      .summary = "Lists the backups of a capsule.",
      .details = "From any machine that reaches the repository.",
      .examples = {"underway capsule backups slurm-services -repository /srv/backup -password-file "
                   "/etc/underway/backup.password"},
      .flags = with_backup_flags({{"json", "", "As JSON."}}),
      .least = 1,
      .most = 1,
      .talks_to_server = false,
      .run = list};
  return command;
}

const Command& capsule_drill_command() {
  static const Command command{
      .name = "capsule drill",
      .arguments = "NAME [-- COMMAND…]",
      .summary = "Restores a snapshot or backup aside, and looks whether it is worth something.",
      .details =
          "Brings the newest snapshot, or with -repository a backup, into a directory of its own, compares its digest, "
          "runs "
          "COMMAND with that directory as its last argument, and removes it. The exit code is 1 when something is "
          "wrong. The capsule runs on meanwhile.",
      .examples = {"underway capsule drill slurm-services -- test -s"},
      .flags = with_backup_flags({{"at", "TIME", "The backup of then: 2026-11-21T23:00:00Z, or how long ago: 3h."}}),
      .least = 1,
      .most = 1000,
      .talks_to_server = false,
      .run = drill};
  return command;
}

}  // namespace underway::cli
