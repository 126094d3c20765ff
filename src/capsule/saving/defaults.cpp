#include "saving/defaults.hpp"

#include <sys/statvfs.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "overlay/snapshot/method.hpp"
#include "run/config/config.hpp"
#include "run/running.hpp"

namespace underway::saving {
namespace {

using model::SnapshotMethod;

overlay::Space space_of(const std::string& directory) {
  struct statvfs found = {};
  if (::statvfs(directory.c_str(), &found) != 0) return {};
  return {.size_bytes = found.f_blocks * found.f_frsize, .free_bytes = found.f_bavail * found.f_frsize};
}

}  // namespace

overlay::SnapshotSchedule by_default(SnapshotMethod method) {
  if (method == SnapshotMethod::copy)
    return {std::chrono::hours{24}, model::Retention{.last = 2, .hourly = 0, .daily = 0, .weekly = 0}};
  return {std::chrono::hours{1}, model::Retention{.last = 0, .hourly = 24, .daily = 7, .weekly = 0}};
}

SnapshotPlan snapshots_of(const run::Saving& saving, SnapshotMethod method) {
  if (saving.snapshot) return {*saving.snapshot, false};
  SnapshotPlan plan{{}, true};
  for (const auto& group : saving.job.groups) {
    for (const auto& task : group.tasks) {
      if (run::protection_of(task.config).keeps_nothing) return plan;
    }
  }
  plan.schedule = by_default(method);
  return plan;
}

std::string no_room(const SnapshotMethod& method, const overlay::Space& space, std::uint64_t copied_bytes) {
  const std::uint64_t reserve = space.size_bytes / 100 * kFreeForOthers;
  const std::uint64_t needed = reserve + (method == SnapshotMethod::copy ? copied_bytes : 0);
  if (space.size_bytes > 0 && space.free_bytes >= needed) return {};
  return fmt::format(
      "its disk has {} free, and {} have to be: a tenth of it stays for others{}", human_bytes(space.free_bytes),
      human_bytes(needed),
      method == SnapshotMethod::copy ? fmt::format(", and a copy takes {}", human_bytes(copied_bytes)) : "");
}

std::string find_no_room(const std::string& capsules, const CapsuleName& capsule) try {
  const auto place = run::capsule_directory(capsules, capsule.ns, capsule.name) + "/overlay";
  const auto method = overlay::find_method(place);
  if (!method) return "it has no overlay here";
  const auto space =
      *method == SnapshotMethod::subvolume ? overlay::find_space(place).value_or(overlay::Space()) : space_of(place);
  std::uint64_t copied = 0;
  if (*method == SnapshotMethod::copy) {
    const auto used = overlay::find_space(place);
    const bool directory = overlay::find_overlay(place)->kind == overlay::Kind::directory;
    copied = directory || !used ? overlay::disk_bytes(place) : used->size_bytes - used->free_bytes;
  }
  return no_room(*method, space, copied);
} catch (const Error& e) {
  return "it cannot be seen whether there is room: " + e.one_line();
}

}  // namespace underway::saving
