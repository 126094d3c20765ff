// Upgrades in a CapsuleHistory: who asks for them, what a node does for them, and what must hold of them.
#include "base/text.hpp"
#include "sim/capsule_history.hpp"

namespace underway::sim {

using model::UpgradePhase;
using ownership::Action;
using server::Context;
using tables::Tables;

bool CapsuleHistory::upgrading() const {
  const auto row = capsule();
  return row && row->upgrade;
}

int CapsuleHistory::image() const {
  const int at = working_on();
  return at < 0 ? 0 : number_of(machines_[static_cast<std::size_t>(at)].ran);
}

// --- people

void CapsuleHistory::begin_upgrade(NewImage image) { ask_for_upgrade(image, false); }

void CapsuleHistory::ask_for_upgrade(NewImage image, bool rehearse_only) {
  const int number = ++versions_;
  if (image != NewImage::works) bad_[number] = image;
  story_.push_back(fmt::format("{}: upgrade to {} ({})", steps_, number, static_cast<int>(image)));
  act([&](const Tables& t, const Context& c) {
    ownership::UpgradeRequest request;
    request.name = "svc";
    request.image = image_name(number);
    request.rehearse_only = rehearse_only;
    return decide(t, ownership::BeginUpgrade{request, limits_}, c);
  });
}

void CapsuleHistory::take_back() {
  story_.push_back(fmt::format("{}: take the upgrade back", steps_));
  act([this](const Tables& t, const Context& c) {
    ownership::UpgradeRequest request;
    request.name = "svc";
    request.back = true;
    return decide(t, ownership::BeginUpgrade{request, limits_}, c);
  });
}

void CapsuleHistory::keep_copies_on(int machine) {
  act([this, id = machines_[static_cast<std::size_t>(machine)].node.id](const Tables& t, const Context& c) {
    return decide(t, ownership::SetStandby{"default", "svc", id, std::chrono::seconds(20), Duration{0}, limits_}, c);
  });
}

// --- the controller

void CapsuleHistory::perform_upgrade(const Operation& operation, bool faults) {
  ownership::UpgradeOutcome outcome;
  do_upgrade(operation, outcome, faults);
  story_.push_back(fmt::format("{}: upgrade {}: {}", steps_, describe::spell(operation.upgrade_phase),
                               outcome.error.value_or("done")));
  event();
  if (!server_) return;
  act([&](const Tables& t, const Context& c) {
    return decide(
        t, ownership::EndUpgradeStep{"default/svc", operation.upgrade_id, operation.upgrade_phase, outcome, limits_},
        c);
  });
}

void CapsuleHistory::do_upgrade(const Operation& operation, ownership::UpgradeOutcome& outcome, bool faults) {
  auto* machine = machine_of(operation.todo.node);
  const auto row = capsule();
  if (!row || !row->upgrade) return;
  const auto& upgrade = *row->upgrade;
  const bool there = machine != nullptr && machine->reachable();
  const auto action = operation.todo.action;
  const bool overlay = action == Action::snapshot || action == Action::restore;
  if (!there || (faults && chance(0.15))) {
    outcome.error = "it does not answer";
    outcome.final = faults && chance(0.2);
    // The node may have heard of it, and go on with it.
    if (there && overlay && chance(0.5)) machine->late = {++machine->turn, operation.todo};
    return;
  }
  const auto bad = bad_.find(number_of(upgrade.to_image));
  switch (action) {
    case Action::look:
    case Action::before_stop:
      outcome.looked = {machine->ran, upgrade.from_image, upgrade.to_image};
      if (faults && chance(0.03)) outcome.looked.to = "another";
      break;
    case Action::rehearse:
      outcome.rehearsal.emplace().digest = upgrade.to_image;
      outcome.rehearsal->findings = {{"start", !faults || chance(0.8), 0, "", {}}};
      break;
    case Action::snapshot:
      ++machine->turn;
      work_on_overlay(*machine, operation.todo, operation.upgrade_id);
      outcome.saved = {operation.upgrade_id, unix_nanos(desk_.clock.now()), machine->ran};
      break;
    case Action::restore:
      ++machine->turn;
      work_on_overlay(*machine, operation.todo, operation.upgrade_id);
      outcome.saved.running = machine->ran;
      break;
    case Action::check:
      if (!running(*machine))
        outcome.error = "nothing listens";
      else if (bad != bad_.end() && bad->second == NewImage::fails_its_check && machine->ran == upgrade.to_image)
        outcome.error = "it shows no jobs";
      break;
    default:
      break;
  }
}

// --- a node

/// Its agent refuses while the capsule runs; and what is saved for an upgrade is saved once.
void CapsuleHistory::work_on_overlay(Machine& machine, const ownership::Todo& todo, const std::string& upgrade_id) {
  if (todo.action == Action::restore && todo.snapshot.empty()) return;
  if (running(machine)) wrong(fmt::format("the overlay is worked on while it runs on {}", machine.node.name));
  if (todo.action == Action::snapshot) {
    machine.snapshots.try_emplace(upgrade_id, machine.data, machine.format);
    return;
  }
  const auto found = machine.snapshots.find(todo.snapshot);
  if (found == machine.snapshots.end()) return wrong("a snapshot is asked for that is not there");
  std::tie(machine.data, machine.format) = found->second;
  latest_ = machine.data;
}

/// What the server gave up and the node has begun: it is done late, unless something else was asked for since.
void CapsuleHistory::do_late(Machine& machine, bool faults) {
  if (!machine.late || !(faults ? chance(0.4) : true)) return;
  const auto [turn, todo] = *std::exchange(machine.late, std::nullopt);
  if (turn != machine.turn) return;
  work_on_overlay(machine, todo, "late");
}

// --- what must hold

void CapsuleHistory::check_start(const Machine& machine, const Local& local) {
  const int number = number_of(ownership::image_of(*local.order.allocation.job, "g"));
  const auto row = capsule();
  // Who starts it with what there is gets what there is.
  const auto* move = row && row->move ? &*row->move : row && row->last_move ? &*row->last_move : nullptr;
  const bool anyway = move != nullptr && move->without_overlay;
  if (number < machine.format && !anyway)
    wrong(fmt::format("image {} starts from what image {} has written", number, machine.format));
  if (!row || !row->upgrade || row->upgrade->node != machine.node.id) return;
  const auto& upgrade = *row->upgrade;
  const auto data_of = [&](const std::string& snapshot) {
    const auto found = machine.snapshots.find(snapshot);
    return snapshot.empty() || found == machine.snapshots.end() ? latest_ : found->second.first;
  };
  const bool forward = upgrade.phase == UpgradePhase::start, back = upgrade.phase == UpgradePhase::restart;
  if (!forward && !back) return;
  if (forward && machine.data != data_of(upgrade.data))
    wrong(fmt::format("an upgrade starts from {} and not from {}", machine.data, data_of(upgrade.data)));
  if (forward && number != number_of(upgrade.to_image)) wrong(fmt::format("an upgrade starts image {}", number));
  // It may fail and start again, from what it has written since.
  const bool first = back && std::exchange(restarted_, upgrade.id) != upgrade.id;
  if (back && machine.data != (first ? data_of(upgrade.snapshot) : latest_))
    wrong(fmt::format("after an upgrade that failed it starts from {} and not from {}", machine.data,
                      data_of(upgrade.snapshot)));
  if (back && number == number_of(upgrade.to_image)) wrong("after an upgrade that failed its image starts again");
}

void CapsuleHistory::note_upgrades() {
  const auto row = capsule();
  if (!row || !row->last_upgrade || row->last_upgrade->id == last_upgrade_) return;
  const auto& last = *row->last_upgrade;
  last_upgrade_ = last.id;
  if (last.took_place()) ++upgrades_;
  if (last.rolled_back) ++rolled_back_;
  story_.push_back(fmt::format("{}: an upgrade to {} ended: {}{}", steps_, last.to_image,
                               last.error.empty() ? "well" : last.error, last.rolled_back ? " (went back)" : ""));
}

}  // namespace underway::sim
