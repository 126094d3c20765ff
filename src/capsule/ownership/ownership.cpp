// What is true of a capsule, and what becomes of it while nothing moves it.
#include "ownership/detail/ownership.hpp"

#include "base/error.hpp"
#include "server/job/job_decisions.hpp"

namespace underway::ownership::detail {

using model::Allocation;
using model::Capsule;
using model::CapsuleState;
using model::ClientStatus;
using model::MoveKind;

Ownership::Ownership(const tables::Tables& tables, const Limits& limits, const server::Context& context,
                     std::optional<Capsule> record, tables::Row<model::Job> job, std::string group)
    : tables_(tables), limits_(limits), context_(context), known_(record.has_value()), job_(std::move(job)) {
  if (record) {
    before_ = record_ = std::move(*record);
    return;
  }
  record_.ns = job_->ns;
  record_.name = capsule_name(*job_, *job_->find_group(group));
  record_.job = job_->id;
  record_.group = std::move(group);
}

// --- what is true

bool Ownership::wanted() const {
  if (!job_ || job_->stop || job_->id != record_.job) return false;
  const auto* group = job_->find_group(record_.group);
  return group != nullptr && group->count > 0 && capsule_task(*group) != nullptr;
}

bool Ownership::heard_of(const std::string& id) const {
  const auto row = node(id);
  return row && !row->silent();
}

bool Ownership::gone(const std::string& id) const {
  const auto row = node(id);
  return !row || (row->silent() && past(row->status_updated_at * 1'000'000'000, limits_.lease));
}

bool Ownership::owner_gone() const { return record_.silent_since > 0 && past(record_.silent_since, limits_.lease); }

std::string Ownership::name_of(const std::string& id) const {
  const auto row = node(id);
  return row ? row->name : id.substr(0, 8);
}

std::vector<Ownership::AllocationRow> Ownership::rows() const {
  std::vector<AllocationRow> out;
  for (const auto& row : tables_.allocations_of_job(record_.ns, record_.job)) {
    if (row->group != record_.group) continue;
    const auto changed = rows_.find(row->id);
    out.push_back(changed == rows_.end() ? row : std::make_shared<const Allocation>(changed->second));
  }
  return out;
}

Ownership::AllocationRow Ownership::may_run() const {
  if (record_.allocation.empty()) return nullptr;
  const auto changed = rows_.find(record_.allocation);
  if (changed != rows_.end()) return std::make_shared<const Allocation>(changed->second);
  return tables_.find_allocation(record_.allocation);
}

bool Ownership::runs() const {
  const auto row = may_run();
  return row && !row->terminal() && row->client_status == ClientStatus::running;
}

/// What its node has reported is known; that it is lost is our guess, until the node is heard of and has not spoken of
/// it.
bool Ownership::ended() const {
  if (record_.allocation.empty() || record_.fenced) return true;
  const auto row = may_run();
  if (!row) return false;
  if (row->client_status == ClientStatus::complete || row->client_status == ClientStatus::failed) return true;
  return row->client_status == ClientStatus::lost && heard_of(row->node_id);
}

Ownership::AllocationRow Ownership::live_at(const std::string& node_id, const Fits& fits) const {
  for (const auto& row : rows()) {
    const bool there = !row->terminal() && row->node_id == node_id && row->index() == 0 && !row->health.canary;
    if (there && (!fits || fits(*row))) return row;
  }
  return nullptr;
}

std::string Ownership::image_of(const model::Job& job) const { return ownership::image_of(job, record_.group); }

// --- what is changed

void Ownership::put(Allocation row) {
  row.modify_time = now();
  row.alloc_modify_index = context_.revision;
  rows_.insert_or_assign(row.id, std::move(row));
}

void Ownership::own(const std::string& node_id) {
  const auto row = node(node_id);
  record_.owner = node_id;
  record_.owner_name = row ? row->name : "";
  record_.owner_host = row && !row->host.empty() ? row->cluster + "/" + row->host : "";
  record_.held_since = now();
  record_.silent_since = 0;
  record_.fenced = false;
  ++record_.epoch;
}

void Ownership::lose(const Allocation& row, const std::string& why) {
  if (row.server_terminal() && row.client_terminal()) return;
  Allocation changed = row;
  changed.desired_status = model::DesiredStatus::stop;
  changed.desired_description = why;
  if (!changed.client_terminal()) {
    changed.client_status = ClientStatus::lost;
    changed.client_description = why;
  }
  changed.unknown_since = 0;
  put(std::move(changed));
  evaluate();
}

void Ownership::switch_to(const std::string& node_id) {
  if (const auto row = may_run()) lose(*row, fmt::format("the capsule is {}'s now", name_of(node_id)));
  own(node_id);
  const auto row = live_at(node_id);
  record_.allocation = row ? row->id : "";
  evaluate();
}

void Ownership::fence(const std::string& by) {
  if (record_.fenced) return;
  record_.fenced = true;
  if (record_.silent_since == 0) record_.silent_since = now();
  const auto row = may_run();
  if (row) lose(*row, by);
  record_.allocation.clear();
}

void Ownership::keep_replica(const std::string& node_id, std::int64_t at, std::int64_t epoch) {
  forget_replica(node_id);
  record_.replicas.push_back({node_id, name_of(node_id), at, epoch});
}

void Ownership::stand_by(const std::string& node_id, const std::string& name) {
  record_.standby = node_id;
  record_.standby_name = name;
}

/// What its job declares, as far as nobody has said otherwise.
void Ownership::follow_protection() {
  const auto asked = protection_of(*job_, record_.group);
  record_.keeps_nothing = asked.keeps_nothing;
  if (record_.standby_chosen) return;
  const bool copied = asked.standby && !asked.keeps_nothing;
  record_.replicate_every = copied ? asked.every : Duration{0};
  record_.rpo = asked.rpo;
  record_.loss = copied ? asked.loss : Duration{0};
  if (!copied) stand_by("", "");
}

/// A host that was made anew is another node of the same name. Where nobody has chosen one, another node of the pool
/// keeps copies; and another one yet while that is not heard of.
void Ownership::follow_standby() {
  if (const auto row = node(record_.standby)) {
    record_.standby_name = row->name;
  } else if (!record_.standby.empty()) {
    const auto at = node(record_.owner);
    for (const auto& other : tables_.nodes()) {
      if (at && other->name == record_.standby_name && other->cluster == at->cluster && !other->silent())
        return stand_by(other->id, other->name);
    }
  }
  if (record_.standby_chosen || record_.loss <= Duration{0} || record_.move || !heard_of(record_.owner)) return;
  const bool stands = !record_.standby.empty() && record_.standby != record_.owner && !gone(record_.standby);
  if (stands) return;
  std::vector<tables::Row<model::Node>> able;
  for (const auto& row : tables_.nodes()) {
    if (can_stand_by(*row)) able.push_back(row);
  }
  if (able.empty()) {
    if (!node(record_.standby)) stand_by("", "");
    return;
  }
  // Who has a copy already; else not the same one for all capsules.
  const auto has_copy = [&](const auto& row) { return record_.find_replica(row->id) != nullptr; };
  const auto known = std::find_if(able.begin(), able.end(), has_copy);
  const auto& chosen = known != able.end() ? *known : able[std::hash<std::string>{}(record_.name) % able.size()];
  stand_by(chosen->id, chosen->name);
}

bool Ownership::can_stand_by(const model::Node& row) const {
  const auto at = node(record_.owner);
  return at && row.id != record_.owner && row.ready() && row.node_pool == at->node_pool &&
         row.datacenter == at->datacenter && row.cluster == at->cluster &&
         row.drivers.contains(std::string(model::kCapsuleDriver));
}

void Ownership::forget_replica(const std::string& node_id) {
  std::erase_if(record_.replicas, [&](const auto& replica) { return replica.node == node_id; });
}

// --- reconciling

void Ownership::reconcile() {
  if (!known_ || record_.owner.empty()) grant_first();
  if (record_.owner.empty()) return;
  take_note();
  if (record_.move && !wanted()) finish("its job was stopped", false);
  // One phase may be over as soon as it begins.
  for (int i = 0; i < 8 && record_.move; ++i) {
    const auto phase = record_.move->phase;
    look_at_move();
    if (record_.move && record_.move->phase == phase) break;
  }
  for (int i = 0; i < 16 && record_.upgrade; ++i) {
    const auto phase = record_.upgrade->phase;
    look_at_upgrade();
    if (record_.upgrade && record_.upgrade->phase == phase) break;
  }
  if (!record_.move && !(record_.upgrade && !stop_is_ahead(*record_.upgrade))) held();
  expel_strays();
  settle_state();
}

void Ownership::grant_first() {
  if (!wanted()) return;
  for (const auto& row : rows()) {
    if (row->terminal() || row->index() != 0 || row->health.canary || !heard_of(row->node_id)) continue;
    own(row->node_id);
    record_.allocation = row->id;
    return;
  }
}

void Ownership::take_note() {
  if (wanted()) {
    record_.image = image_of(*job_);
    follow_protection();
  }
  if (heard_of(record_.owner)) {
    record_.silent_since = 0;
    record_.fenced = false;
  } else if (record_.silent_since == 0) {
    const auto row = node(record_.owner);
    record_.silent_since = row ? row->status_updated_at * 1'000'000'000 : now();
  }
  // The copies of a node that is gone for good are gone, too.
  std::erase_if(record_.replicas, [&](const auto& replica) { return !node(replica.node); });
  follow_standby();
  // Our provider made the host anew, or took it away, and forgot the node that it was.
  if (!record_.owner_host.empty() && !node(record_.owner)) {
    const auto slash = record_.owner_host.find('/');
    const auto host = tables_.find_host(record_.owner_host.substr(0, slash), record_.owner_host.substr(slash + 1));
    if (!host || host->node_id != record_.owner) fence("its host is gone");
  }
  const auto row = may_run();
  if (row && row->client_status == ClientStatus::running) record_.ran = true;
}

/// The next allocation at home gets the word when the one before it has ended.
void Ownership::adopt(const Fits& fits) {
  if (!ended() || record_.fenced || !wanted()) return;
  const auto before = may_run();
  if (before && !before->server_terminal() && !before->client_terminal()) return;
  record_.allocation.clear();
  const auto row = live_at(record_.owner, fits);
  if (!row) return;
  record_.allocation = row->id;
  ++record_.epoch;
}

/// While the server was away the scheduler could not take back the start of an image that its upgrade was taken back
/// from: it would write what the image before it, which comes next, cannot read.
bool Ownership::fits_what_was_taken_back(const model::Allocation& row) const {
  if (!record_.last_upgrade || !record_.last_upgrade->rolled_back) return true;
  const auto& refused = record_.last_upgrade->to_image;
  return !row.job || image_of(*row.job) != refused || image_of(*job_) == refused;
}

void Ownership::held() {
  adopt([this](const model::Allocation& row) { return fits_what_was_taken_back(row); });
  // Forgotten while its row tells of its end: rows of what is over are collected.
  if (!wanted() && ended()) record_.allocation.clear();
  if (!wanted()) return;
  if (!record_.upgrade) follow_drain();
  if (!record_.move && owner_gone()) look_for_another();
}

void Ownership::look_for_another() {
  // Of the nodes with a copy the one that would lose least.
  const auto* replica = best_replica(tables_, record_, record_.silent_since);
  const bool anywhere = !record_.ran || record_.keeps_nothing;
  if (!anywhere && replica == nullptr) return;
  begin_move(MoveKind::failover, anywhere ? "" : replica->node, false);
  for (int i = 0; i < 2 && record_.move; ++i) look_at_move();
}

/// A drain cannot move it by itself: it is placed at home. To a node that has a copy it goes as if it was asked for.
void Ownership::follow_drain() {
  const auto row = may_run();
  const auto at = node(record_.owner);
  if (!runs() || !row->transition.migrate || !at || !at->drain) return;
  if (record_.last_move && !record_.last_move->error.empty() && !past(record_.last_move->ended_at, limits_.calm))
    return;
  const auto usable = [&](const std::string& id) {
    const auto other = id.empty() || id == record_.owner ? nullptr : node(id);
    return other && other->ready();
  };
  std::string target = usable(record_.standby) ? record_.standby : "";
  for (const auto& replica : record_.replicas) {
    if (target.empty() && usable(replica.node)) target = replica.node;
  }
  if (!target.empty()) begin_move(MoveKind::planned, target, false);
}

/// What is not at home is not wanted where it is. What runs by the record's leave goes by way of the scheduler, which
/// stops it only when there is a place for the next one.
void Ownership::expel_strays() {
  const std::string home = home_of(record_);
  if (home.empty()) return;
  const bool replaces = record_.move && move_work().row.replaces;
  for (const auto& row : rows()) {
    const bool over = row->server_terminal() || (row->client_terminal() && row->client_status != ClientStatus::failed);
    if (over || row->node_id == home) continue;
    Allocation changed = *row;
    if (replaces && row->id == record_.allocation && !row->client_terminal()) {
      if (row->transition.migrate) continue;
      changed.transition.migrate = true;
    } else {
      changed.desired_status = model::DesiredStatus::stop;
      changed.desired_description = fmt::format("the capsule is to be on {}", name_of(home));
    }
    put(std::move(changed));
    evaluate();
  }
}

/// It stays where it is: what a move had asked for is taken back, unless a drain asks for it, too.
void Ownership::unmark() {
  const auto row = may_run();
  const auto at = node(record_.owner);
  if (!row || !row->transition.migrate || row->terminal() || (at && at->drain)) return;
  Allocation changed = *row;
  changed.transition.migrate = false;
  put(std::move(changed));
  evaluate();
}

void Ownership::settle_state() {
  if (record_.move) {
    if (record_.state != CapsuleState::waiting_for_fence) record_.state = CapsuleState::moving;
    return;
  }
  if (record_.upgrade) {
    const bool stuck = upgrade_work().row.effort == Effort::until_done && record_.upgrade->attempts >= limits_.attempts;
    record_.state = stuck || owner_gone() ? CapsuleState::failed : CapsuleState::upgrading;
    return;
  }
  if (!wanted()) {
    record_.state = ended() ? CapsuleState::free : CapsuleState::held;
    record_.description.clear();
    return;
  }
  const bool hopeless = owner_gone();
  if (hopeless) {
    record_.state = CapsuleState::failed;
    // A host that was taken away, or made anew, does not come back with what lay on it.
    const std::string fate = node(record_.owner)
                                 ? fmt::format("{} is not heard of", record_.owner_name)
                                 : fmt::format("{} and what lay on it is gone for good", record_.owner_name);
    const std::string hope = node(record_.owner) ? fmt::format("; it goes on when {} is back", record_.owner_name) : "";
    record_.description = fmt::format(
        "{}, and no other node has a copy of the overlay that is recent enough{}. To start without it: `underway "
        "capsule "
        "move {} -to NODE -without-overlay`",
        fate, hope, record_.name);
  } else if (runs() || record_.state != CapsuleState::failed) {
    record_.state = record_.owner.empty() ? CapsuleState::free : CapsuleState::held;
    record_.description.clear();
  }
}

std::vector<server::Change> Ownership::take() {
  std::vector<server::Change> changes;
  if (record_.owner.empty() && !known_) return changes;
  const bool changed = !known_ || !describe::equal(before_, record_);
  if (changed) {
    changes.push_back(tables::put_record(record_));
    // Whether they may start depends on it: their nodes are told.
    for (const auto& row : rows()) {
      if (!row->terminal() && !rows_.contains(row->id)) put(*row);
    }
  }
  for (auto& [id, row] : rows_) changes.push_back(tables::PutAllocation{std::move(row)});
  rows_.clear();
  if (register_) {
    server::register_into(changes, tables_, {*job_, std::nullopt, std::nullopt}, context_);
    return changes;
  }
  if (evaluate_ && job_)
    changes.push_back(tables::PutEvaluation{server::new_evaluation(*job_, model::EvalTrigger::node_update, context_)});
  return changes;
}

}  // namespace underway::ownership::detail
