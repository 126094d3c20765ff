#include "sim/rollout_history.hpp"

#include <array>
#include <set>

#include "base/error.hpp"
#include "server/node/drain_decisions.hpp"

namespace underway::sim {

using model::ClientStatus;
using model::Deployment;
using model::DeploymentStatus;
using server::Context;
using server::testing::make_job;
using server::testing::make_node;
using namespace std::chrono_literals;
using tables::Tables;

namespace {

constexpr const char* kKinds[] = {"good", "crashes", "hangs", "dies"};
constexpr Duration kGivenUpAfter = 40s;  // healthy_deadline of what hangs

Kind kind_of(const model::Job& job) {
  const auto& spelled = job.groups[0].tasks[0].env.at("KIND");
  return static_cast<Kind>(std::find(std::begin(kKinds), std::end(kKinds), spelled) - std::begin(kKinds));
}

}  // namespace

RolloutHistory::RolloutHistory(Seed seed, World world) : random_(seed) {
  const bool in_cluster = world == World::cluster;
  system_ = chance(in_cluster ? 0.7 : 0.4);
  calm_ = chance(0.4) || in_cluster;
  count_ = number(1, 5);
  update_.max_parallel = number(1, 3);
  update_.auto_revert = chance(0.5);
  update_.progress_deadline = chance(0.3) ? Duration{0} : Duration(std::chrono::seconds(number(60, 240)));
  update_.healthy_deadline = kGivenUpAfter;
  if (chance(0.5)) update_.canary = system_ ? number(1, 60) : number(1, static_cast<int>(count_) + 1);
  update_.auto_promote = update_.canary && chance(0.5);
  if (in_cluster || chance(0.2)) cluster_ = "demo";
  if (in_cluster) {
    update_.auto_revert = true;
    update_.auto_promote = update_.canary.has_value();
  }
  lost_with_node_ = chance(0.5);
  if (!in_cluster && chance(0.4)) needs_ = chance(0.5) ? model::DependencyScope::node : model::DependencyScope::any;
  crashes_ = false;  // until there is something to lose
  const int machines = number(system_ ? 2 : 3, 6);
  for (int i = 1; i <= machines; ++i) {
    Machine& machine = machines_.emplace_back();
    machine.node = make_node(i, 40'000, 80'000);
    join(machine);
  }
  if (needs_) {
    const bool everywhere = needs_ == model::DependencyScope::node;
    model::Job base = make_job("base", 1, everywhere ? model::JobType::system : model::JobType::service);
    base.groups[0].tasks[0].env["KIND"] = kKinds[static_cast<int>(Kind::good)];
    act(server::RegisterJob{base, {}, {}});
  }
  crashes_ = !in_cluster;
}

std::string RolloutHistory::description() const {
  return fmt::format(
      "{} job{}, count {}, {} machines, max_parallel {}, canary {}{}{}, progress_deadline {}{}{}",
      system_ ? "system" : "service", cluster_.empty() ? "" : " of a cluster", count_, machines_.size(),
      *update_.max_parallel, update_.canary.value_or(0), update_.auto_promote.value_or(false) ? ", auto_promote" : "",
      *update_.auto_revert ? ", auto_revert" : "", format_duration(*update_.progress_deadline),
      needs_ ? fmt::format(", needs another ({})", describe::spell(*needs_)) : "", calm_ ? ", no machine dies" : "");
}

void RolloutHistory::wrong(std::string what) { violations_.push_back(fmt::format("step {}: {}", steps_, what)); }

tables::Row<Deployment> RolloutHistory::newest() const {
  const auto& rows = desk_.tables.deployments_of_job("default", "job");
  return rows.empty() ? nullptr : rows.front();
}

// --- the server

template <class What>
void RolloutHistory::act(What what) {
  if (away_ > 0) return;
  if (crashes_ && chance(0.01)) return crash_server();  // nothing of it was durable
  const View before = view();
  try {
    const auto request = server::testing::asked(std::move(what));
    auto decision = decide(std::as_const(desk_.tables), request, desk_.context());
    desk_.commit(std::move(decision.changes));
  } catch (const Error&) {
    return;
  }
  // Durable, and not yet scheduled.
  if (crashes_ && chance(0.01)) return crash_server();
  desk_.schedule();
  check(before);
}

/// Often for long enough that nodes find out meanwhile what becomes of what they were told to run.
void RolloutHistory::crash_server() {
  ++boots_;
  for (auto& machine : machines_) machine.linked = false;
  away_ = chance(0.5) ? number(1, 8) : 0;
  if (away_ == 0) boot_server();
}

void RolloutHistory::boot_server() {
  desk_.tables.load(desk_.store);
  dependents_ = server::Dependents();
  for (auto& machine : machines_) machine.orders = std::make_unique<server::Orders>(machine.node.id);
  const View before = view();
  auto anew = decide(desk_.tables, server::RenewDeploymentDeadlines{}, desk_.context());
  desk_.commit(std::move(anew.changes));
  desk_.schedule();
  check(before);
}

// --- people

void RolloutHistory::register_version(Kind kind) {
  model::Job wanted = make_job("job", system_ ? 1 : count_, system_ ? model::JobType::system : model::JobType::service);
  wanted.update = update_;
  wanted.cluster = cluster_;
  if (lost_with_node_) wanted.groups[0].disconnect.emplace();
  auto& env = wanted.groups[0].tasks[0].env;
  env["KIND"] = kKinds[static_cast<int>(kind)];
  if (needs_) wanted.depends_on.push_back({"base", *needs_});
  // Now and then the same program again: what was changed back is not restarted, or a mere policy has changed.
  env["VERSION"] = chance(0.2) ? "same" : std::to_string(++versions_);
  if (chance(0.2)) wanted.groups[0].tasks[0].kill_timeout = std::chrono::seconds(number(1, 9));
  act([&](const Tables& t, const Context& c) {
    server::Decision<server::Registered> decision;
    decision.result = server::register_into(decision.changes, t, {wanted, {}, {}}, c);
    return decision;
  });
}

void RolloutHistory::administrate() {
  const auto deployment = newest();
  const auto update = [&](const auto& with_id) {
    if (deployment) act(with_id(deployment->id));
  };
  switch (number(0, 12)) {
    case 10:
    case 11: {
      const std::array<Duration, 3> deadlines = {Duration(-1), 30s, 10min};
      return drain(any_machine(), calm_ ? Duration(0) : deadlines[static_cast<std::size_t>(number(0, 2))]);
    }
    case 12:
      return drain(any_machine(), std::nullopt);
    case 0:
      return update([](const auto& id) { return server::FailDeployment{id}; });
    case 1:
      return update([](const auto& id) { return server::PauseDeployment{id, true}; });
    case 2:
    case 3:
      return resolve();
    case 4:
      return act(server::RevertJob{"default", "job", number(0, 5), {}});
    case 5:
      if (calm_ || system_) return;
      count_ = number(1, 5);
      return register_version(Kind::good);
    default:
      const int most = calm_ ? 2 : 3;
      return register_version(chance(0.4) ? Kind::good : static_cast<Kind>(number(1, most)));
  }
}

/// Nothing: ends a drain.
void RolloutHistory::drain(const Machine& machine, std::optional<Duration> deadline) {
  server::DrainNode request;
  request.node_id = machine.node.id;
  request.mark_eligible = !deadline;
  if (deadline) request.drain.emplace().deadline = *deadline;
  if (!deadline && system_) reached_ = false;  // a node more is to have it
  act(request);
}

/// Lets go on what waits for a person.
void RolloutHistory::resolve() {
  const auto deployment = newest();
  if (!deployment || !deployment->active()) return;
  if (deployment->status == DeploymentStatus::paused) act(server::PauseDeployment{deployment->id, false});
  if (deployment->requires_promotion()) act(server::PromoteDeployment{deployment->id, {}});
}

// --- machines

void RolloutHistory::join(Machine& machine) {
  std::vector<model::AllocationUpdate> running;
  for (const auto& [id, local] : machine.locals) {
    if (!local.over()) running.push_back(report_of(id, local));
  }
  const int boots = boots_;
  act(server::RegisterNode{machine.node, "secret", running});
  machine.linked = boots == boots_;
  machine.orders = std::make_unique<server::Orders>(machine.node.id);
}

void RolloutHistory::kill(Machine& machine) {
  machine.up = false;
  machine.locals.clear();
  act(server::MarkNodesDown{{machine.node.id}, "no heartbeat"});
}

void RolloutHistory::live(Machine& machine, bool faults) {
  if (away_ > 0) {
    if (machine.up) work(machine, faults);
    return;
  }
  if (!machine.up) {
    if (faults && chance(0.7)) return;
    machine.up = true;
    join(machine);
  }
  if (faults && !calm_ && chance(0.01)) return kill(machine);
  if (!machine.linked || !desk_.tables.find_node(machine.node.id) ||
      desk_.tables.find_node(machine.node.id)->status != model::NodeStatus::ready)
    join(machine);
  if (machine.linked) obey(machine);
  work(machine, faults);
  if (machine.linked && (!faults || chance(0.8))) tell(machine);
}

void RolloutHistory::obey(Machine& machine) {
  const auto message = machine.orders->next(desk_.tables, dependents_);
  if (!message) return;
  std::set<std::string> wanted;
  for (const auto& order : message->set) {
    const auto& row = order.allocation;
    wanted.insert(row.id);
    check_order(machine, order);
    const auto [it, fresh] = machine.locals.try_emplace(row.id);
    Local& local = it->second;
    // In place into another rollout: measured anew.
    if (!fresh && local.allocation.deployment_id != row.deployment_id && local.healthy == false) {
      local.healthy.reset();
      local.started = unix_nanos(desk_.clock.now());
    }
    local.allocation = row;
    local.start = order.start;
    if (!fresh) continue;
    local.kind = kind_of(*row.job);
    local.told = false;  // that it has it now, and begins it anew
    if (row.client_terminal()) local.status = row.client_status;
    if (row.server_terminal() && !local.over()) local.status = ClientStatus::complete;
  }
  std::erase_if(machine.locals, [&](const auto& entry) {
    const auto& removed = message->remove;
    return std::find(removed.begin(), removed.end(), entry.first) != removed.end() ||
           (message->full && !wanted.contains(entry.first));
  });
}

void RolloutHistory::work(Machine& machine, bool faults) {
  const std::int64_t now = unix_nanos(desk_.clock.now());
  for (auto& [id, local] : machine.locals) {
    if (local.over()) continue;
    const auto before = std::pair(local.status, local.healthy);
    if (local.allocation.server_terminal()) {
      if (!faults || chance(0.6)) local.status = ClientStatus::complete;
    } else if (local.status == ClientStatus::pending) {
      if (!local.start || (faults && chance(0.3))) continue;
      local.status = local.kind == Kind::crashes ? ClientStatus::failed : ClientStatus::running;
      local.started = now;
      for (const auto& [other_id, other] : machine.locals) {
        const bool canary = local.allocation.health.canary || other.allocation.health.canary;
        if (other_id != id && other.status == ClientStatus::running && !canary &&
            other.allocation.name == local.allocation.name && !other.allocation.server_terminal())
          wrong(fmt::format("{} starts beside another one", local.allocation.name));
      }
    } else if (local.kind == Kind::hangs) {
      if (now - local.started > kGivenUpAfter.count()) local.healthy = false;
    } else if (!local.healthy) {
      if (!faults || chance(0.5)) local.healthy = true;
    } else if (local.kind == Kind::dies || (faults && !calm_ && chance(0.005))) {
      if (chance(0.2)) local.status = ClientStatus::failed;
    }
    if (std::pair(local.status, local.healthy) != before) local.told = false;
  }
}

model::AllocationUpdate RolloutHistory::report_of(const std::string& id, const Local& local) const {
  auto update = server::testing::report(id, local.status);
  update.health.ready = local.ready();
  if (local.healthy) {
    update.health.healthy = local.healthy;
    update.health.timestamp = local.started;
  }
  if (local.over()) update.task_states["t"].finished_at = unix_nanos(desk_.clock.now());
  return update;
}

void RolloutHistory::tell(Machine& machine) {
  std::vector<model::AllocationUpdate> updates;
  for (const auto& [id, local] : machine.locals) {
    if (!local.told) updates.push_back(report_of(id, local));
  }
  if (updates.empty()) return;
  act(server::UpdateAllocations{machine.node.id, updates});
  // Told again until the server has it.
  for (auto& [id, local] : machine.locals) {
    const auto row = desk_.tables.find_allocation(id);
    const bool verdict = !local.healthy || (row && (row->health.healthy == local.healthy || row->client_terminal()));
    local.told = !row || (row->client_status == local.status && row->health.ready == local.ready() && verdict);
  }
}

// --- time

void RolloutHistory::step(Duration time, bool faults) {
  ++steps_;
  desk_.clock.advance(time);
  const bool comes_back = away_ > 0 && --away_ == 0;
  for (auto& machine : machines_) live(machine, faults);
  if (comes_back) boot_server();
  // Deadlines, and evaluations that waited for their time.
  act(server::EnforceDeploymentDeadlines{});
  act(server::AdvanceDrains{});
}

void RolloutHistory::disturb() {
  if (chance(0.15)) administrate();
  if (chance(0.02)) crash_server();
  step(std::chrono::seconds(number(1, 12)), true);
}

bool RolloutHistory::quiet() const {
  for (const auto& machine : machines_) {
    for (const auto& [id, local] : machine.locals) {
      const bool moves = local.allocation.server_terminal() || local.status == ClientStatus::pending ||
                         !local.healthy.has_value() || !local.told;
      if (!local.over() && moves) return false;
    }
  }
  const auto deployment = newest();
  return !deployment || !deployment->active();
}

bool RolloutHistory::settle() {
  crashes_ = false;
  while (away_ > 0) step(10s, false);
  for (const auto& machine : machines_) drain(machine, std::nullopt);
  for (int i = 0; i < 200; ++i) {
    step(10s, false);
    resolve();
    if (quiet()) return true;
    const auto deployment = newest();
    // Where no deadline ends what cannot go on, a person does.
    if (i == 150 && deployment && *update_.progress_deadline == Duration{0})
      act(server::FailDeployment{deployment->id});
    if (i > 100 && (!deployment || !deployment->active())) return true;  // what is bad goes on dying
  }
  return false;
}

std::string RolloutHistory::mend() {
  update_.canary.reset();
  update_.auto_promote.reset();
  update_.auto_revert = false;
  if (needs_) update_.progress_deadline = std::chrono::hours(2);  // the other one may have its own time to wait out
  versions_ += 1000;
  register_version(Kind::good);
  return wait_until_everywhere();
}

bool RolloutHistory::everywhere() const {
  const auto deployment = newest();
  return quiet() && deployment && deployment->status == DeploymentStatus::successful && healthy() == desired();
}

std::string RolloutHistory::missing() const {
  const auto deployment = newest();
  return fmt::format("the good version is well {} times of {}; its rollout is {} ({})", healthy(), desired(),
                     deployment ? describe::spell(deployment->status) : "not there",
                     deployment ? deployment->status_description : "");
}

std::string RolloutHistory::wait_until_everywhere() {
  for (int i = 0; i < 200 && !everywhere(); ++i) step(10s, false);
  return everywhere() ? std::string() : missing();
}

std::string RolloutHistory::outcome(Kind kind, int steps) {
  register_version(Kind::good);
  if (auto why = wait_until_everywhere(); !why.empty()) return "the first one: " + why;
  const std::int64_t stands = job()->version;
  register_version(kind);
  for (int i = 0; i < steps; ++i) step(10s, false);
  crash_server();
  // Now and then for longer than any deadline.
  if (chance(0.2)) away_ = 100;
  if (auto why = wait_until_everywhere(); !why.empty()) return why;
  const bool went_back = job()->version == stands + 2;
  if (kind == Kind::good)
    return went_back
               ? "a good version went back: " + desk_.tables.deployments_of_job("default", "job")[1]->status_description
               : std::string();
  if (!went_back || kind_of(*job()) != Kind::good)
    return fmt::format("a bad version stays, as version {}", job()->version);
  std::set<std::string> touched;
  for (const auto& row : desk_.tables.allocations_of_job("default", "job")) {
    if (row->job_version == stands + 1) touched.insert(row->name + row->node_id);
  }
  const auto turn = std::max(*update_.max_parallel, system_ ? 0 : update_.canary.value_or(0));
  if (static_cast<std::int64_t>(touched.size()) <= turn) return {};
  return fmt::format("a bad version was begun {} times, and its turn was {}", touched.size(), turn);
}

}  // namespace underway::sim
