#include "sim/control_plane.hpp"

#include "base/json/json.hpp"
#include "protocol/origin.hpp"
#include "server/job/dependencies.hpp"

namespace underway::sim {

using server::Context;
using server::Decision;
using server::Nothing;
using tables::Tables;

ControlPlane::ControlPlane(Seed seed, int machines) : random_(seed), ids_(seed) {
  callers_ = std::make_unique<async::TaskGroup>(loop_.executor(), "sim");
  process_ = std::make_unique<Process>(loop_.executor(), *store_, clock_, ids_);
  aside_ = std::make_unique<store::MemoryStore>(store::MemoryStore::Mode::stepped);
  for (int i = 1; i <= machines; ++i) {
    Machine& machine = machines_.emplace_back();
    machine.node = make_node(i, number(1000, 4000), number(1024, 4096));
  }
}

ControlPlane::~ControlPlane() {
  callers_->cancel();
  process_.reset();
  poll();
}

void ControlPlane::wrong(std::string what) { violations_.push_back(fmt::format("step {}: {}", steps_, what)); }

void ControlPlane::poll() {
  loop_.context().restart();
  loop_.context().poll();
}

void ControlPlane::settle() {
  do {
    poll();
  } while (store_->step());
  poll();
}

void ControlPlane::restart_server() {
  poll();  // decides what waits
  if (store_->waiting() > 0) {
    if (chance(0.5)) store_->fail_next_commit(Error(Code::unavailable, "killed"));
    store_->step();  // durable or not, nobody is told
  }
  start_over([] {});
}

void ControlPlane::start_over(const std::function<void()>& meanwhile) {
  callers_->cancel();
  process_.reset();
  poll();
  meanwhile();
  for (auto& machine : machines_) {
    cut(machine);
    machine.linking = machine.reporting = false;
    machine.silent = 0;  // it has its time of grace
  }
  callers_ = std::make_unique<async::TaskGroup>(loop_.executor(), "sim");
  process_ = std::make_unique<Process>(loop_.executor(), *store_, clock_, ids_);
  settle();
  check();
}

void ControlPlane::jump(Duration by) {
  const auto look = [this] {
    const auto passed = (clock_.now() - jumped_).time_since_epoch();
    process_->writer.look_at_clock(std::chrono::steady_clock::time_point(passed));
  };
  look();
  clock_.advance(by);
  jumped_ += by;
  look();
  settle();  // it takes a running server a second, and one that dies then has nothing to tell it by
}

void ControlPlane::copy_store() {
  settle();
  std::deque<store::KeyValue> rows;
  const auto revision = store_->copy("", [&](store::KeyValue&& row) { rows.push_back(std::move(row)); });
  aside_ = std::make_unique<store::MemoryStore>(store::MemoryStore::Mode::stepped);
  aside_->replace(revision - 1, [&]() -> std::optional<store::KeyValue> {
    if (rows.empty()) return std::nullopt;
    auto row = std::move(rows.front());
    rows.pop_front();
    return row;
  });
}

void ControlPlane::swap_stores() {
  settle();
  acknowledged_.clear();  // by a server over another store
  start_over([this] { std::swap(store_, aside_); });
}

std::int64_t ControlPlane::orphans() const {
  std::int64_t count = 0;
  for (const auto& node : tables::records<model::Orphans>(process_->tables))
    count += static_cast<std::int64_t>(node.allocations.size());
  return count;
}

void ControlPlane::keep_orphans() {
  server::FoundOrphans all;
  for (const auto& node : tables::records<model::Orphans>(process_->tables)) {
    const auto machine =
        std::ranges::find(machines_, node.node_id, [](const Machine& candidate) { return candidate.node.id; });
    protocol::OrphanOrders& found = all[node.node_id];
    for (const auto& allocation : node.allocations) {
      const Local& local = machine->locals.at(allocation.id);
      auto& order = found.orders.emplace_back(local.order);
      order.allocation.client_status = local.status;
      order.allocation.health.ready = local.healthy;
      found.jobs.insert_or_assign(protocol::job_key(order.allocation), *order.allocation.job);
    }
  }
  submit(server::KeepOrphans{all}, [this](const std::int64_t* done) {
    if (done == nullptr) wrong("orphans cannot be kept");
  });
  settle();
}

void ControlPlane::step(const Mischief& mischief) {
  ++steps_;
  const bool any = mischief.administrator || mischief.crashes || mischief.links || mischief.server;
  clock_.advance(std::chrono::seconds(any ? number(1, 20) : 60));
  if (mischief.administrator && chance(0.3)) administrate();
  for (auto& machine : machines_) live(machine, mischief);
  give_up_silent();
  reconcile();
  // Evaluations that waited for their time are looked at with the next request.
  submit(server::ChangeNothing{}, [](const Nothing*) {});
  if (mischief.server && chance(0.03)) store_->fail_next_commit(Error(Code::exhausted, "disk full"));
  if (mischief.server && chance(0.04)) {
    restart_server();
    return;
  }
  settle();
  check();
  for (auto& machine : machines_) {
    if (!machine.linked) continue;
    if (auto message = machine.orders->next(process_->tables, process_->dependents)) {
      message->origin = {process_->epoch, process_->tables.revision()};
      if (message->full) message->epochs = machine.epochs;
      machine.messages.push_back(std::move(*message));
    }
  }
}

bool ControlPlane::calm_down() {
  int still = 0;
  for (int i = 0; i < 600; ++i) {
    // More than once: a full disk may still refuse the first.
    for (auto& machine : machines_) {
      machine.up = true;
      if (i < 3) make_eligible(machine);
    }
    const auto before = store_->revision();
    step(Mischief{});
    still = quiet() && store_->revision() == before ? still + 1 : 0;
    if (still == 3) return true;
  }
  return false;
}

void ControlPlane::make_eligible(const Machine& machine) {
  server::DrainNode end;
  end.node_id = machine.node.id;
  end.mark_eligible = true;
  const auto if_known = [end](const Tables& t, const Context& c) {
    return t.find_node(end.node_id) ? decide(t, end, c) : Decision<Nothing>{};
  };
  submit(server::testing::asked(if_known), [](const Nothing*) {});
}

/// What the server's own loop does about drains and silent nodes whenever something changed.
void ControlPlane::reconcile() {
  submit(server::StartDueJobs{}, [](const server::Launches*) {});
  submit(server::AdvanceDrains{}, [](const Nothing*) {});
  std::vector<std::string> ids;
  for (const auto& machine : machines_) ids.push_back(machine.node.id);
  submit(server::GiveNodesUp{ids}, [](const Nothing*) {});
}

void ControlPlane::drain(int machine, std::optional<Duration> deadline) {
  server::DrainNode drain;
  drain.node_id = machines_[static_cast<std::size_t>(machine)].node.id;
  drain.mark_eligible = !deadline;
  if (deadline) drain.drain.emplace().deadline = *deadline;
  submit(drain, [](const Nothing*) {});
}

bool ControlPlane::draining(int machine) const {
  const auto node = process_->tables.find_node(machines_[static_cast<std::size_t>(machine)].node.id);
  return node && node->drain;
}

std::set<std::string> ControlPlane::running() const {
  std::set<std::string> ids;
  for (const auto& machine : machines_) {
    for (const auto& [id, local] : machine.locals) {
      if (local.status == ClientStatus::running) ids.insert(id);
    }
  }
  return ids;
}

std::int64_t ControlPlane::working(const std::string& job) const {
  std::int64_t count = 0;
  for (const auto& machine : machines_) {
    for (const auto& [id, local] : machine.locals) {
      const auto& allocation = local.order.allocation;
      count += allocation.job_id == job && local.status == ClientStatus::running && local.healthy ? 1 : 0;
    }
  }
  return count;
}

std::vector<std::string> ControlPlane::children(const std::string& parent) {
  std::vector<std::string> ids;
  const auto& tables = process_->tables;
  const auto job = tables.find_job("default", parent);
  if (!job) return ids;
  for (const auto& child : server::children_of(tables, *job)) {
    ids.push_back(child->id);
    const auto evaluations = tables.evaluations_of_job(child->ns, child->id);
    const auto starts = std::count_if(evaluations.begin(), evaluations.end(), [](const auto& evaluation) {
      return evaluation->triggered_by == model::EvalTrigger::periodic_job;
    });
    if (starts != 1) wrong(fmt::format("'{}' was started {} times", child->id, starts));
  }
  return ids;
}

bool ControlPlane::quiet() const {
  for (const auto& machine : machines_) {
    if (!machine.linked || !machine.messages.empty() || !machine.unreported.empty()) return false;
    for (const auto& [id, local] : machine.locals) {
      const auto& allocation = local.order.allocation;
      const bool starts = local.status == ClientStatus::pending && local.order.start;
      const bool becomes_well = local.status == ClientStatus::running && !local.healthy;
      const bool ends = allocation.server_terminal() || allocation.job_id == job_id(1);
      if (!local.over() && (starts || becomes_well || ends)) return false;
    }
  }
  return process_->tables.pending_evaluations().empty();
}

// --- what must hold

void ControlPlane::check() {
  const auto& tables = process_->tables;
  std::set<std::string> names;
  for (const auto& node : tables.nodes()) {
    scheduler::Amount used;
    std::set<std::int64_t> ports;
    for (const auto& row : tables.allocations_on_node(node->id)) {
      if (row->desired_status == model::DesiredStatus::evict) check_eviction(*row);
      const auto next = row->next_allocation.empty() ? nullptr : tables.find_allocation(row->next_allocation);
      if (next && next->previous_allocation != row->id)
        wrong(fmt::format("{} is not the successor that {} says it is", next->id, row->id));
      if (row->terminal()) continue;
      const auto amount = scheduler::amount_of(*row);
      used.cpu += amount.cpu;
      used.memory_mb += amount.memory_mb;
      for (const auto& port : row->resources.ports) {
        if (!ports.insert(port.value).second)
          wrong(fmt::format("port {} is given out twice on {}", port.value, node->name));
      }
      // One whose node is not heard of may have a stand-in, until one of them is chosen.
      if (row->unknown_since > 0 && model::disconnect_policy(*row).replaces()) continue;
      const bool one_per_node = row->job->type == model::JobType::system;
      if (!names.insert(row->name + (one_per_node ? "@" + node->id : std::string())).second)
        wrong(fmt::format("two allocations of the name {} live", row->name));
    }
    if (used.cpu > node->resources.cpu || used.memory_mb > node->resources.memory_mb)
      wrong(fmt::format("node {} is overcommitted: {} MHz of {}", node->name, used.cpu, node->resources.cpu));
  }
  for (const auto& [id, index] : acknowledged_) {
    const auto job = tables.find_job("default", id);
    if (!job || job->job_modify_index < index) wrong(fmt::format("the registration of {} at {} is lost", id, index));
  }
}

void ControlPlane::check_eviction(const model::Allocation& evicted) {
  if (!evictions_.insert(evicted.id).second) return;
  const auto by = process_->tables.find_allocation(evicted.preempted_by);
  if (!by || !evicted.job) return wrong(fmt::format("{} made way for nobody", evicted.name));
  // Within the same step it may have been updated to a version of another priority.
  std::int64_t most = by->job ? by->job->priority : 0;
  for (const auto& version : process_->tables.job_versions(by->ns, by->job_id))
    most = std::max(most, version->job.priority);
  if (evicted.job->priority + scheduler::kPreemptionDistance > most)
    wrong(fmt::format("{} of priority {} made way for {} of {}", evicted.name, evicted.job->priority, by->name, most));
}

std::vector<std::string> ControlPlane::unfulfilled() const {
  const auto& tables = process_->tables;
  std::vector<std::string> out;
  for (const auto& job : tables.jobs()) {
    if (job->starts_others()) continue;
    std::int64_t live = 0, finished = 0;
    std::set<std::string> failed;
    for (const auto& row : tables.allocations_of_job(job->ns, job->id)) {
      if (row->client_status == ClientStatus::complete && row->job_version == job->version) ++finished;
      if (row->client_status == ClientStatus::failed && !row->server_terminal()) failed.insert(row->id);
      if (row->server_terminal() && !row->client_terminal())
        out.push_back(fmt::format("{} was to stop and did not ({})", row->name, row->id));
      if (row->terminal()) continue;
      ++live;
      // Its dependency may be stopped for good.
      const bool held = !row->job->depends_on.empty() && server::waiting_for(tables, *row, nullptr);
      if (!row->is_ready() && !held) out.push_back(fmt::format("{} is not healthy ({})", row->name, row->id));
    }
    if (job->stop) {
      if (live > 0) out.push_back(fmt::format("{} is stopped and has {} allocations", job->id, live));
      continue;
    }
    const auto evaluations = tables.evaluations_of_job(job->ns, job->id);
    const bool blocked = std::any_of(evaluations.begin(), evaluations.end(),
                                     [](const auto& e) { return e->status == model::EvalStatus::blocked; });
    const bool batch = job->type == model::JobType::batch;
    const std::int64_t have = live + (batch ? finished + static_cast<std::int64_t>(failed.size()) : 0);
    const std::int64_t want =
        job->type == model::JobType::system ? static_cast<std::int64_t>(machines_.size()) : job->groups[0].count;
    if (have < want && !blocked)
      out.push_back(fmt::format("{} has {} of {} and waits for nothing", job->id, have, want));
    if (!batch && live > want) out.push_back(fmt::format("{} has {} of {}", job->id, live, want));
  }
  return out;
}

std::vector<std::string> ControlPlane::state() const {
  const auto& tables = process_->tables;
  std::vector<std::string> lines;
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) lines.push_back(json::encode(*row));
  };
  add(tables.jobs());
  add(tables.nodes());
  add(tables.evaluations());
  for (const auto& row : tables.allocations()) {
    model::Allocation plain = *row;
    plain.metrics.scores.clear();
    lines.push_back(json::encode(plain));
  }
  return lines;
}

}  // namespace underway::sim
