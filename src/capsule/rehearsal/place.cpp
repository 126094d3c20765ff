#include <dirent.h>
#include <signal.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "keeper/client.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "rehearsal/detail/place.hpp"
#include "run/running.hpp"

namespace underway::rehearsal {
namespace detail {

Place::Place(const Options& options, const std::string& ns, const std::string& name)
    : directory(run::capsule_directory(options.place, ns, name)),
      owner(fmt::format("rehearse/{}/{}", ns, name)),
      cgroup(fmt::format("{}/{}/{}", options.cgroup, ns, name)) {}

namespace {

constexpr auto kEndPatience = std::chrono::seconds{30};

/// Its keeper, which waits to be collected; none if it had none.
std::optional<keeper::Client> end_clone(const Options& options, const Place& place) {
  if (!os::exists(place.keeper())) return std::nullopt;
  auto keeper = keeper::Client::attach(place.keeper(), place.cgroup, options.driver.driver.cgroups);
  keeper.stop(SIGKILL, {});
  if (!keeper.wait(kEndPatience))
    throw Error(Code::timeout, fmt::format("the clone in '{}' does not end", place.directory));
  return keeper;
}

void undo_recorded(const Options& options, const Place& place) {
  auto* ledger = options.driver.driver.ledger;
  if (ledger == nullptr) return;
  // The driver's own entries have "capsule/<allocation>/<task>".
  const auto driver = "capsule/" + place.owner + "/";
  auto failures = ledger->undo(
      [&](const os::LedgerItem& item) { return item.owner == place.owner || item.owner.starts_with(driver); });
  if (!failures.empty()) throw std::move(failures.front());
}

}  // namespace

void clear_away(const Options& options, const Place& place) {
  auto keeper = end_clone(options, place);
  if (auto group = os::Cgroup::find(options.driver.driver.cgroups, place.cgroup)) group->remove();
  os::Cgroup::prune_parents(options.driver.driver.cgroups, place.cgroup);
  undo_recorded(options, place);
  // What the ledger does not know: the agent had none.
  auto mounts = os::list_mounts();
  std::reverse(mounts.begin(), mounts.end());
  for (const auto& mount : mounts) {
    if (mount.target.starts_with(place.directory + "/")) os::unmount_all(mount.target);
  }
  // The image of a start that was cut short was mounted in the keeper's directory.
  if (keeper) keeper->collect();
  os::remove_tree(place.directory);
}

}  // namespace detail

void sweep(const Options& options) {
  if (!os::exists(options.place)) return;
  // Its links are undone too, and only the driver knows how.
  if (options.driver.driver.ledger != nullptr) static_cast<void>(run::make_capsule(options.driver));
  std::optional<Error> first;
  for (const auto& ns : os::list_directory(options.place)) {
    if (ns.type != DT_DIR) continue;
    for (const auto& name : os::list_directory(options.place + "/" + ns.name)) {
      if (name.type != DT_DIR) continue;
      try {
        detail::clear_away(options, {options, ns.name, name.name});
      } catch (Error& e) {
        e.while_doing(fmt::format("clearing away what is left of the rehearsal of {}/{}", ns.name, name.name));
        if (!first) first = std::move(e);
      }
    }
  }
  if (first) throw *std::move(first);
}

}  // namespace underway::rehearsal
