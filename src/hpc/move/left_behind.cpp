#include "move/left_behind.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "os/file.hpp"
#include "os/trash.hpp"
#include "overlay/overlay.hpp"

namespace underway::move {
namespace {

/// Beside the overlay: names the run of which nothing has to be kept any more.
std::string note_of(const NodeOptions& options, const capsule::Run& run) {
  return capsule::capsule_directory(options.capsules, run.ns, run.name) + "/sent-on";
}

std::string what_of(const std::string& ns, const std::string& name) { return fmt::format("capsule-{}-{}", ns, name); }

}  // namespace

void note_sent(const NodeOptions& options, const capsule::Run& run) {
  os::write_file(note_of(options, run), run.keeper_dir, 0600);
}

bool put_aside(const NodeOptions& options, const capsule::Run& run, const std::string& directory) {
  if (options.trash.empty() || os::find_file(note_of(options, run)) == run.keeper_dir) return false;
  const auto spec = overlay::find_overlay(directory);
  if (!spec) return false;
  try {
    // Its files would stay where they are, without what says that they belong together.
    if (!spec->paths.empty()) throw Error(Code::unsupported, "its files lie in directories of their own");
    // One that is a file system of its own may still be mounted.
    overlay::open_overlay(*spec, directory,
                          {.ledger = options.ledger, .owner = run.ns + "/" + run.name, .stop_writers = {}})
        .close();
    os::Trash(options.trash).put(directory, what_of(run.ns, run.name), SystemClock().now());
  } catch (const Error& error) {
    log::warn("node: what capsule {}/{} wrote here last is not kept beside the copy that comes now: {}", run.ns,
              run.name, error.one_line());
    return false;
  }
  note_sent(options, run);
  log::warn("node: what capsule {}/{} wrote here last may be nowhere else: it lies in '{}'", run.ns, run.name,
            options.trash);
  return true;
}

void give_way(const NodeOptions& options, const CapsuleRequest& request) {
  if (options.trash.empty()) return;
  const os::Trash trash(options.trash);
  for (const auto& one : trash.list()) {
    if (one.what == what_of(request.ns, request.name)) trash.remove(one.name);
  }
}

}  // namespace underway::move
