#pragma once
/// @file
/// Tables over a memory store to try decisions on: each is decided, applied, scheduled and made durable at once, as the
/// Writer does it, without a loop. For tests.

#include <fmt/format.h>

#include "model/node/node.hpp"
#include "scheduler/schedule.hpp"
#include "server/job/job_decisions.hpp"
#include "server/node/node_decisions.hpp"
#include "server/testing/asked.hpp"
#include "store/memory_store.hpp"

namespace underway::server::testing {

/// A UUID whose first eight digits are `number`.
inline std::string uuid(int number) { return fmt::format("{:08x}-0000-4000-8000-000000000000", number); }

/// A node as its agent would register it: 4 GHz, 8 GiB, raw_exec.
inline model::Node make_node(int number, std::int64_t cpu = 4000, std::int64_t memory_mb = 8192) {
  model::Node node;
  node.id = uuid(number);
  node.name = fmt::format("c{}", number);
  node.attributes = {{"kernel.name", "linux"}, {"unique.hostname", node.name}, {"driver.raw_exec", "1"}};
  node.resources.cpu = cpu;
  node.resources.memory_mb = memory_mb;
  node.resources.disk_mb = 100'000;
  node.networks = {{"default", "lo", fmt::format("10.0.0.{}", number), "10.0.0.0/24"}};
  node.drivers["raw_exec"] = {true, true, "", {}};
  return node;
}

/// One group "g" with one task "t".
inline model::Job make_job(const std::string& id, std::int64_t count = 1,
                           model::JobType type = model::JobType::service) {
  model::Job job;
  job.id = id;
  job.type = type;
  job.groups.resize(1);
  job.groups[0].name = "g";
  job.groups[0].count = count;
  job.groups[0].tasks.resize(1);
  model::Task& task = job.groups[0].tasks[0];
  task.name = "t";
  task.driver = "raw_exec";
  task.config = boost::json::object{{"command", "/bin/sleep"}, {"args", boost::json::array{"60"}}};
  task.resources.cpu = 500;
  task.resources.memory_mb = 256;
  job.canonicalize();
  return job;
}

inline model::Job depending_on(model::Job job, const std::string& other,
                               model::DependencyScope scope = model::DependencyScope::any) {
  job.depends_on.push_back({other, scope});
  return job;
}

inline model::AllocationUpdate report(const std::string& id, model::ClientStatus status, bool healthy = false) {
  model::AllocationUpdate update;
  update.id = id;
  update.client_status = status;
  update.health.ready = healthy;
  if (healthy) update.health.healthy = true;
  auto& task = update.task_states["t"];
  task.state = status == model::ClientStatus::running   ? model::TaskRunState::running
               : status == model::ClientStatus::pending ? model::TaskRunState::pending
                                                        : model::TaskRunState::dead;
  task.failed = status == model::ClientStatus::failed;
  return update;
}

class Desk {
 public:
  Desk() { tables.follow(&fleet); }

  Context context() { return {clock.now(), ids, store.revision() + 1, true}; }

  /// Decides about a request, or as a function says (testing/asked.hpp), makes what is changed durable and schedules
  /// what is due.
  template <class What>
  auto run(What what) {
    const auto request = asked(std::move(what));
    auto decision = decide(std::as_const(tables), request, context());
    commit(std::move(decision.changes));
    schedule();
    return std::move(decision.result);
  }
  Registered register_job(model::Job job) { return run(RegisterJob{std::move(job), {}, {}}); }
  void join(model::Node node, const std::string& secret = "secret") { run(RegisterNode{node, secret}); }
  void update(const std::string& node_id, std::vector<model::AllocationUpdate> updates) {
    run(UpdateAllocations{node_id, updates});
  }
  void down(const std::vector<std::string>& node_ids) { run(MarkNodesDown{node_ids, "gone"}); }

  void commit(std::vector<Change> changes) {
    store::Transaction transaction;
    transaction.then = tables.apply(std::move(changes), store.revision() + 1);
    if (transaction.then.empty()) return;
    store.commit(std::move(transaction), [](const auto&) {});
    store.step();
    tables.publish();
  }
  void schedule() {
    for (const auto& evaluation : tables.pending_evaluations()) {
      if (evaluation->wait_until > unix_nanos(clock.now())) continue;
      commit(scheduler::schedule(tables, fleet, *evaluation, scheduler::Context{clock.now(), ids, scheduling})
                 .take_changes());
    }
    std::vector<Change> changes;
    for (const auto& row : tables.jobs()) {
      model::Job job = *row;
      job.status = job_status(tables, job);
      if (job.status != row->status) changes.push_back(tables::PutJob{std::move(job), std::nullopt});
    }
    commit(std::move(changes));
  }

  /// The job's allocations that are wanted and have not ended.
  std::vector<tables::Row<model::Allocation>> live(const std::string& job) const {
    std::vector<tables::Row<model::Allocation>> out;
    for (const auto& row : tables.allocations_of_job("default", job)) {
      if (!row->terminal()) out.push_back(row);
    }
    return out;
  }
  tables::Row<model::Allocation> only(const std::string& job) const {
    const auto rows = live(job);
    if (rows.size() != 1) throw Error(Code::internal, fmt::format("job '{}' has {} allocations", job, rows.size()));
    return rows.front();
  }

  store::MemoryStore store{store::MemoryStore::Mode::stepped};
  tables::Tables tables;
  scheduler::Fleet fleet;
  VirtualClock clock;
  SeededIds ids{7};
  scheduler::Options scheduling;
};

}  // namespace underway::server::testing
