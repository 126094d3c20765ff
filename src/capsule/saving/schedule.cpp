#include "saving/schedule.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "overlay/snapshot/method.hpp"
#include "run/saving.hpp"
#include "saving/defaults.hpp"

namespace underway::saving {
namespace {

using model::CapsuleSaving;
using model::SavedWork;

std::string path_of(const std::string& capsules, const CapsuleName& capsule) {
  return run::capsule_directory(capsules, capsule.ns, capsule.name) + "/saved.json";
}

SavedWork& part_of(CapsuleSaving& saved, Work work) {
  return work == Work::snapshot ? saved.snapshot : work == Work::backup ? saved.backup : saved.drill;
}

SnapshotPlan plan_of(const std::string& capsules, const CapsuleName& capsule, const run::Saving& saving) {
  const auto method = overlay::find_method(run::capsule_directory(capsules, capsule.ns, capsule.name) + "/overlay");
  return snapshots_of(saving, method.value_or(model::SnapshotMethod::copy));
}

std::vector<model::Snapshot> scheduled(const overlay::SnapshotStore& snapshot_store) {
  auto list = snapshot_store.list();
  std::erase_if(list, [](const auto& snapshot) { return snapshot.reason != kScheduled; });
  return list;
}

/// By the schedule's own rule, and only of what it took: what somebody took by hand he removes by hand.
void forget_old(const std::string& capsules, const CapsuleName& capsule, overlay::SnapshotStore& snapshot_store) {
  const auto saving = run::find_saving(capsules, capsule.ns, capsule.name);
  if (!saving) return;
  const auto taken = scheduled(snapshot_store);
  for (const auto& id : superfluous(*saving, taken)) snapshot_store.remove(id);
}

std::string perform(const Saver& saver, const CapsuleName& capsule, Work work) {
  if (work == Work::snapshot) {
    const auto taken = saver.snapshot({.capsule = capsule, .reason = std::string(kScheduled), .keep = {}});
    auto snapshot_store = saver.snapshot_store(capsule);
    forget_old(saver.capsules(), capsule, snapshot_store);
    return taken.id;
  }
  if (work == Work::backup) {
    const auto saving = run::find_saving(saver.capsules(), capsule.ns, capsule.name);
    BackupRequest request{.capsule = capsule, .where = {}, .keep = {}};
    if (saving && saving->backup) request.check_percent = saving->backup->check_percent;
    return saver.backup(request).backup.id.substr(0, 8);
  }
  const auto told = saver.drill({.capsule = capsule, .backup = true, .where = {}, .snapshot = {}, .scripts = {}});
  if (told.passed()) return told.of.substr(0, 8);
  throw Error(Code::internal, fmt::format("the backup {} would not do", told.of.substr(0, 8)))
      .because(told.drill.problems.front());
}

}  // namespace

std::optional<CapsuleSaving> find_saved(const std::string& capsules, const CapsuleName& capsule, TimePoint now) {
  const auto wanted = run::find_saving(capsules, capsule.ns, capsule.name);
  const auto text = os::find_file(path_of(capsules, capsule), 1U << 20);
  const auto plan = wanted ? plan_of(capsules, capsule, *wanted) : SnapshotPlan();
  if (!text && plan.schedule.every <= Duration{0} && (!wanted || (!wanted->snapshot && !wanted->backup)))
    return std::nullopt;
  CapsuleSaving saved;
  if (text) saved = json::decode_text<CapsuleSaving>(*text, fmt::format("what is saved of {}", capsule.name));
  saved.ns = capsule.ns;
  saved.name = capsule.name;
  // What nobody asked for has time: there is nothing to save yet of what has just been made.
  if (saved.since == 0) saved.since = unix_nanos(now) + (plan.by_default ? plan.schedule.every.count() : 0);
  saved.snapshot.every = plan.schedule.every;
  saved.backup.every = wanted && wanted->backup ? wanted->backup->every : Duration{0};
  saved.drill.every = wanted && wanted->backup ? wanted->backup->drill_every : Duration{0};
  if (!text) os::write_file(path_of(capsules, capsule), json::pretty(json::to_value(saved)) + "\n", 0600);
  return saved;
}

void measure(const std::string& capsules, CapsuleSaving& saved) {
  const auto space = overlay::find_space(run::capsule_directory(capsules, saved.ns, saved.name) + "/overlay");
  saved.overlay_size = space ? static_cast<std::int64_t>(space->size_bytes) : 0;
  saved.overlay_used = 0;
  if (!space || space->size_bytes == 0) return;
  const auto used = space->size_bytes - std::min(space->free_bytes, space->size_bytes);
  saved.overlay_used = static_cast<std::int64_t>(100 * used / space->size_bytes);
}

CapsuleSaving look_at(const std::string& capsules, const CapsuleName& capsule, TimePoint now) {
  auto saved = find_saved(capsules, capsule, now).value_or(CapsuleSaving{.ns = capsule.ns, .name = capsule.name});
  measure(capsules, saved);
  return saved;
}

double spread_of(std::string_view ns, std::string_view name) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const auto part : {ns, std::string_view("/"), name}) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  hash ^= hash >> 16;  // names that differ in their last letter are to lie apart, too (MurmurHash3's end)
  hash *= 0x85EBCA6BU;
  hash = (hash ^ (hash >> 13)) * 0xC2B2AE35U;
  hash ^= hash >> 16;
  return static_cast<double>(hash >> 8) / static_cast<double>(1U << 24);
}

std::optional<Work> due(const CapsuleSaving& saved, TimePoint now) {
  const auto spread = spread_of(saved.ns, saved.name);
  std::optional<Work> found;
  TimePoint first = now;
  for (const auto work : {Work::snapshot, Work::backup, Work::drill}) {
    const auto& part = work == Work::snapshot ? saved.snapshot : work == Work::backup ? saved.backup : saved.drill;
    // There is nothing to try before there is a backup.
    if (work == Work::drill && saved.backup.done_at == 0 && saved.backup.every > Duration{0}) continue;
    auto at = model::due_at(part, saved.since, spread);
    // A clock that went back must not stop it.
    if (at && part.begun_at > unix_nanos(now)) at = now;
    if (!at || *at > first || (found && *at == first)) continue;
    first = *at;
    found = work;
  }
  return found;
}

bool is_by_default(const Saver& saver, const CapsuleName& capsule) {
  const auto saving = run::find_saving(saver.capsules(), capsule.ns, capsule.name);
  return saving && !saving->snapshot;
}

std::vector<std::string> superfluous(const run::Saving& saving, const std::vector<model::Snapshot>& taken) {
  const auto cheap = [](const auto& snapshot) { return snapshot.method != model::SnapshotMethod::copy; };
  const auto found = std::find_if(taken.begin(), taken.end(), cheap);
  const auto plan = snapshots_of(saving, found == taken.end() ? model::SnapshotMethod::copy : found->method);
  return plan.schedule.keep ? overlay::superfluous(taken, *plan.schedule.keep) : std::vector<std::string>();
}

std::optional<model::Snapshot> gives_way(const std::vector<model::Snapshot>& taken, const Room& room, TimePoint now) {
  constexpr Duration kPause = std::chrono::minutes{5};  // btrfs gives back what one held only some time after
  if (taken.size() < 2) return std::nullopt;
  if (room.made_at && *room.made_at <= now && now < *room.made_at + kPause) return std::nullopt;
  return taken.front();
}

std::string make_room(const Saver& saver, const CapsuleName& capsule, Room& room, TimePoint now) {
  auto why = find_no_room(saver.capsules(), capsule);
  if (why.empty()) return why;
  auto snapshot_store = saver.snapshot_store(capsule);
  const auto going = gives_way(scheduled(snapshot_store), room, now);
  if (!going) return why;
  log::warn("capsule {}/{}: the snapshot {} of its schedule goes: {}", capsule.ns, capsule.name, going->id, why);
  snapshot_store.remove(going->id);
  room.made_at = now;
  return find_no_room(saver.capsules(), capsule);
}

CapsuleSaving write_down(const std::string& capsules, const CapsuleName& capsule, Work work, const Outcome& outcome,
                         TimePoint now) {
  auto saved = find_saved(capsules, capsule, now).value_or(CapsuleSaving{.ns = capsule.ns, .name = capsule.name});
  auto& part = part_of(saved, work);
  part.begun_at = unix_nanos(now);
  part.error = outcome.error;
  part.failures = outcome.error.empty() ? 0 : part.failures + 1;
  if (outcome.error.empty()) {
    part.done_at = unix_nanos(now);
    part.result = outcome.result;
  }
  os::write_file(path_of(capsules, capsule), json::pretty(json::to_value(saved)) + "\n", 0600);
  return saved;
}

CapsuleSaving carry_out(const Saver& saver, const CapsuleName& capsule, Work work, Room& room, TimePoint now) {
  Outcome outcome;
  try {
    if (work == Work::snapshot && is_by_default(saver, capsule)) outcome.error = make_room(saver, capsule, room, now);
    if (outcome.error.empty()) outcome.result = perform(saver, capsule, work);
  } catch (const Error& e) {
    outcome.error = e.one_line();
  }
  return write_down(saver.capsules(), capsule, work, outcome, now);
}

}  // namespace underway::saving
