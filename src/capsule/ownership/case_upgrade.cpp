// What is done in the phases of an upgrade, whose table is in upgrade_phases.cpp.
#include "ownership/detail/case.hpp"

#include "base/clock.hpp"

namespace underway::ownership::detail {

using model::CapsuleState;
using model::UpgradePhase;

void Case::begin_upgrade(model::CapsuleUpgrade upgrade) {
  upgrade.id = context_.ids.uuid();
  upgrade.node = c_.owner;
  upgrade.node_name = c_.owner_name;
  upgrade.from_image = upgrade.back_image = image_of(*job_);
  upgrade.started_at = now();
  c_.upgrade = std::move(upgrade);
  enter(first_phase(*c_.upgrade));
}

void Case::enter(UpgradePhase phase) {
  c_.upgrade->phase = phase;
  c_.upgrade->phase_at = now();
  c_.upgrade->attempts = 0;
  c_.state = CapsuleState::upgrading;
  c_.description.clear();
}

void Case::finish_upgrade(const std::string& error, bool rolled_back) {
  auto& upgrade = *c_.upgrade;
  upgrade.phase = UpgradePhase::done;
  upgrade.ended_at = now();
  upgrade.error = error;
  upgrade.rolled_back = rolled_back;
  upgrade.scripts.clear();
  // Copies that were made since hold what the image that failed has written.
  if (rolled_back) forget_replicas(upgrade.stopped_at);
  c_.last_upgrade = std::move(upgrade);
  c_.upgrade.reset();
  c_.state = CapsuleState::held;
  c_.description.clear();
}

void Case::advance_upgrade() {
  const auto next = next_phase(*c_.upgrade);
  if (next == UpgradePhase::done) return finish_upgrade(c_.upgrade->error, upgrade_work().row.stretch == Stretch::back);
  enter(next);
}

void Case::forget_replicas(std::int64_t since) {
  std::erase_if(c_.replicas, [&](const auto& one) { return one.at >= since; });
}

bool Case::begin_stop() {
  const auto at = node(c_.owner);
  if (!at || !at->ready()) {
    finish_upgrade(fmt::format("{} is drained, or takes no new allocations", c_.owner_name), false);
    return false;
  }
  c_.upgrade->stopped_at = now();
  ask_for(c_.upgrade->to_image);
  stop_it();
  return true;
}

/// Of a restore, whose job stays as it is: nothing else would stop what runs.
void Case::stop_it() {
  const auto row = may_run();
  if (!c_.upgrade->restores || !row || row->server_terminal()) return;
  model::Allocation changed = *row;
  changed.desired_status = model::DesiredStatus::stop;
  changed.desired_description = "the capsule is restored";
  put(std::move(changed));
  evaluate();
}

void Case::note_running(const std::string& digest) {
  auto& upgrade = *c_.upgrade;
  upgrade.from_digest = digest;
  const bool same = digest.empty() || upgrade.from_means.empty() || upgrade.from_means == digest;
  upgrade.back_image = same ? upgrade.from_image : digest;
}

void Case::give_up(const std::string& error) {
  auto& upgrade = *c_.upgrade;
  const auto otherwise = upgrade_work().row.otherwise;
  if (otherwise == UpgradePhase::done) return finish_upgrade(error, false);
  upgrade.error = error;
  // What somebody else made of the job meanwhile is left as it is: he gets it, with the data from before.
  if (wanted() && image_of(*job_) == upgrade.to_image) ask_for(upgrade.back_image);
  enter(otherwise);
  stop_it();
}

void Case::ask_for(const std::string& image) {
  if (!job_ || image_of(*job_) == image) return;
  job_ = std::make_shared<const model::Job>(with_image(*job_, c_.group, image));
  register_ = true;
}

Duration Case::patience(Duration usual) const {
  Duration rehearsed{0};
  if (c_.upgrade->rehearsal) {
    for (const auto& one : c_.upgrade->rehearsal->findings) {
      if (one.name == "start" || one.name == "check") rehearsed += one.took;
    }
  }
  return std::max(usual, 3 * rehearsed);
}

std::string Case::spoiled(const std::string& wanted_image) const {
  if (!wanted()) return "its job was stopped";
  if (owner_gone()) return fmt::format("{} is not heard of", c_.owner_name);
  const std::string asked = image_of(*job_);
  if (asked != wanted_image) return fmt::format("its job was changed meanwhile, and asks for '{}'", asked);
  return {};
}

void Case::look_at_upgrade() {
  auto& upgrade = *c_.upgrade;
  if (c_.owner != upgrade.node) {
    return finish_upgrade(fmt::format("{}; {} runs it, from the copy there", upgrade.error, c_.owner_name), true);
  }
  if (c_.move) return;  // a failover has the word
  if (const auto look = upgrade_work().look; look != nullptr) (this->*look)();
}

void Case::before_the_upgrade() {
  adopt();
  if (const auto why = spoiled(c_.upgrade->from_image); !why.empty()) finish_upgrade(why, false);
}

/// What does not run has nothing to flush.
void Case::about_to_stop() {
  before_the_upgrade();
  if (c_.upgrade && heard_of(c_.owner) && !runs() && begin_stop()) advance_upgrade();
}

void Case::upgrade_stops() {
  if (const auto why = spoiled(c_.upgrade->to_image); !why.empty()) return give_up(why);
  if (ended()) {
    leave_it();
    return advance_upgrade();
  }
  const auto row = may_run();
  if (row && row->server_terminal()) return;
  if (past(c_.upgrade->phase_at, upgrade_limit()))
    give_up(fmt::format("{} has no place for it: `underway job status {}` says why", c_.owner_name, c_.job));
}

/// It has ended: its row may be collected, and one that failed is replaced now and not after its delay.
void Case::leave_it() {
  const auto row = may_run();
  if (row && !row->server_terminal()) {
    model::Allocation changed = *row;
    changed.desired_status = model::DesiredStatus::stop;
    changed.desired_description = "the capsule is upgraded";
    put(std::move(changed));
    evaluate();
  }
  c_.allocation.clear();
}

/// Without a limit of time: what is done to the overlay ends by itself, and nothing may start before it has.
void Case::overlay_at_work() {
  if (const auto why = spoiled(c_.upgrade->to_image); !why.empty()) give_up(why);
}

void Case::upgrade_starts() {
  const auto& upgrade = *c_.upgrade;
  if (const auto why = spoiled(upgrade.to_image); !why.empty()) return give_up(why);
  const auto fits = [&](const model::Allocation& row) { return row.job && image_of(*row.job) == upgrade.to_image; };
  if (c_.allocation.empty()) adopt(fits);
  if (runs()) return advance_upgrade();
  const auto row = may_run();
  if (row && row->client_terminal()) {
    return give_up(fmt::format("it did not start: {}",
                               row->client_description.empty() ? "its tasks ended" : row->client_description));
  }
  const auto limit = patience(upgrade_limit());
  if (past(upgrade.phase_at, limit)) give_up(fmt::format("it did not start within {}", human_duration(limit)));
}

void Case::upgrade_is_checked() {
  if (const auto why = spoiled(c_.upgrade->to_image); !why.empty()) return give_up(why);
  const auto row = may_run();
  if (!row || row->client_terminal()) return give_up("it ended before its check passed");
  const auto limit = patience(upgrade_limit());
  if (past(c_.upgrade->phase_at, limit)) {
    give_up(fmt::format("its check did not pass within {}{}{}", human_duration(limit),
                        c_.description.empty() ? "" : ": ", c_.description));
  }
}

void Case::upgrade_rolls_back() {
  const auto& upgrade = *c_.upgrade;
  const auto row = may_run();
  const bool untouched = upgrade.snapshot.empty() && row && !row->server_terminal() && !row->client_terminal();
  if (untouched) return finish_upgrade(upgrade.error, false);
  if (ended()) {
    leave_it();
    return advance_upgrade();
  }
  overlay_goes_back();
}

void Case::overlay_goes_back() {
  if (!owner_gone()) return;
  c_.description = fmt::format(
      "{} is not heard of, and has what the upgrade left; it goes back when {} is, or another node has a copy from "
      "before",
      c_.owner_name, c_.owner_name);
  if (wanted()) look_for_another();
}

void Case::starts_again() {
  const auto& upgrade = *c_.upgrade;
  if (!wanted()) return finish_upgrade(upgrade.error, true);
  const auto fits = [&](const model::Allocation& row) {
    return upgrade.restores || (row.job && image_of(*row.job) != upgrade.to_image);
  };
  adopt(fits);
  const auto row = may_run();
  if (runs() && fits(*row)) return advance_upgrade();
  if (owner_gone())
    return finish_upgrade(fmt::format("{}; and {} is not heard of", upgrade.error, c_.owner_name), true);
  if (!past(upgrade.phase_at, upgrade_limit())) return;
  const std::string error = fmt::format("{}; and it does not start again", upgrade.error);
  finish_upgrade(error, true);
  c_.state = CapsuleState::failed;
  c_.description = error;
}

void Case::is_checked_again() {
  const auto& upgrade = *c_.upgrade;
  if (!wanted()) return finish_upgrade(upgrade.error, true);
  const auto row = may_run();
  if (owner_gone())
    return finish_upgrade(fmt::format("{}; and {} is not heard of", upgrade.error, c_.owner_name), true);
  if (!row || row->client_terminal())
    return finish_upgrade(fmt::format("{}; and it ended again before its check passed", upgrade.error), true);
  if (past(upgrade.phase_at, upgrade_limit()))
    finish_upgrade(fmt::format("{}; and its check does not pass again: {}", upgrade.error, c_.description), true);
}

// --- what was done

void Case::note(const UpgradeOutcome& outcome) {
  const auto done = upgrade_work().done;
  if (done != nullptr && (this->*done)(outcome)) advance_upgrade();
}

bool Case::looked(const UpgradeOutcome& outcome) {
  auto& upgrade = *c_.upgrade;
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

bool Case::rehearsed(const UpgradeOutcome& outcome) {
  if (!outcome.rehearsal) return false;
  auto& upgrade = *c_.upgrade;
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

bool Case::told_of_the_upgrade(const UpgradeOutcome& outcome) {
  auto& upgrade = *c_.upgrade;
  if (outcome.looked.to != upgrade.to_digest) {
    finish_upgrade(fmt::format("'{}' means another image since the rehearsal", upgrade.to_image), false);
    return false;
  }
  upgrade.from_means = outcome.looked.from;
  note_running(outcome.looked.running);
  return begin_stop();
}

bool Case::saved(const UpgradeOutcome& outcome) {
  c_.upgrade->snapshot = outcome.saved.snapshot;
  c_.upgrade->snapshot_at = outcome.saved.at;
  note_running(outcome.saved.running);
  return true;
}

bool Case::installed(const UpgradeOutcome&) { return true; }

bool Case::upgraded(const UpgradeOutcome&) {
  auto& upgrade = *c_.upgrade;
  upgrade.gap = Duration(now() - upgrade.stopped_at);
  if (upgrade.data.empty()) {
    c_.way_back = {upgrade.node,     upgrade.node_name, upgrade.back_image, upgrade.from_digest,
                   upgrade.to_image, upgrade.snapshot,  upgrade.snapshot_at};
  } else {
    // What copies hold of a time that a restore has undone must not come back by a failover.
    forget_replicas(upgrade.restores ? 0 : c_.way_back ? c_.way_back->at : upgrade.started_at);
    c_.way_back.reset();
  }
  return true;
}

/// Nothing was saved yet: what ran last is known only now, and the job asks for the way back already.
bool Case::overlay_is_back(const UpgradeOutcome& outcome) {
  if (!c_.upgrade->snapshot.empty()) return true;
  const std::string before = c_.upgrade->back_image;
  note_running(outcome.saved.running);
  if (wanted() && image_of(*job_) == before) ask_for(c_.upgrade->back_image);
  return true;
}

bool Case::works_again(const UpgradeOutcome&) {
  c_.upgrade->gap = Duration(now() - c_.upgrade->stopped_at);
  return true;
}

// --- what is to be done

Todo Case::upgrade_todo() const {
  const auto& upgrade = *c_.upgrade;
  const auto& work = upgrade_work();
  if (work.row.does == Action::none || !heard_of(upgrade.node)) return {};
  Todo todo{.action = work.row.does, .who = work.row.who, .node = upgrade.node, .upgrade = true};
  if (work.snapshot != nullptr) todo.snapshot = upgrade.*work.snapshot;
  return todo;
}

}  // namespace underway::ownership::detail
