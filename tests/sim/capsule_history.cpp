#include "sim/capsule_history.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "server/node/drain_decisions.hpp"

namespace underway::sim {

using model::CapsuleState;
using model::ClientStatus;
using model::MoveKind;
using model::MovePhase;
using ownership::Action;
using server::Context;
using server::testing::make_node;
using namespace std::chrono_literals;
using tables::Tables;

std::string image_name(int number) { return fmt::format("svc-{}.capsule", number); }

namespace {

model::Job capsule_job(int version) {
  model::Job job = server::testing::make_job("svc");
  auto& task = job.groups[0].tasks[0];
  task.driver = "capsule";
  task.config = boost::json::object{{"image", image_name(version)}};
  return job;
}

model::Node capsule_node(int number) {
  model::Node node = make_node(number);
  node.attributes["driver.capsule"] = "1";
  node.drivers["capsule"] = {true, true, "", {}};
  return node;
}

}  // namespace

CapsuleHistory::CapsuleHistory(Seed seed) {
  if (seed != 0) random_.emplace(seed);
  limits_.start = 60s;
  limits_.check = seed != 0 ? 40s : 4s;
  desk_.scheduling.home = [this](const auto& t, const auto& job, const auto& group) {
    return guard_.home(t, job, group);
  };
  for (int i = 0; i < 3; ++i) {
    Machine& machine = machines_.emplace_back();
    machine.node = capsule_node(++nodes_);
    machine.can_be_fenced = now(0.7);
    machine.keeps_disk = now(0.7);
    join(machine);
  }
  desk_.register_job(capsule_job(++versions_));
  // Copies of any age will do: what is lost is told, and looked at where nothing may be.
  for (int i = 0; i < 4; ++i) step(false);
  act([this](const Tables& t, const Context& c) {
    return decide(t, ownership::SetStandby{"default", "svc", "", Duration{0}, std::chrono::hours(24 * 365), limits_},
                  c);
  });
}

CapsuleHistory CapsuleHistory::calm() { return CapsuleHistory(0); }

std::string CapsuleHistory::description() const {
  std::string out;
  const std::size_t from = story_.size() > 60 ? story_.size() - 60 : 0;
  for (std::size_t i = from; i < story_.size(); ++i) out += "\n  " + story_[i];
  const auto row = capsule();
  if (row)
    out += fmt::format("\n  record: {} owner {} allocation {} epoch {} fenced {} phase {}: {}",
                       describe::spell(row->state), row->owner_name, row->allocation.substr(0, 8), row->epoch,
                       row->fenced, row->move ? describe::spell(row->move->phase) : "-", row->description);
  if (row && row->upgrade)
    out += fmt::format("\n  upgrade to {}: {} {}", row->upgrade->to_image, describe::spell(row->upgrade->phase),
                       row->upgrade->error);
  for (const auto& row_of : desk_.tables.allocations_of_job("default", "svc"))
    out += fmt::format("\n  {} on {}: {} {} {}", row_of->id.substr(0, 8), row_of->node_name,
                       describe::spell(row_of->desired_status), describe::spell(row_of->client_status),
                       row_of->desired_description);
  return out;
}

void CapsuleHistory::wrong(std::string what) {
  violations_.push_back(fmt::format("step {}, event {}: {}", steps_, events_, what));
}

std::optional<model::Capsule> CapsuleHistory::capsule() const {
  return tables::find_record<Capsule>(desk_.tables, "default/svc");
}

bool CapsuleHistory::moving() const {
  const auto row = capsule();
  return row && row->move;
}

CapsuleHistory::Machine* CapsuleHistory::machine_of(const std::string& node_id) {
  for (auto& machine : machines_) {
    if (machine.node.id == node_id) return &machine;
  }
  return nullptr;
}

bool CapsuleHistory::another_has_a_copy() const {
  const auto row = capsule();
  return row && std::any_of(row->replicas.begin(), row->replicas.end(),
                            [&](const auto& replica) { return replica.node != row->owner; });
}

bool CapsuleHistory::running(const Machine& machine) const {
  return machine.power && std::any_of(machine.locals.begin(), machine.locals.end(),
                                      [](const auto& entry) { return entry.second.status == ClientStatus::running; });
}

int CapsuleHistory::working_on() const {
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    if (running(machines_[i])) return static_cast<int>(i);
  }
  return -1;
}

// --- the server

void CapsuleHistory::crash_server() {
  story_.push_back(fmt::format("{}: the server dies", steps_));
  // What was asked for may be done all the same.
  if (operation_ && now(0.5)) {
    ownership::Outcome unheard;
    if (operation_->todo.action == Action::fence) {
      auto* machine = machine_of(operation_->todo.node);
      if (machine != nullptr && machine->can_be_fenced && machine->power) cut_power(*machine);
    } else if (operation_->todo.upgrade) {
      ownership::UpgradeOutcome nobody_hears;
      do_upgrade(*operation_, nobody_hears, false);
    } else {
      do_operation(*operation_, unheard, false);
    }
  }
  operation_.reset();
  server_ = false;
  server_back_in_ = number(0, 3);
  for (auto& machine : machines_) machine.registered = false;
}

void CapsuleHistory::start_server() {
  desk_.tables.load(desk_.store);
  dependents_ = server::Dependents(&guard_);
  for (auto& machine : machines_) machine.silent = 0;  // they have their time of grace
  server_ = true;
  desk_.schedule();
  check();
}

// --- deaths

void CapsuleHistory::event() {
  ++events_;
  if (!arm_ || events_ != arm_->event) return;
  strike();
}

void CapsuleHistory::arm(int at, Victim victim, bool comes_back) {
  events_ = 0;
  arm_ = Arm{at, victim, comes_back};
}

void CapsuleHistory::strike() {
  const auto row = capsule();
  const auto* move = row && row->move ? &*row->move : row && row->last_move ? &*row->last_move : nullptr;
  const auto* upgrade = row && row->upgrade ? &*row->upgrade : row && row->last_upgrade ? &*row->last_upgrade : nullptr;
  if (move == nullptr && upgrade == nullptr) return;
  auto* source = machine_of(upgrade != nullptr ? upgrade->node : move->source);
  auto* target = machine_of(upgrade != nullptr ? upgrade->node : move->target);
  const Victim victim = arm_->victim;
  const auto host = [&](Machine* machine) {
    if (machine == nullptr) return;
    cut_power(*machine);
    machine->stays_off = !arm_->comes_back;
  };
  switch (victim) {
    case Victim::server:
      return crash_server();
    case Victim::source_agent:
      source->agent = source->registered = false;
      return;
    case Victim::target_agent:
      target->agent = target->registered = false;
      return;
    case Victim::source_host:
      return host(source);
    case Victim::target_host:
      return host(target);
    case Victim::source_link:
      source->link = source->registered = false;
      return;
    case Victim::target_link:
      target->link = target->registered = false;
      return;
    case Victim::source_and_server:
      host(source);
      return crash_server();
    case Victim::target_and_server:
      host(target);
      return crash_server();
    case Victim::everything:
      for (auto& machine : machines_) cut_power(machine);
      return crash_server();
  }
}

void CapsuleHistory::cut_power(Machine& machine) {
  story_.push_back(fmt::format("{}: {} loses its power", steps_, machine.node.name));
  machine.power = machine.registered = false;
  machine.late.reset();
  for (auto& [id, local] : machine.locals) {
    if (!local.over()) local.status = ClientStatus::pending;
  }
}

void CapsuleHistory::restore_power(Machine& machine) {
  story_.push_back(fmt::format("{}: {} is switched on", steps_, machine.node.name));
  machine.power = machine.agent = true;
  if (!machine.keeps_disk) {
    machine.locals.clear();
    machine.data = machine.format = 0;
    machine.snapshots.clear();
    machine.node = capsule_node(++nodes_);
  }
  for (auto& [id, local] : machine.locals) {
    if (local.order.guarded && !local.over()) local.held = true;
  }
}

// --- people

void CapsuleHistory::begin_move(int machine) {
  act([this, id = machines_[static_cast<std::size_t>(machine)].node.id](const Tables& t, const Context& c) {
    return decide(t, ownership::BeginMove{{"default", "svc", id, false}, limits_}, c);
  });
}

void CapsuleHistory::administrate() {
  switch (number(0, 13)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      const auto id = any_machine().node.id;
      const bool anyway = chance(0.1);
      story_.push_back(fmt::format("{}: move to {}", steps_, id.substr(0, 8)));
      return act([&](const Tables& t, const Context& c) {
        return decide(t, ownership::BeginMove{{"default", "svc", id, anyway}, limits_}, c);
      });
    }
    case 4:
      return act([this](const Tables& t, const Context& c) {
        return decide(t, ownership::Cancel{"default", "svc", limits_}, c);
      });
    case 5:
      return act(server::RegisterJob{capsule_job(++versions_), {}, {}});
    case 6:
      if (chance(0.5)) return;
      story_.push_back(fmt::format("{}: the job is stopped", steps_));
      return act(server::DeregisterJob{"default", "svc", false});
    case 7:
    case 8: {
      server::DrainNode request;
      request.node_id = any_machine().node.id;
      request.mark_eligible = true;
      if (chance(0.4)) request.drain.emplace().deadline = chance(0.5) ? Duration(0) : Duration(60s);
      return act(request);
    }
    case 9:
      return take_back();
    case 10:
    case 11:
    case 12:
      return ask_for_upgrade(chance(0.6)   ? NewImage::works
                             : chance(0.5) ? NewImage::does_not_start
                                           : NewImage::fails_its_check,
                             chance(0.1));
    default:
      return act([this, id = any_machine().node.id](const Tables& t, const Context& c) {
        return decide(t, ownership::SetStandby{"default", "svc", id, 20s, Duration{0}, limits_}, c);
      });
  }
}

/// Somebody goes there and looks.
void CapsuleHistory::vouch() {
  const auto row = capsule();
  if (!row || row->state != CapsuleState::waiting_for_fence) return;
  const auto* machine = machine_of(row->owner);
  if (machine != nullptr && machine->power) return;
  act([this](const Tables& t, const Context& c) { return decide(t, ownership::Vouch{"default", "svc", limits_}, c); });
}

// --- time

void CapsuleHistory::step(bool faults) {
  ++steps_;
  desk_.clock.advance(random_ && faults ? Duration(std::chrono::seconds(number(1, 5))) : Duration(2s));
  if (!server_ && server_back_in_-- <= 0) start_server();
  for (auto& machine : machines_) live(machine, faults);
  if (!server_) return;
  give_up_silent();
  act(server::AdvanceDrains{});
  for (int i = 0; i < (random_ && faults ? 1 : 3) && server_; ++i) control(faults);
  note_owner();
  if (!faults || chance(0.2)) vouch();
  note_upgrades();
  const auto row = capsule();
  if (row && row->last_move && row->last_move->id != last_move_) {
    last_move_ = row->last_move->id;
    ++moves_;
    if (row->last_move->kind == MoveKind::failover) ++failovers_;
    story_.push_back(fmt::format("{}: a {} to {} ended: {}{}", steps_, describe::spell(row->last_move->kind),
                                 row->last_move->target_name,
                                 row->last_move->error.empty() ? "well" : row->last_move->error,
                                 row->last_move->rolled_back ? " (went back)" : ""));
  }
}

void CapsuleHistory::disturb() {
  if (chance(0.12)) administrate();
  if (server_ && chance(0.02)) crash_server();
  step(true);
}

bool CapsuleHistory::settle(bool owner_stays_off) {
  if (!server_) start_server();
  const auto row = capsule();
  if (owner_stays_off && row) {
    auto* owner = machine_of(row->owner);
    const bool another = std::any_of(row->replicas.begin(), row->replicas.end(), [&](const auto& replica) {
      const auto* machine = machine_of(replica.node);
      return replica.node != row->owner && machine != nullptr && (machine->power || machine->keeps_disk);
    });
    if (owner != nullptr && (another || !row->ran)) {
      if (owner->power) cut_power(*owner);
      owner->stays_off = true;
    }
  }
  for (auto& machine : machines_) {
    server::DrainNode end;
    end.node_id = machine.node.id;
    end.mark_eligible = true;
    if (!random_) break;
    act(end);
  }
  const bool restart = random_.has_value();
  for (int i = 0; i < 600; ++i) {
    // Whoever lost the disk with the only overlay gets it going with what there is, as a person would.
    const auto now_is = capsule();
    if (restart && i % 50 == 49) act(server::RegisterJob{capsule_job(++versions_), {}, {}});
    if (i > 60 && now_is && !now_is->move && now_is->state == CapsuleState::failed &&
        machine_of(now_is->owner) == nullptr) {
      const auto id = any_machine().node.id;
      act([&](const Tables& t, const Context& c) {
        return decide(t, ownership::BeginMove{{"default", "svc", id, true}, limits_}, c);
      });
    }
    step(false);
    const auto after = capsule();
    const int at = working_on();
    const bool well = at >= 0 && after && !after->move && !after->upgrade && after->state == CapsuleState::held &&
                      server_ && machines_[static_cast<std::size_t>(at)].node.id == after->owner &&
                      machines_[static_cast<std::size_t>(at)].registered;
    if (well && i > 5) return true;
  }
  return false;
}

// --- what must hold

void CapsuleHistory::check() {
  std::vector<std::string> at;
  for (const auto& machine : machines_) {
    if (!machine.power) continue;
    for (const auto& [id, local] : machine.locals) {
      if (local.status == ClientStatus::running)
        at.push_back(fmt::format("{} on {}", id.substr(0, 8), machine.node.name));
    }
  }
  if (at.size() > 1) wrong(fmt::format("it runs twice: {}", underway::join(at, ", ")));
}

}  // namespace underway::sim
