// The phases of an upgrade: docs/explanation/upgrade.md.
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
  enter(UpgradePhase::stage);
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

void Case::upgraded() {
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
  finish_upgrade("", false);
}

void Case::forget_replicas(std::int64_t since) {
  std::erase_if(c_.replicas, [&](const auto& one) { return one.at >= since; });
}

void Case::begin_stop() {
  const auto at = node(c_.owner);
  if (!at || !at->ready())
    return finish_upgrade(fmt::format("{} is drained, or takes no new allocations", c_.owner_name), false);
  c_.upgrade->stopped_at = now();
  ask_for(c_.upgrade->to_image);
  enter(UpgradePhase::stop);
  stop_it();
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

void Case::go_on_with(const std::string& digest) {
  const std::string before = c_.upgrade->back_image;
  note_running(digest);
  if (wanted() && image_of(*job_) == before) ask_for(c_.upgrade->back_image);
}

void Case::give_up(const std::string& error) {
  auto& upgrade = *c_.upgrade;
  if (upgrade.phase < UpgradePhase::stop) return finish_upgrade(error, false);
  upgrade.error = error;
  // What somebody else made of the job meanwhile is left as it is: he gets it, with the data from before.
  if (wanted() && image_of(*job_) == upgrade.to_image) ask_for(upgrade.back_image);
  enter(UpgradePhase::roll_back);
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

void Case::step_upgrade() {
  auto& upgrade = *c_.upgrade;
  if (c_.owner != upgrade.node) {
    return finish_upgrade(fmt::format("{}; {} runs it, from the copy there", upgrade.error, c_.owner_name), true);
  }
  if (c_.move) return;  // a failover has the word
  switch (upgrade.phase) {
    case UpgradePhase::stage:
    case UpgradePhase::rehearse:
    case UpgradePhase::before_stop:
      return before_the_upgrade();
    case UpgradePhase::stop:
      return upgrade_stops();
    case UpgradePhase::snapshot:
    case UpgradePhase::install:
      // Without a limit of time: what is done to the overlay ends by itself, and nothing may start before it has.
      if (const auto why = spoiled(upgrade.to_image); !why.empty()) give_up(why);
      return;
    case UpgradePhase::start:
      return upgrade_starts();
    case UpgradePhase::check:
      return upgrade_is_checked();
    case UpgradePhase::roll_back:
    case UpgradePhase::restore:
      return upgrade_goes_back();
    case UpgradePhase::restart:
      return starts_again();
    case UpgradePhase::recheck:
      return is_checked_again();
    case UpgradePhase::done:
      return;
  }
}

void Case::before_the_upgrade() {
  adopt();
  if (const auto why = spoiled(c_.upgrade->from_image); !why.empty()) return finish_upgrade(why, false);
  // What does not run has nothing to flush.
  if (c_.upgrade->phase == UpgradePhase::before_stop && heard_of(c_.owner) && !runs()) begin_stop();
}

void Case::upgrade_stops() {
  if (const auto why = spoiled(c_.upgrade->to_image); !why.empty()) return give_up(why);
  if (ended()) {
    leave_it();
    return enter(UpgradePhase::snapshot);
  }
  const auto row = may_run();
  if (row && row->server_terminal()) return;
  if (past(c_.upgrade->phase_at, limits_.place))
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

void Case::upgrade_starts() {
  const auto& upgrade = *c_.upgrade;
  if (const auto why = spoiled(upgrade.to_image); !why.empty()) return give_up(why);
  const auto fits = [&](const model::Allocation& row) { return row.job && image_of(*row.job) == upgrade.to_image; };
  if (c_.allocation.empty()) adopt(fits);
  if (runs()) return enter(UpgradePhase::check);
  const auto row = may_run();
  if (row && row->client_terminal()) {
    return give_up(fmt::format("it did not start: {}",
                               row->client_description.empty() ? "its tasks ended" : row->client_description));
  }
  const auto limit = patience(limits_.start);
  if (past(upgrade.phase_at, limit)) give_up(fmt::format("it did not start within {}", human_duration(limit)));
}

void Case::upgrade_is_checked() {
  if (const auto why = spoiled(c_.upgrade->to_image); !why.empty()) return give_up(why);
  const auto row = may_run();
  if (!row || row->client_terminal()) return give_up("it ended before its check passed");
  const auto limit = patience(limits_.check);
  if (past(c_.upgrade->phase_at, limit)) {
    give_up(fmt::format("its check did not pass within {}{}{}", human_duration(limit),
                        c_.description.empty() ? "" : ": ", c_.description));
  }
}

void Case::upgrade_goes_back() {
  const auto& upgrade = *c_.upgrade;
  if (upgrade.phase == UpgradePhase::roll_back) {
    const auto row = may_run();
    const bool untouched = upgrade.snapshot.empty() && row && !row->server_terminal() && !row->client_terminal();
    if (untouched) return finish_upgrade(upgrade.error, false);
    if (ended()) {
      leave_it();
      return enter(UpgradePhase::restore);
    }
  }
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
  if (runs() && fits(*row)) return enter(UpgradePhase::recheck);
  if (owner_gone())
    return finish_upgrade(fmt::format("{}; and {} is not heard of", upgrade.error, c_.owner_name), true);
  if (!past(upgrade.phase_at, limits_.start)) return;
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
  if (past(upgrade.phase_at, limits_.check))
    finish_upgrade(fmt::format("{}; and its check does not pass again: {}", upgrade.error, c_.description), true);
}

Todo Case::upgrade_todo() const {
  const auto& upgrade = *c_.upgrade;
  if (!heard_of(upgrade.node)) return {};
  const auto on_it = [&](Action action, const std::string& snapshot = {}) {
    return Todo{.action = action, .node = upgrade.node, .upgrade = true, .snapshot = snapshot};
  };
  switch (upgrade.phase) {
    case UpgradePhase::stage:
      return on_it(Action::look);
    case UpgradePhase::rehearse:
      return on_it(Action::rehearse);
    case UpgradePhase::before_stop:
      return on_it(Action::before_stop);
    case UpgradePhase::snapshot:
      return on_it(Action::snapshot);
    case UpgradePhase::install:
      return on_it(Action::restore, upgrade.data);
    case UpgradePhase::restore:
      return on_it(Action::restore, upgrade.snapshot);
    case UpgradePhase::check:
    case UpgradePhase::recheck:
      return on_it(Action::check);
    case UpgradePhase::stop:
    case UpgradePhase::start:
    case UpgradePhase::roll_back:
    case UpgradePhase::restart:
    case UpgradePhase::done:
      break;
  }
  return {};
}

}  // namespace underway::ownership::detail
