#include "server/job/standstill.hpp"

#include "base/text.hpp"
#include "server/gate_cache.hpp"

namespace underway::server {

namespace {

/// Between two steps a rollout rests for moments; nobody is to be called because of that.
constexpr Duration kMoment = std::chrono::seconds(20);

/// What keeps one allocation of it from its verdict, or from being a good one; nothing when that is only time.
std::optional<Standstill> find_obstacle(GateCache& cache, const model::Allocation& row, const Guard* guard) {
  const std::string id = row.id.substr(0, 8);
  const std::string place = fmt::format("'{}' on {}", row.job_id, row.node_name);
  const auto node = cache.tables().find_node(row.node_id);
  if (!node || node->silent())
    return Standstill{{},
                      fmt::format("node {} is not heard of, and {} was not found well before", row.node_name, place),
                      fmt::format("underway node status {}; when it will not come back: underway deployment fail {}",
                                  row.node_name, row.deployment_id.substr(0, 8))};
  if (row.health.healthy == false)
    return Standstill{
        {}, fmt::format("{} is not well: {}", place, row.health.description), "underway alloc status " + id};
  if (const auto waits = waiting_for(cache, row, guard))
    return Standstill{{}, fmt::format("{} waits for {}", place, *waits), "underway job explain " + row.job_id};
  return std::nullopt;
}

bool asks_a_person(const model::Allocation& row) {
  const auto* group = row.job ? row.job->find_group(row.group) : nullptr;
  return group != nullptr && update_policy(*row.job, *group).health_check == model::HealthCheck::manual;
}

/// How long a verdict on it may take.
Duration patience_with(const model::Allocation& row) {
  const auto* group = row.job ? row.job->find_group(row.group) : nullptr;
  return group == nullptr ? Duration{0} : update_policy(*row.job, *group).healthy_deadline;
}

std::optional<Standstill> find_cause(const Tables& tables, const model::Deployment& deployment, Duration since,
                                     const Guard* guard) {
  GateCache cache(tables);
  tables::Row<model::Allocation> awaited;
  for (const auto& row : tables.allocations_of_job(deployment.ns, deployment.job_id)) {
    const bool over = row->server_terminal() || row->health.healthy == true;
    if (row->deployment_id != deployment.id || over) continue;
    if (auto obstacle = find_obstacle(cache, *row, guard)) return obstacle;
    if (!awaited) awaited = row;
  }
  for (const auto& evaluation : tables.evaluations_of_job(deployment.ns, deployment.job_id)) {
    if (evaluation->status != model::EvalStatus::blocked || evaluation->failed_groups.empty()) continue;
    return Standstill{{},
                      fmt::format("group '{}' finds no place", evaluation->failed_groups.begin()->first),
                      "underway job explain " + deployment.job_id};
  }
  if (!awaited) return std::nullopt;
  const std::string id = awaited->id.substr(0, 8);
  const std::string place = fmt::format("'{}' on {}", awaited->job_id, awaited->node_name);
  if (asks_a_person(*awaited))
    return Standstill{{},
                      fmt::format("somebody is to say whether {} is well (health_check = \"manual\")", place),
                      fmt::format("PUT /v1/deployment/allocation-health/{}; to give it up: underway deployment fail {}",
                                  deployment.id, deployment.id.substr(0, 8))};
  if (since < patience_with(*awaited) + kMoment) return std::nullopt;
  return Standstill{{}, place + " was found neither well nor unwell in its time", "underway alloc status " + id};
}

}  // namespace

std::optional<Standstill> find_standstill(const Tables& tables, const model::Deployment& deployment, TimePoint now,
                                          const Guard* guard) {
  const Duration since{unix_nanos(now) - deployment.modify_time};
  if (deployment.status != model::DeploymentStatus::running || since < kMoment) return std::nullopt;
  auto found = find_cause(tables, deployment, since, guard);
  if (found) found->since = since;
  return found;
}

}  // namespace underway::server
