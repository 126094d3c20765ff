#include "saving/saver.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/redact.hpp"
#include "overlay/transfer/transfer.hpp"
#include "run/saving.hpp"
#include "run/snapshot_store.hpp"

namespace underway::saving {
namespace {

constexpr std::string_view kFromBackup = "from backup ";

overlay::BackupSchedule schedule_of(const std::string& capsules, const CapsuleName& capsule) {
  const auto saving = run::find_saving(capsules, capsule.ns, capsule.name);
  return saving && saving->backup ? *saving->backup : overlay::BackupSchedule();
}

}  // namespace

run::Run Saver::run_of(const CapsuleName& capsule) const {
  auto run = run::find_run(capsules(), capsule.ns, capsule.name);
  return run ? *std::move(run) : run::Run{.ns = capsule.ns, .name = capsule.name};
}

overlay::SnapshotStore Saver::snapshot_store(const CapsuleName& capsule) const {
  return run::snapshot_store_of(capsules(), run_of(capsule), clock_);
}

std::string Saver::directory(const CapsuleName& capsule) const {
  return run::capsule_directory(capsules(), capsule.ns, capsule.name);
}

overlay::Repository Saver::repository(const CapsuleName& capsule, const BackupPlace& where) const {
  overlay::BackupSchedule schedule;
  schedule.repository = where.repository;
  schedule.password_file = where.password_file;
  schedule.environment_file = where.environment_file;
  schedule.sftp_command = where.sftp_command;
  if (where.repository.empty()) schedule = schedule_of(capsules(), capsule);
  if (schedule.repository.empty())
    throw Error(Code::invalid, fmt::format("nothing says where backups of capsule '{}' are", capsule.name))
        .because("its job has no `backup` block, or has not been started since it has one")
        .advise("give a repository and a password file, or write the block");
  auto repository = schedule.where();
  const auto wrong = overlay::problems(repository);
  if (wrong.empty()) return repository;
  throw Error(Code::invalid, fmt::format("cannot use the backups in '{}'", redact_url(repository.url, UrlUser::hidden)))
      .because(wrong);
}

model::Snapshot Saver::snapshot(const SnapshotRequest& request) const {
  return snapshot_store(request.capsule).take(request.reason, request.keep.value_or(model::Retention{}));
}

Snapshots Saver::snapshots(const CapsuleName& capsule) const { return {snapshot_store(capsule).list()}; }

Backed Saver::backup(const BackupRequest& request) const {
  const auto where = repository(request.capsule, request.where);
  auto keep = request.keep;
  if (!keep && request.where.repository.empty()) keep = schedule_of(capsules(), request.capsule).keep;
  const auto made = snapshot_store(request.capsule).back_up(where, keep.value_or(model::Retention{}));
  if (request.check_percent > 0) overlay::check_repository(where, static_cast<int>(request.check_percent));
  return {made.backup, static_cast<std::int64_t>(made.read_bytes), static_cast<std::int64_t>(made.added_bytes),
          made.took};
}

Backups Saver::backups(const BackupRequest& request) const {
  return {overlay::list_backups(repository(request.capsule, request.where),
                                request.capsule.ns + "/" + request.capsule.name)};
}

model::Backup Saver::choose(const CapsuleName& capsule, const overlay::Repository& repository, std::int64_t at) const {
  return overlay::backup_at(overlay::list_backups(repository, capsule.ns + "/" + capsule.name), moment(at));
}

std::vector<std::string> Saver::rehearse(const DrillRequest& request, const std::string& upper, Drilled& told) const {
  if (!request.start) return {};
  auto saving = run::find_saving(capsules(), request.capsule.ns, request.capsule.name);
  if (!saving)
    return {"this node does not know how the capsule is started: it has not been since the agent was upgraded"};
  rehearsal::RehearsalRequest wanted;
  wanted.ns = request.capsule.ns;
  wanted.name = request.capsule.name;
  wanted.job = std::move(saving->job);
  wanted.group = saving->group;
  wanted.scripts = request.scripts;
  wanted.patience = options_.drill_patience;
  told.rehearsal = rehearsal::rehearse(options_.rehearsal, wanted, [&](const std::string& place) {
    if (::rename(upper.c_str(), place.c_str()) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}' the clone's overlay", upper));
  });
  told.rehearsal->snapshot = told.of;
  std::vector<std::string> problems;
  for (const auto& finding : told.rehearsal->findings) {
    if (!finding.passed)
      problems.push_back(fmt::format("{} failed ({}): {}", finding.name, finding.result, finding.output));
  }
  return problems;
}

Drilled Saver::drill(const DrillRequest& request) const {
  Drilled told;
  const auto snapshot_store = this->snapshot_store(request.capsule);
  const auto check = [&](const std::string& upper) { return rehearse(request, upper, told); };
  // Beside the clone, so that it only has to be renamed.
  const auto scratch =
      run::capsule_directory(options_.rehearsal.place, request.capsule.ns, request.capsule.name) + ".drill";
  os::make_directories(scratch.substr(0, scratch.rfind('/')), 0700);
  const auto ours = os::FileLock::acquire(scratch + ".lock", fmt::format("the drill of {}", request.capsule.name));
  if (request.backup) {
    const auto where = repository(request.capsule, request.where);
    const auto backup = choose(request.capsule, where, request.at);
    told.of = backup.id;
    told.at = backup.at;
    told.drill = overlay::run_drill(
        scratch, [&](const std::string& upper) { overlay::fetch_backup(where, backup, upper); }, check);
    return told;
  }
  const auto all = snapshot_store.list();
  if (all.empty())
    throw Error(Code::not_found, fmt::format("the capsule '{}' has no snapshot to try", request.capsule.name))
        .advise("take one, or try a backup");
  auto chosen = all.back();
  if (request.at != 0) chosen = overlay::snapshot_at(all, from_unix_nanos(request.at));
  if (!request.snapshot.empty())
    chosen = overlay::get_snapshot(directory(request.capsule) + "/snapshots", request.snapshot);
  told.of = chosen.id;
  told.at = chosen.at;
  const auto bring = [&](const std::string& upper) { snapshot_store.extract(chosen.id, upper); };
  told.drill = overlay::run_drill(scratch, bring, check);
  return told;
}

model::Snapshot Saver::find(const FindRequest& request) const {
  auto snapshot_store = this->snapshot_store(request.capsule);
  const auto all = snapshot_store.list();
  if (!request.backup) {
    if (!request.snapshot.empty())
      return overlay::get_snapshot(directory(request.capsule) + "/snapshots", request.snapshot);
    return overlay::snapshot_at(all, moment(request.at));
  }
  const auto where = repository(request.capsule, request.where);
  const auto backup = choose(request.capsule, where, request.at);
  const auto reason = std::string(kFromBackup) + backup.id.substr(0, 8);
  const auto here =
      std::find_if(all.begin(), all.end(), [&](const auto& snapshot) { return snapshot.reason == reason; });
  if (here != all.end()) return *here;
  return snapshot_store.bring(where, backup, reason);
}

model::Snapshot Saver::restore(const CapsuleName& capsule, const std::string& snapshot) const {
  return snapshot_store(capsule).restore(snapshot);
}

}  // namespace underway::saving
