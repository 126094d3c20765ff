#include "ownership/node/left_behind.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "os/file.hpp"
#include "os/trash.hpp"
#include "overlay/overlay.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::ownership {
namespace {

constexpr const char* kPutAside = "/put-aside";
constexpr const char* kBegunAnew = "/begun-anew";

std::string note_of(const NodeOptions& options, const run::Run& run) {
  return run::capsule_directory(options.capsules, run.ns, run.name) + "/sent-on";
}

/// Both may have a '-', and only the name a '.'.
std::string what_of(const std::string& ns, const std::string& name) { return fmt::format("capsule-{}.{}", ns, name); }

bool says(const std::string& file, const run::Run& run) { return os::find_file(file) == run.keeper_dir; }

/// Beside the overlay: the one that takes its place, and afterwards what was in its place.
std::string other_of(const std::string& directory) { return directory + ".aside"; }

/// In one step, so that a crash leaves no doubt which is which.
void exchange(const std::string& one, const std::string& other) {
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) != 0)
    throw errno_error(errno, fmt::format("cannot exchange '{}' and '{}'", one, other));
}

void into_the_trash(const NodeOptions& options, const run::Run& run, const std::string& directory) {
  const auto other = other_of(directory);
  if (!says(other + kPutAside, run)) return;  // that was done
  os::Trash(options.trash).put(other, what_of(run.ns, run.name), options.clock->now());
  note_sent(options, run);
  log::warn("node: what capsule {}/{} wrote here last may be nowhere else: it lies in '{}'", run.ns, run.name,
            options.trash);
}

/// Whether a copy of something later lies there complete: one of before may be left of another job's capsule. Closes
/// it: one that is a file system of its own may still be mounted, and nothing of it may be when it goes.
bool has_copy(const NodeOptions& options, const run::Run& run, const overlay::Spec& spec,
              const std::string& directory) {
  auto opened = overlay::open_overlay(spec, directory,
                                      {.ledger = options.ledger, .owner = run.ns + "/" + run.name, .stop_writers = {}});
  const auto copy = overlay::find_copy(opened.layer() + "/copy");
  opened.close();
  return copy && copy->consistent && copy->at > run.started;
}

/// Where what was put aside lies; empty: nowhere any more.
std::string find_aside(const NodeOptions& options, const run::Run& run, const std::string& directory) {
  if (says(other_of(directory) + kPutAside, run)) return other_of(directory);
  const os::Trash trash(options.trash);
  for (const auto& item : trash.list()) {
    if (item.what != what_of(run.ns, run.name)) continue;
    auto found = trash.find(item.name);
    if (says(found + kPutAside, run)) return found;
  }
  return {};
}

}  // namespace

void note_sent(const NodeOptions& options, const run::Run& run) {
  os::write_file(note_of(options, run), run.keeper_dir, 0600);
}

bool put_aside(const NodeOptions& options, const run::Run& run, const std::string& directory) {
  if (options.trash.empty()) return false;
  const auto is_done = [&] { return says(directory + kBegunAnew, run); };
  const auto spec = overlay::find_overlay(directory);
  try {
    if (is_done()) {
      into_the_trash(options, run, directory);
      return true;
    }
    if (!spec || says(note_of(options, run), run)) return false;
    // Its files would stay where they are, without what says that they belong together.
    if (!spec->paths.empty()) throw Error(Code::unsupported, "its files lie in directories of their own");
    if (has_copy(options, run, *spec, directory)) {
      note_sent(options, run);
      return false;
    }
    const auto other = other_of(directory);
    os::remove_tree(other);
    os::make_directories(other, 0700);
    os::write_file(other + kBegunAnew, run.keeper_dir, 0600);
    os::write_file(directory + kPutAside, run.keeper_dir, 0600);
    exchange(directory, other);
    into_the_trash(options, run, directory);
  } catch (const Error& error) {
    log::warn("node: what capsule {}/{} wrote here last is not kept beside the copy that comes now: {}", run.ns,
              run.name, error.one_line());
  }
  return is_done();
}

bool bring_back(const NodeOptions& options, const run::Run& run, const std::string& directory) {
  if (options.trash.empty() || !says(directory + kBegunAnew, run)) return false;
  // Then nobody needs what was put aside, wherever it is by now.
  if (const auto begun = overlay::find_overlay(directory); begun && has_copy(options, run, *begun, directory))
    return false;
  const auto aside = find_aside(options, run, directory);
  if (aside.empty())
    throw Error(Code::not_found, fmt::format("what capsule '{}' wrote here last is here no more", run.name))
        .because("it was put aside for a copy that was not completed, and gave way to it, or to others")
        .advise("let it start from another node's copy, a snapshot or a backup");
  // Somebody has to keep it again, should another copy come.
  os::remove_tree(note_of(options, run));
  exchange(directory, aside);
  log::warn("node: capsule {}/{} goes on with what it wrote here last, as no copy since is complete", run.ns, run.name);
  // Not remove_overlay(): its record names files by the place where it was made, which is the other one's now.
  os::remove_tree(aside);
  return true;
}

void leave_aside(const std::string& directory) {
  const auto note = directory + kBegunAnew;
  if (os::exists(note)) os::write_file(note, "", 0600);
}

void give_way(const NodeOptions& options, const CapsuleRequest& request) {
  if (options.trash.empty()) return;
  const os::Trash trash(options.trash);
  for (const auto& item : trash.list()) {
    if (item.what == what_of(request.ns, request.name)) trash.remove(item.name);
  }
}

}  // namespace underway::ownership
