#pragma once
/// @file
/// A cluster that consists of rows only: nodes and jobs are put in by hand, evaluations are scheduled, plans applied,
/// and the fleet follows, as the server and the tables do it.

#include "scheduler/feasibility/constraint.hpp"
#include "scheduler/schedule.hpp"

#include <random>

namespace underway::scheduler::testing {

using model::Allocation;
using model::ClientStatus;
using model::EvalStatus;
using model::EvalTrigger;
using model::Evaluation;
using model::Job;
using model::JobType;
using model::Node;
using tables::Row;

inline Node make_node(const std::string& name, std::int64_t cpu = 4000, std::int64_t memory_mb = 8192) {
  Node node;
  node.id = fmt::format("{:08x}-0000-4000-8000-{:012x}", std::hash<std::string>{}(name) & 0xffffffffu,
                        std::hash<std::string>{}(name) >> 24);
  node.name = name;
  node.attributes = {{"kernel.name", "linux"}, {"unique.hostname", name}};
  node.resources.cpu = cpu;
  node.resources.memory_mb = memory_mb;
  node.resources.disk_mb = 100'000;
  node.networks = {{"default", "eth0", "10.0.0.1", "10.0.0.0/24"}};
  node.drivers["raw_exec"] = {true, true, "", {}};
  node.status = model::NodeStatus::ready;
  node.computed_class = model::compute_class(node);
  return node;
}

inline Job make_job(const std::string& id, std::int64_t count = 1, std::int64_t cpu = 500, std::int64_t memory = 256) {
  Job job;
  job.id = id;
  job.groups.resize(1);
  job.groups[0].name = "g";
  job.groups[0].count = count;
  job.groups[0].tasks.resize(1);
  model::Task& task = job.groups[0].tasks[0];
  task.name = "t";
  task.driver = "raw_exec";
  task.resources.cpu = cpu;
  task.resources.memory_mb = memory;
  job.canonicalize();
  return job;
}

class World {
 public:
  /// With nodes c1, c2, …
  explicit World(std::uint64_t seed, int nodes = 0) : ids_(seed) {
    for (int i = 1; i <= nodes; ++i) put_node(make_node(fmt::format("c{}", i)));
  }

  void put_node(Node node) {
    node.computed_class = model::compute_class(node);
    auto& row = nodes_[node.id];
    const Row<Node> before = row;
    row = std::make_shared<const Node>(std::move(node));
    fleet_.node_changed(before, row);
  }
  void remove_node(const std::string& id) {
    const Row<Node> before = nodes_.at(id);
    nodes_.erase(id);
    fleet_.node_changed(before, nullptr);
  }
  void put(Allocation allocation) {
    auto& row = allocations_[allocation.id];
    const Row<Allocation> before = row;
    if (!before) allocation.create_index = ++revision_;
    allocation.modify_index = ++revision_;
    row = std::make_shared<const Allocation>(std::move(allocation));
    fleet_.allocation_changed(before, row);
  }

  /// Registers the job and plans for it.
  Plan run(Job job) {
    auto& row = jobs_[job.id];
    job.version = row ? row->version + 1 : 0;
    job.create_index = row ? row->create_index : ++revision_;
    job.modify_index = job.job_modify_index = ++revision_;
    row = std::make_shared<const Job>(std::move(job));
    return evaluate(new_evaluation(row->id, EvalTrigger::job_register));
  }
  Plan stop(const std::string& id) {
    Job job = *jobs_.at(id);
    job.stop = true;
    jobs_[id] = std::make_shared<const Job>(std::move(job));
    return evaluate(new_evaluation(id, EvalTrigger::job_deregister));
  }
  /// The job is purged, and another one of its name registered.
  void remake(const std::string& id) {
    Job job = *jobs_.at(id);
    job.create_index = ++revision_;
    jobs_[id] = std::make_shared<const Job>(std::move(job));
  }
  /// Plans again without that anything changed.
  Plan again(const std::string& id, EvalTrigger trigger = EvalTrigger::node_update) {
    return evaluate(new_evaluation(id, trigger));
  }

  Evaluation new_evaluation(const std::string& job_id, EvalTrigger trigger) {
    Evaluation evaluation;
    evaluation.id = ids_.uuid();
    evaluation.job_id = job_id;
    evaluation.triggered_by = trigger;
    if (jobs_.contains(job_id)) {
      evaluation.type = jobs_[job_id]->type;
      evaluation.priority = jobs_[job_id]->priority;
    }
    return evaluation;
  }

  Plan plan_for(const Evaluation& evaluation) { return plan_for(evaluation, fleet_, ids_); }
  Plan plan_for(const Evaluation& evaluation, Fleet& fleet, IdSource& ids) {
    std::vector<Row<Allocation>> allocations;
    for (const auto& [id, row] : allocations_) {
      if (row->job_id == evaluation.job_id) allocations.push_back(row);
    }
    Situation situation;
    situation.job = jobs_.contains(evaluation.job_id) ? jobs_[evaluation.job_id] : nullptr;
    situation.allocations = allocations;
    for (const auto& [id, row] : evaluations_) {
      if (row->job_id == evaluation.job_id) situation.evaluations.push_back(row);
    }
    for (const auto& [id, row] : deployments_) {
      const bool newer = !situation.deployment || situation.deployment->job_version < row->job_version ||
                         (situation.deployment->job_version == row->job_version &&
                          situation.deployment->create_index < row->create_index);
      if (row->job_id == evaluation.job_id && newer) situation.deployment = row;
    }
    situation.stable = [&]() -> Row<Job> {
      const auto it = stable_.find(evaluation.job_id);
      return it == stable_.end() ? nullptr : it->second;
    };
    std::vector<Row<Allocation>> on_node;
    situation.on_node = [&](const std::string& node_id) {
      on_node.clear();
      for (const auto& [id, row] : allocations_) {
        if (row->node_id == node_id) on_node.push_back(row);
      }
      return std::span<const Row<Allocation>>(on_node);
    };
    situation.rules = rules;
    situation.spared = spared;
    situation.quota = quota;
    if (quota) situation.quota->count = [this](const std::string& ns) { return quota_use(ns); };
    return schedule(situation, fleet, evaluation, Context{clock_.now(), ids});
  }

  Plan evaluate(const Evaluation& evaluation) {
    Plan plan = plan_for(evaluation);
    Plan kept = plan;
    for (auto& change : std::move(plan).take_changes()) apply(std::move(change));
    return kept;
  }

  /// Wakes blocked evaluations that `node` could help, and schedules all that is due; returns what was created.
  std::size_t work(const Node* changed = nullptr) {
    std::size_t created = 0;
    for (auto& [id, row] : evaluations_) {
      const bool woken = changed != nullptr && could_unblock(*row, *changed);
      const bool due = row->status == EvalStatus::pending && row->wait_until <= unix_nanos(clock_.now());
      if (!woken && !due) continue;
      Evaluation evaluation = *row;
      evaluation.status = EvalStatus::pending;
      created += evaluate(evaluation).created.size();
    }
    return created;
  }

  /// The nodes report: everything wanted runs.
  void start_all() {
    for (auto& [id, row] : allocations_) {
      if (row->desired_status == model::DesiredStatus::run && row->client_status == ClientStatus::pending)
        set_client(id, ClientStatus::running);
    }
  }
  void set_health(const std::string& id, bool healthy) {
    Allocation allocation = *allocations_.at(id);
    allocation.client_status = ClientStatus::running;
    allocation.health.healthy = healthy;
    put(std::move(allocation));
  }
  void set_deployment(model::Deployment deployment) {
    const std::string id = deployment.id;
    auto& row = deployments_[id];
    deployment.create_index = row ? row->create_index : ++revision_;
    row = std::make_shared<const model::Deployment>(std::move(deployment));
  }
  Row<model::Deployment> newest_deployment() const {
    Row<model::Deployment> newest;
    for (const auto& [id, row] : deployments_) {
      if (!newest || newest->create_index < row->create_index) newest = row;
    }
    return newest;
  }
  void set_client(const std::string& id, ClientStatus status) {
    Allocation allocation = *allocations_.at(id);
    allocation.client_status = status;
    if (allocation.client_terminal()) {
      model::TaskState& state = allocation.task_states["t"];
      state.state = model::TaskRunState::dead;
      state.failed = status == ClientStatus::failed;
      state.finished_at = unix_nanos(clock_.now());
    }
    allocation.modify_time = unix_nanos(clock_.now());
    put(std::move(allocation));
  }

  std::vector<Row<Allocation>> live(const std::string& job_id) const {
    std::vector<Row<Allocation>> out;
    for (const auto& [id, row] : allocations_) {
      if (row->job_id == job_id && !row->terminal()) out.push_back(row);
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return std::make_pair(a->index(), a->id) < std::make_pair(b->index(), b->id);
    });
    return out;
  }
  std::vector<std::string> live_names(const std::string& job_id) const {
    std::vector<std::string> out;
    for (const auto& row : live(job_id)) out.push_back(row->name);
    return out;
  }
  const Row<Allocation>& alloc(const std::string& id) const { return allocations_.at(id); }
  const std::map<std::string, Row<Node>>& nodes() const { return nodes_; }
  const std::map<std::string, Row<Allocation>>& allocations() const { return allocations_; }
  const std::map<std::string, Row<Evaluation>>& evaluations() const { return evaluations_; }
  const std::map<std::string, Row<Job>>& jobs() const { return jobs_; }
  /// For every plan from now on.
  /// Of all that hold something there, counted anew.
  QuotaUse quota_use(const std::string& ns) const {
    QuotaUse sum;
    for (const auto& [id, row] : allocations_) {
      if (row->ns == ns && !row->terminal()) sum.add(use_of(*row));
    }
    return sum;
  }

  std::optional<QuotaBound> quota;
  Rules rules;
  std::function<bool(const Allocation&, std::int64_t)> spared;
  Fleet& fleet() { return fleet_; }
  VirtualClock& clock() { return clock_; }

  std::vector<Row<Evaluation>> with_status(const std::string& job_id, EvalStatus status) const {
    std::vector<Row<Evaluation>> out;
    for (const auto& [id, row] : evaluations_) {
      if (row->job_id == job_id && row->status == status) out.push_back(row);
    }
    return out;
  }

 private:
  void apply(tables::Change change) {
    if (auto* allocation = std::get_if<tables::PutAllocation>(&change)) put(std::move(allocation->allocation));
    if (auto* evaluation = std::get_if<tables::PutEvaluation>(&change)) {
      const std::string id = evaluation->evaluation.id;
      evaluations_[id] = std::make_shared<const Evaluation>(std::move(evaluation->evaluation));
    }
    if (auto* job = std::get_if<tables::PutJob>(&change)) {
      const std::string id = job->job.id;
      jobs_[id] = std::make_shared<const Job>(std::move(job->job));
      if (jobs_[id]->stable) stable_[id] = jobs_[id];
    }
    if (auto* deployment = std::get_if<tables::PutDeployment>(&change)) set_deployment(std::move(deployment->row));
  }

  SeededIds ids_;
  VirtualClock clock_;
  Fleet fleet_;
  std::int64_t revision_ = 0;
  std::map<std::string, Row<Node>> nodes_;
  std::map<std::string, Row<Job>> jobs_;
  std::map<std::string, Row<Allocation>> allocations_;
  std::map<std::string, Row<Evaluation>> evaluations_;
  std::map<std::string, Row<model::Deployment>> deployments_;
  std::map<std::string, Row<Job>> stable_;  ///< the newest stable version, by job
};

/// What most plans are about, in one comparable line.
inline std::string summary(const Plan& plan) {
  const auto& g = plan.groups.count("g") != 0 ? plan.groups.at("g") : GroupChanges{};
  return fmt::format("place {} stop {} in-place {} destructive {} lost {} ignore {}", g.place, g.stop, g.in_place,
                     g.destructive, g.lost, g.ignore);
}

/// As a person, a drain at its deadline, or a more urgent job stops it, or its node's end.
inline void stop_to_go_elsewhere(World& world, Allocation row,
                                 model::DesiredStatus desired = model::DesiredStatus::stop) {
  row.desired_status = desired;
  row.transition.migrate = desired == model::DesiredStatus::stop;
  world.put(std::move(row));
}

}  // namespace underway::scheduler::testing
