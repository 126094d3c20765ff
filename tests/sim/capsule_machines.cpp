// The machines of a CapsuleHistory and the operations of its controller.
#include "base/text.hpp"
#include "sim/capsule_history.hpp"

namespace underway::sim {

using model::CapsuleState;
using model::ClientStatus;
using model::MoveKind;
using model::MovePhase;
using ownership::Action;
using server::Context;
using tables::Tables;

int number_of(const std::string& image) { return std::stoi(image.substr(4)); }

namespace {

constexpr int kSilence = 3;  // steps without a word before a node is declared silent

}  // namespace

// --- machines

void CapsuleHistory::join(Machine& machine) {
  std::vector<model::AllocationUpdate> has;
  for (const auto& [id, local] : machine.locals) {
    if (!local.over()) has.push_back(server::testing::report(id, local.status, local.status == ClientStatus::running));
  }
  bool done = false;
  act([&](const Tables& t, const Context& c) {
    auto decision = decide(t, server::RegisterNode{machine.node, "secret", has}, c);
    done = true;
    return decision;
  });
  if (!done || !server_ || !machine.power || !machine.agent || !machine.link) return;
  machine.registered = true;
  machine.silent = 0;
  machine.orders = std::make_unique<server::Orders>(machine.node.id);
}

void CapsuleHistory::live(Machine& machine, bool faults) {
  if (!machine.registered) ++machine.silent;
  if (!machine.power) {
    if (!machine.stays_off && (faults ? chance(0.1) : machine.silent > 12)) restore_power(machine);
    return;
  }
  if (faults && chance(0.012)) return cut_power(machine);
  if (faults && chance(0.03)) machine.agent = machine.registered = false;
  if (!machine.agent) machine.late.reset();
  if (faults && chance(0.03)) machine.link = machine.registered = false;
  if (!machine.agent && (faults ? chance(0.3) : machine.silent > 2)) machine.agent = true;
  if (!machine.link && (faults ? chance(0.2) : machine.silent > 12)) machine.link = true;
  if (!machine.agent) return;
  const auto row = desk_.tables.find_node(machine.node.id);
  if (machine.registered && (!row || row->status != model::NodeStatus::ready)) machine.registered = false;
  if (!machine.registered && machine.link && server_) join(machine);
  if (machine.registered && now(0.8)) obey(machine);
  do_late(machine, faults);
  work(machine, faults);
  if (machine.registered && now(0.8)) tell(machine);
}

void CapsuleHistory::obey(Machine& machine) {
  const auto message = machine.orders->next(desk_.tables, dependents_);
  if (!message) return;
  event();
  if (!machine.reachable()) return;  // it was on its way
  std::set<std::string> wanted;
  for (const auto& order : message->set) {
    wanted.insert(order.allocation.id);
    const auto [it, fresh] = machine.locals.try_emplace(order.allocation.id);
    Local& local = it->second;
    local.order = order;
    local.held = false;
    if (!fresh) continue;
    local.told = false;
    if (order.allocation.client_terminal()) local.status = ClientStatus::complete;
    if (order.allocation.server_terminal()) local.status = ClientStatus::complete;
  }
  // What the server has forgotten is stopped; until it has ended the node keeps it.
  for (auto& [id, local] : machine.locals) {
    const bool removed = std::find(message->remove.begin(), message->remove.end(), id) != message->remove.end() ||
                         (message->full && !wanted.contains(id));
    if (removed) local.order.allocation.desired_status = model::DesiredStatus::stop;
  }
}

/// Who owns it after a failover, or after a move that went back, has what counts from then on.
void CapsuleHistory::note_owner() {
  const auto row = capsule();
  if (!row || row->owner == owner_) return;
  owner_ = row->owner;
  const bool lossless =
      row->move && row->move->kind == MoveKind::planned && row->move->note.empty() && row->move->error.empty();
  const auto* machine = machine_of(owner_);
  if (!lossless && machine != nullptr) latest_ = machine->data;
}

void CapsuleHistory::begin(Machine& machine, Local& local) {
  local.status = ClientStatus::running;
  local.told = false;
  story_.push_back(
      fmt::format("{}: {} starts on {}", steps_, local.order.allocation.id.substr(0, 8), machine.node.name));
  note_owner();
  const auto row = capsule();
  const bool lossless = row && row->move && row->move->kind == MoveKind::planned && row->move->note.empty() &&
                        row->move->error.empty() && row->move->phase == MovePhase::start;
  if (lossless && row->owner == machine.node.id && machine.data != latest_)
    wrong(fmt::format("a planned move lost writes {} to {}", machine.data, latest_));
  check_start(machine, local);
  machine.ran = ownership::image_of(*local.order.allocation.job, "g");
  latest_ = machine.data;  // what others wrote and it has not is lost
}

void CapsuleHistory::work(Machine& machine, bool faults) {
  for (auto& [id, local] : machine.locals) {
    if (local.over()) continue;
    const auto before = local.status;
    if (local.order.allocation.server_terminal()) {
      if (now(0.5)) local.status = ClientStatus::complete;
    } else if (local.status == ClientStatus::pending) {
      if (!local.order.start || local.held || !now(0.7)) continue;
      event();
      if (!machine.power || !machine.agent) return;
      const auto bad = bad_.find(number_of(ownership::image_of(*local.order.allocation.job, "g")));
      if ((faults && chance(0.1)) || (bad != bad_.end() && bad->second == NewImage::does_not_start))
        local.status = ClientStatus::failed;
      else
        begin(machine, local);
    } else if (local.status == ClientStatus::running) {
      machine.data = latest_ = ++writes_;
      machine.format = number_of(ownership::image_of(*local.order.allocation.job, "g"));
      if (faults && chance(0.01)) local.status = ClientStatus::failed;
    }
    if (local.status != before) local.told = false;
    check();
  }
}

void CapsuleHistory::tell(Machine& machine) {
  std::vector<model::AllocationUpdate> updates;
  for (const auto& [id, local] : machine.locals) {
    if (local.told) continue;
    updates.push_back(server::testing::report(id, local.status, local.status == ClientStatus::running));
  }
  if (updates.empty()) return;
  event();
  if (!machine.reachable()) return;
  act(server::UpdateAllocations{machine.node.id, updates});
  for (auto& [id, local] : machine.locals) {
    const auto row = desk_.tables.find_allocation(id);
    local.told = !row || row->client_status == local.status || (row->client_terminal() && local.over());
  }
}

void CapsuleHistory::give_up_silent() {
  std::vector<std::string> silent;
  for (const auto& row : desk_.tables.nodes()) {
    const auto* machine = machine_of(row->id);
    if (machine == nullptr || (!machine->registered && machine->silent >= kSilence)) silent.push_back(row->id);
  }
  if (silent.empty()) return;
  act(server::MarkNodesDown{silent, "no heartbeat"});
  act(server::GiveNodesUp{silent});
}

// --- the controller

void CapsuleHistory::control(bool faults) {
  act([this](const Tables& t, const Context& c) { return decide(t, ownership::ReconcileCapsules{limits_}, c); });
  if (!server_) return;
  const auto row = capsule();
  if (!row) return;
  if (!operation_) {
    const auto todo = ownership::todo_of(desk_.tables, *row, limits_, desk_.clock.now());
    if (todo.action == Action::none) return;
    Operation operation;
    operation.todo = todo;
    if (row->move) operation.move_id = row->move->id;
    if (row->move) operation.phase = row->move->phase;
    if (row->upgrade) operation.upgrade_id = row->upgrade->id;
    if (row->upgrade) operation.upgrade_phase = row->upgrade->phase;
    operation.begun_at = unix_nanos(desk_.clock.now());
    operation.epoch = row->epoch;
    operation.silence = ownership::silence_of(desk_.tables, todo.node).value_or(-1);
    if (const auto* source = machine_of(row->owner)) {
      operation.seen = source->data;
      operation.format = source->format;
    }
    operation.steps = random_ ? number(0, todo.action == Action::fence ? 8 : 2) : 0;
    operation_ = operation;
    event();
    if (!server_) return;
  }
  if (operation_->steps-- > 0) return;
  const Operation operation = *std::exchange(operation_, std::nullopt);
  perform(operation, faults);
}

void CapsuleHistory::perform(const Operation& operation, bool faults) {
  if (operation.todo.action == Action::fence) return do_fence(operation, faults);
  if (operation.todo.upgrade) return perform_upgrade(operation, faults);
  ownership::Outcome outcome;
  outcome.begun_at = operation.begun_at;
  do_operation(operation, outcome, faults);
  story_.push_back(fmt::format("{}: operation {} in {}: {}; c1 {} c2 {} c3 {}", steps_,
                               static_cast<int>(operation.todo.action), describe::spell(operation.phase),
                               outcome.error.value_or("done"), machines_[0].data, machines_[1].data,
                               machines_[2].data));
  event();
  if (!server_) return;
  if (operation.todo.action == Action::replicate) {
    return act([&](const Tables& t, const Context& c) {
      return decide(t, ownership::NoteCopy{"default/svc", operation.todo.node, operation.epoch, outcome, limits_}, c);
    });
  }
  act([&](const Tables& t, const Context& c) {
    return decide(t, ownership::EndMoveStep{"default/svc", operation.move_id, operation.phase, outcome, limits_}, c);
  });
}

bool CapsuleHistory::do_operation(const Operation& operation, ownership::Outcome& outcome, bool faults) {
  const auto row = capsule();
  auto* target = machine_of(operation.todo.node);
  auto* source = row && row->move ? machine_of(row->move->source) : row ? machine_of(row->owner) : nullptr;
  const bool needs_source = operation.todo.action != Action::check && !operation.todo.alone;
  const bool there =
      target != nullptr && target->reachable() && (!needs_source || (source != nullptr && source->reachable()));
  if (!there || (faults && chance(0.1))) {
    outcome.error = "it does not answer";
    outcome.final = faults && chance(0.2);
    return false;
  }
  switch (operation.todo.action) {
    case Action::copy:
    case Action::replicate:
      outcome.consistent = operation.todo.consistent;
      if (!outcome.consistent) break;
      target->format = operation.seen < source->data ? operation.format : source->format;
      target->data = std::min(operation.seen, source->data);
      outcome.round.bytes = source->data - target->data;
      break;
    case Action::transfer:
      // A host that was fenced may be back; alone, the target works on what is its own.
      for (const auto& machine : machines_) {
        if (running(machine) && (!operation.todo.alone || &machine == target))
          wrong(fmt::format("the last difference is copied while it runs on {}", machine.node.name));
      }
      if (operation.todo.alone) break;
      target->data = source->data;
      target->format = source->format;
      outcome.consistent = true;
      break;
    case Action::check:
      if (!running(*target)) outcome.error = "nothing listens";
      break;
    default:
      break;
  }
  return !outcome.error;
}

void CapsuleHistory::do_fence(const Operation& operation, bool faults) {
  auto* machine = machine_of(operation.todo.node);
  if (machine != nullptr && !machine->can_be_fenced) {
    return act([this](const Tables& t, const Context& c) {
      return decide(t, ownership::NoteNotFenced{"default/svc", true, "its host has no provider", limits_}, c);
    });
  }
  if (faults && chance(0.3)) {
    return act([this](const Tables& t, const Context& c) {
      return decide(t, ownership::NoteNotFenced{"default/svc", false, "the provider does not answer", limits_}, c);
    });
  }
  if (machine != nullptr && machine->power) cut_power(*machine);
  event();
  if (!server_) return;
  // It takes a while until the answer is here: the machine may be back by then.
  if (machine != nullptr && !machine->stays_off && faults && chance(0.2)) {
    restore_power(*machine);
    if (machine->link) join(*machine);
    if (machine->registered) obey(*machine);
    work(*machine, faults);
  }
  act([&](const Tables& t, const Context& c) {
    return decide(t, ownership::NoteFenced{operation.todo.node, operation.silence, "its host was taken away", limits_},
                  c);
  });
}

}  // namespace underway::sim
