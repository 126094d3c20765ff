#include "run/snapshot_store.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "run/control.hpp"

namespace underway::run {
namespace {

void run_steps(const std::string& keeper_dir, image::Moment moment) {
  const auto result = Control::connect(keeper_dir).run_step(moment);
  if (result.succeeded()) return;
  throw Error(Code::unavailable, fmt::format("the step {} ended with {}", describe::spell(moment), result.result))
      .because(result.output.empty() ? "it said nothing" : std::string(trim(result.output)));
}

}  // namespace

overlay::SnapshotStore snapshot_store_of(const std::string& capsules, const Run& run, const Clock& clock) {
  overlay::SnapshotStoreOptions options;
  options.capsule = run.ns + "/" + run.name;
  options.image = run.digest;
  options.running = run.running();
  options.overlay.owner = options.capsule;
  if (options.running) {
    options.overlay.stop_writers = [run](bool stop) { freeze(run, stop); };
    options.quiesce = [keeper_dir = run.keeper_dir](bool stop) {
      run_steps(keeper_dir, stop ? image::Moment::quiesce : image::Moment::unquiesce);
    };
  }
  return {capsule_directory(capsules, run.ns, run.name), std::move(options), clock};
}

void let_go_on(const Run& run) { freeze(run, false); }

}  // namespace underway::run
