#include <fmt/format.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "rehearsal/detail/clone.hpp"
#include "rehearsal/rehearsal.hpp"
#include "run/snapshot_store.hpp"

namespace underway::rehearsal {

bool is_under_way(const Error& error) { return error.code() == Code::conflict && error.message() == detail::kUnderWay; }

model::Rehearsal rehearse(const Options& options, const RehearsalRequest& request,
                          const std::function<void(const std::string& upper)>& fill) {
  model::Rehearsal told;
  try {
    detail::Clone clone(options, request);
    clone.fill(fill);
    if (auto stopped = clone.stop_what_ran()) told.findings.push_back(std::move(*stopped));
    if (told.findings.empty() || told.findings.back().passed) told.findings.push_back(clone.start());
    told.image = clone.image();
    told.digest = clone.digest();
    if (told.findings.back().passed) told.findings.push_back(clone.check());
    if (told.findings.back().passed) {
      for (auto& finding : clone.run_scripts()) told.findings.push_back(std::move(finding));
    }
  } catch (Error& e) {
    e.while_doing(fmt::format("rehearsing capsule '{}' on node '{}'", request.name, options.self.name));
    throw;
  }
  told.at = unix_nanos(options.driver.clock->now());
  return told;
}

namespace {

/// A snapshot that is there for the rehearsal alone.
class Borrowed {
 public:
  Borrowed(overlay::SnapshotStore& snapshot_store, std::string given)
      : snapshot_store_(snapshot_store), id_(std::move(given)) {
    if (!id_.empty()) return;
    id_ = snapshot_store_.take("rehearsal").id;
    ours_ = true;
  }
  Borrowed(const Borrowed&) = delete;
  ~Borrowed() { give_back(); }
  const std::string& id() const { return id_; }
  void give_back() {
    if (!std::exchange(ours_, false)) return;
    try {
      snapshot_store_.remove(id_);
    } catch (const Error& e) {
      log::warn("rehearsal: the snapshot {} stays: {}", id_, e.one_line());
    }
  }

 private:
  overlay::SnapshotStore& snapshot_store_;
  std::string id_;
  bool ours_ = false;
};

}  // namespace

model::Rehearsal rehearse(const Options& options, const RehearsalRequest& request) {
  auto run = run::find_run(options.driver.capsules, request.ns, request.name);
  if (!run) run = run::Run{.ns = request.ns, .name = request.name};
  auto snapshot_store = run::snapshot_store_of(options.driver.capsules, *run, *options.driver.clock);
  std::string snapshot;
  auto told = rehearse(options, request, [&](const std::string& upper) {
    Borrowed borrowed(snapshot_store, request.snapshot);
    snapshot = borrowed.id();
    snapshot_store.extract(snapshot, upper);
  });
  told.snapshot = snapshot;
  return told;
}

}  // namespace underway::rehearsal
