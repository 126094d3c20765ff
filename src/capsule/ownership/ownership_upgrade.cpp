// What is done in the phases of an upgrade, whose table is in upgrade_phases.cpp.
#include "ownership/detail/ownership.hpp"

#include "base/clock.hpp"

namespace underway::ownership::detail {

using model::CapsuleState;
using model::UpgradePhase;

void Ownership::begin_upgrade(model::CapsuleUpgrade upgrade) {
  upgrade.id = context_.ids.uuid();
  upgrade.node = record_.owner;
  upgrade.node_name = record_.owner_name;
  upgrade.from_image = upgrade.back_image = image_of(*job_);
  upgrade.started_at = now();
  record_.upgrade = std::move(upgrade);
  enter(first_phase(*record_.upgrade));
}

void Ownership::enter(UpgradePhase phase) {
  record_.upgrade->phase = phase;
  record_.upgrade->phase_at = now();
  record_.upgrade->attempts = 0;
  record_.state = CapsuleState::upgrading;
  record_.description.clear();
}

void Ownership::finish_upgrade(const std::string& error, bool rolled_back) {
  auto& upgrade = *record_.upgrade;
  upgrade.phase = UpgradePhase::done;
  upgrade.ended_at = now();
  upgrade.error = error;
  upgrade.rolled_back = rolled_back;
  upgrade.scripts.clear();
  // Copies that were made since hold what the image that failed has written.
  if (rolled_back) forget_replicas(upgrade.stopped_at);
  record_.last_upgrade = std::move(upgrade);
  record_.upgrade.reset();
  record_.state = CapsuleState::held;
  record_.description.clear();
}

void Ownership::advance_upgrade() {
  const auto next = next_phase(*record_.upgrade);
  if (next == UpgradePhase::done)
    return finish_upgrade(record_.upgrade->error, upgrade_work().row.stretch == Stretch::back);
  enter(next);
}

void Ownership::forget_replicas(std::int64_t since) {
  std::erase_if(record_.replicas, [&](const auto& replica) { return replica.at >= since; });
}

bool Ownership::begin_stop() {
  const auto at = node(record_.owner);
  if (!at || !at->ready()) {
    finish_upgrade(fmt::format("{} is drained, or takes no new allocations", record_.owner_name), false);
    return false;
  }
  record_.upgrade->stopped_at = now();
  ask_for(record_.upgrade->to_image);
  stop_it();
  return true;
}

/// Of a restore, whose job stays as it is: nothing else would stop what runs.
void Ownership::stop_it() {
  const auto row = may_run();
  if (!record_.upgrade->restores || !row || row->server_terminal()) return;
  model::Allocation changed = *row;
  changed.desired_status = model::DesiredStatus::stop;
  changed.desired_description = "the capsule is restored";
  put(std::move(changed));
  evaluate();
}

void Ownership::note_running(const std::string& digest) {
  auto& upgrade = *record_.upgrade;
  upgrade.from_digest = digest;
  const bool same = digest.empty() || upgrade.from_means.empty() || upgrade.from_means == digest;
  upgrade.back_image = same ? upgrade.from_image : digest;
}

void Ownership::give_up(const std::string& error) {
  auto& upgrade = *record_.upgrade;
  const auto otherwise = upgrade_work().row.otherwise;
  if (otherwise == UpgradePhase::done) return finish_upgrade(error, false);
  upgrade.error = error;
  // What somebody else made of the job meanwhile is left as it is: he gets it, with the data from before.
  if (wanted() && image_of(*job_) == upgrade.to_image) ask_for(upgrade.back_image);
  enter(otherwise);
  stop_it();
}

void Ownership::ask_for(const std::string& image) {
  if (!job_ || image_of(*job_) == image) return;
  job_ = std::make_shared<const model::Job>(with_image(*job_, record_.group, image));
  register_ = true;
}

Duration Ownership::patience(Duration usual) const {
  Duration rehearsed{0};
  if (record_.upgrade->rehearsal) {
    for (const auto& finding : record_.upgrade->rehearsal->findings) {
      if (finding.name == "start" || finding.name == "check") rehearsed += finding.took;
    }
  }
  return std::max(usual, 3 * rehearsed);
}

std::string Ownership::spoiled(const std::string& wanted_image) const {
  if (!wanted()) return "its job was stopped";
  if (owner_gone()) return fmt::format("{} is not heard of", record_.owner_name);
  const std::string asked = image_of(*job_);
  if (asked != wanted_image) return fmt::format("its job was changed meanwhile, and asks for '{}'", asked);
  return {};
}

void Ownership::look_at_upgrade() {
  auto& upgrade = *record_.upgrade;
  if (record_.owner != upgrade.node) {
    return finish_upgrade(fmt::format("{}; {} runs it, from the copy there", upgrade.error, record_.owner_name), true);
  }
  if (record_.move) return;  // a failover has the word
  if (const auto look = upgrade_work().look; look != nullptr) (this->*look)();
}

void Ownership::before_the_upgrade() {
  adopt();
  if (const auto why = spoiled(record_.upgrade->from_image); !why.empty()) finish_upgrade(why, false);
}

/// What does not run has nothing to flush.
void Ownership::about_to_stop() {
  before_the_upgrade();
  if (record_.upgrade && heard_of(record_.owner) && !runs() && begin_stop()) advance_upgrade();
}

void Ownership::upgrade_stops() {
  if (const auto why = spoiled(record_.upgrade->to_image); !why.empty()) return give_up(why);
  if (ended()) {
    leave_it();
    return advance_upgrade();
  }
  const auto row = may_run();
  if (row && row->server_terminal()) return;
  if (past(record_.upgrade->phase_at, upgrade_limit()))
    give_up(fmt::format("{} has no place for it: `underway job status {}` says why", record_.owner_name, record_.job));
}

/// It has ended: its row may be collected, and one that failed is replaced now and not after its delay.
void Ownership::leave_it() {
  const auto row = may_run();
  if (row && !row->server_terminal()) {
    model::Allocation changed = *row;
    changed.desired_status = model::DesiredStatus::stop;
    changed.desired_description = "the capsule is upgraded";
    put(std::move(changed));
    evaluate();
  }
  record_.allocation.clear();
}

/// Without a limit of time: what is done to the overlay ends by itself, and nothing may start before it has.
void Ownership::overlay_at_work() {
  if (const auto why = spoiled(record_.upgrade->to_image); !why.empty()) give_up(why);
}

void Ownership::upgrade_starts() {
  const auto& upgrade = *record_.upgrade;
  if (const auto why = spoiled(upgrade.to_image); !why.empty()) return give_up(why);
  const auto fits = [&](const model::Allocation& row) { return row.job && image_of(*row.job) == upgrade.to_image; };
  if (record_.allocation.empty()) adopt(fits);
  if (runs()) return advance_upgrade();
  const auto row = may_run();
  if (row && row->client_terminal()) {
    return give_up(fmt::format("it did not start: {}",
                               row->client_description.empty() ? "its tasks ended" : row->client_description));
  }
  const auto limit = patience(upgrade_limit());
  if (past(upgrade.phase_at, limit)) give_up(fmt::format("it did not start within {}", human_duration(limit)));
}

void Ownership::upgrade_is_checked() {
  if (const auto why = spoiled(record_.upgrade->to_image); !why.empty()) return give_up(why);
  const auto row = may_run();
  if (!row || row->client_terminal()) return give_up("it ended before its check passed");
  const auto limit = patience(upgrade_limit());
  if (past(record_.upgrade->phase_at, limit)) {
    give_up(fmt::format("its check did not pass within {}{}{}", human_duration(limit),
                        record_.description.empty() ? "" : ": ", record_.description));
  }
}

void Ownership::upgrade_rolls_back() {
  const auto& upgrade = *record_.upgrade;
  const auto row = may_run();
  const bool untouched = upgrade.snapshot.empty() && row && !row->server_terminal() && !row->client_terminal();
  if (untouched) return finish_upgrade(upgrade.error, false);
  if (ended()) {
    leave_it();
    return advance_upgrade();
  }
  overlay_goes_back();
}

void Ownership::overlay_goes_back() {
  if (!owner_gone()) return;
  record_.description = fmt::format(
      "{} is not heard of, and has what the upgrade left; it goes back when {} is, or another node has a copy from "
      "before",
      record_.owner_name, record_.owner_name);
  if (wanted()) look_for_another();
}

void Ownership::starts_again() {
  const auto& upgrade = *record_.upgrade;
  if (!wanted()) return finish_upgrade(upgrade.error, true);
  const auto fits = [&](const model::Allocation& row) {
    return upgrade.restores || (row.job && image_of(*row.job) != upgrade.to_image);
  };
  adopt(fits);
  const auto row = may_run();
  if (runs() && fits(*row)) return advance_upgrade();
  if (owner_gone())
    return finish_upgrade(fmt::format("{}; and {} is not heard of", upgrade.error, record_.owner_name), true);
  if (!past(upgrade.phase_at, upgrade_limit())) return;
  const std::string error = fmt::format("{}; and it does not start again", upgrade.error);
  finish_upgrade(error, true);
  record_.state = CapsuleState::failed;
  record_.description = error;
}

void Ownership::is_checked_again() {
  const auto& upgrade = *record_.upgrade;
  if (!wanted()) return finish_upgrade(upgrade.error, true);
  const auto row = may_run();
  if (owner_gone())
    return finish_upgrade(fmt::format("{}; and {} is not heard of", upgrade.error, record_.owner_name), true);
  if (!row || row->client_terminal())
    return finish_upgrade(fmt::format("{}; and it ended again before its check passed", upgrade.error), true);
  if (past(upgrade.phase_at, upgrade_limit()))
    finish_upgrade(fmt::format("{}; and its check does not pass again: {}", upgrade.error, record_.description), true);
}

// --- what was done

void Ownership::note(const UpgradeOutcome& outcome) {
  const auto done = upgrade_work().done;
  if (done != nullptr && (this->*done)(outcome)) advance_upgrade();
}

bool Ownership::looked(const UpgradeOutcome& outcome) {
  auto& upgrade = *record_.upgrade;
  const auto& found = outcome.looked;
  upgrade.from_means = found.from;
  note_running(found.running);
  upgrade.to_digest = found.to;
  if (upgrade.restores && found.to != found.running && !found.running.empty()) {
    finish_upgrade(fmt::format("'{}' means another image than the one that it runs: upgrade it before, or after",
                               upgrade.to_image),
                   false);
    return false;
  }
  if (upgrade.data.empty() && found.to == found.running && !upgrade.rehearse_only) {
    finish_upgrade(fmt::format("it runs '{}' already", upgrade.to_image), false);
    return false;
  }
  return true;
}

bool Ownership::rehearsed(const UpgradeOutcome& outcome) {
  if (!outcome.rehearsal) return false;
  auto& upgrade = *record_.upgrade;
  const auto& found = *outcome.rehearsal;
  upgrade.rehearsal = found;
  upgrade.scripts.clear();
  std::string refused;
  if (!found.passed())
    refused = fmt::format("in the rehearsal {}", found.problem());
  else if (!upgrade.rehearse_only && found.digest != upgrade.to_digest)
    refused = fmt::format("'{}' means another image since it was looked at", upgrade.to_image);
  if (refused.empty() && !upgrade.rehearse_only) return true;
  finish_upgrade(refused, false);
  return false;
}

bool Ownership::told_of_the_upgrade(const UpgradeOutcome& outcome) {
  auto& upgrade = *record_.upgrade;
  if (outcome.looked.to != upgrade.to_digest) {
    finish_upgrade(fmt::format("'{}' means another image since the rehearsal", upgrade.to_image), false);
    return false;
  }
  upgrade.from_means = outcome.looked.from;
  note_running(outcome.looked.running);
  return begin_stop();
}

bool Ownership::saved(const UpgradeOutcome& outcome) {
  record_.upgrade->snapshot = outcome.saved.snapshot;
  record_.upgrade->snapshot_at = outcome.saved.at;
  note_running(outcome.saved.running);
  return true;
}

bool Ownership::installed(const UpgradeOutcome&) { return true; }

bool Ownership::upgraded(const UpgradeOutcome&) {
  auto& upgrade = *record_.upgrade;
  upgrade.gap = Duration(now() - upgrade.stopped_at);
  if (upgrade.data.empty()) {
    record_.way_back = {upgrade.node,     upgrade.node_name, upgrade.back_image, upgrade.from_digest,
                        upgrade.to_image, upgrade.snapshot,  upgrade.snapshot_at};
  } else {
    // What copies hold of a time that a restore has undone must not come back by a failover.
    forget_replicas(upgrade.restores ? 0 : record_.way_back ? record_.way_back->at : upgrade.started_at);
    record_.way_back.reset();
  }
  return true;
}

/// Nothing was saved yet: what ran last is known only now, and the job asks for the way back already.
bool Ownership::overlay_is_back(const UpgradeOutcome& outcome) {
  if (!record_.upgrade->snapshot.empty()) return true;
  const std::string before = record_.upgrade->back_image;
  note_running(outcome.saved.running);
  if (wanted() && image_of(*job_) == before) ask_for(record_.upgrade->back_image);
  return true;
}

bool Ownership::works_again(const UpgradeOutcome&) {
  record_.upgrade->gap = Duration(now() - record_.upgrade->stopped_at);
  return true;
}

// --- what is to be done

Todo Ownership::upgrade_todo() const {
  const auto& upgrade = *record_.upgrade;
  const auto& work = upgrade_work();
  if (work.row.does == Action::none || !heard_of(upgrade.node)) return {};
  Todo todo{.action = work.row.does, .who = work.row.who, .node = upgrade.node, .upgrade = true};
  if (work.snapshot != nullptr) todo.snapshot = upgrade.*work.snapshot;
  return todo;
}

}  // namespace underway::ownership::detail
