// What people do to a cluster: jobs that come, change and go, nodes that are drained, rules that change.
#include "server/access/namespace_decisions.hpp"
#include "server/access/quota_decisions.hpp"
#include "server/storage/operator_decisions.hpp"
#include "sim/control_plane.hpp"

namespace underway::sim {

using server::Context;
using server::Decision;
using server::Nothing;
using tables::Tables;

namespace {

model::JobType type_of(int number) {
  switch (number) {
    case 0:
      return model::JobType::system;
    case 1:
      return model::JobType::batch;
    default:
      return model::JobType::service;
  }
}

}  // namespace

void ControlPlane::run_job() {
  const int which = number(0, kJobs - 1);
  model::Job job = make_job(job_id(which), number(0, 4), type_of(which));
  auto& task = job.groups[0].tasks[0];
  task.resources.cpu = 250 * number(1, 5);
  if (chance(0.5)) task.env["VERSION"] = std::to_string(number(1, 3));
  if (which == 2 || which == 5) {
    job.groups[0].networks.resize(1);
    job.groups[0].networks[0].reserved_ports.push_back({"http", 8080, 0, "default", false});
  }
  if (which == 3) job.depends_on.push_back({job_id(2), model::DependencyScope::any});
  if (which == 4) {
    job.groups[0].disconnect = model::DisconnectStrategy{.lost_after = std::chrono::minutes(number(1, 3)),
                                                         .replace = chance(0.7),
                                                         .reconcile = static_cast<model::Reconcile>(number(0, 3))};
    job.groups[0].migrate = model::MigrateStrategy{.max_parallel = number(1, 3)};
  }
  if (job.type == model::JobType::system) job.groups[0].count = 1;
  job.priority = 5 * number(1, 19);
  register_job(job);
}

/// Who may push others aside, how nodes are filled, and how much all may have together.
void ControlPlane::change_rules() {
  if (chance(0.5)) {
    server::PutSchedulerConfiguration put;
    put.configuration.algorithm = chance(0.5) ? model::SchedulerAlgorithm::spread : model::SchedulerAlgorithm::binpack;
    put.configuration.preemption = {
        .system = chance(0.5), .sysbatch = false, .batch = chance(0.5), .service = chance(0.7)};
    return submit(put, [](const bool*) {});
  }
  model::Quota quota;
  quota.name = "all";
  quota.limits.resize(1);
  quota.limits[0].region_limit.cpu = 1000 * number(0, 6);
  submit(server::PutQuota{quota, "global"}, [](const Nothing*) {});
  model::Namespace ns;
  ns.name = model::kDefaultNamespace;
  ns.quota = chance(0.7) ? quota.name : std::string();
  submit(server::PutNamespace{ns}, [](const Nothing*) {});
}

void ControlPlane::register_job(const model::Job& job) {
  submit(server::RegisterJob{job, {}, {}}, [this, id = job.id](const server::Registered* done) {
    if (done != nullptr) acknowledged_[id] = std::max(acknowledged_[id], done->job_modify_index);
  });
}

void ControlPlane::administrate() {
  const int what = number(0, 12);
  if (what <= 4) return run_job();
  if (what == 5) {
    submit(server::DeregisterJob{"default", job_id(number(0, kJobs - 1)), false}, [](const server::Registered*) {});
    return;
  }
  if (what == 6) {
    const auto rows = process_->tables.allocations();
    if (rows.empty()) return;
    const auto id = rows[static_cast<std::size_t>(number(0, static_cast<int>(rows.size()) - 1))]->id;
    submit(server::StopAllocation{id}, [](const std::string*) {});
    return;
  }
  Machine& machine = machines_[static_cast<std::size_t>(number(0, static_cast<int>(machines_.size()) - 1))];
  if (what == 7) {
    const auto eligibility = chance(0.5) ? model::Eligibility::eligible : model::Eligibility::ineligible;
    submit(server::SetEligibility{machine.node.id, eligibility}, [](const Nothing*) {});
    return;
  }
  if (what == 12) return change_rules();
  if (what >= 10) {
    const std::array<Duration, 4> deadlines = {Duration(-1), Duration(0), std::chrono::seconds(30),
                                               std::chrono::minutes(10)};
    const auto which = static_cast<int>(&machine - machines_.data());
    return drain(which, chance(0.6) ? std::optional(deadlines[static_cast<std::size_t>(number(0, 3))]) : std::nullopt);
  }
  // The machine dies, and with it everything that it ran.
  machine.up = false;
  cut(machine);
  machine.locals.clear();
  machine.unreported.clear();
}

}  // namespace underway::sim
