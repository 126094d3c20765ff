#include "server/dependencies.hpp"

#include <set>

namespace underway::server {
namespace {

bool healthy_somewhere(const tables::Tables& tables, const std::string& ns, const std::string& job_id,
                       const std::string* node_id) {
  const auto& allocations = tables.allocations_of_job(ns, job_id);
  return std::any_of(allocations.begin(), allocations.end(), [&](const auto& allocation) {
    return allocation->is_healthy() && (node_id == nullptr || allocation->node_id == *node_id);
  });
}

bool depends_on(const model::Job& job, const std::string& job_id) {
  const auto names_it = [&](const std::vector<model::Dependency>& dependencies) {
    return std::any_of(dependencies.begin(), dependencies.end(), [&](const auto& d) { return d.job == job_id; });
  };
  return names_it(job.depends_on) || std::any_of(job.groups.begin(), job.groups.end(),
                                                 [&](const auto& group) { return names_it(group.depends_on); });
}

}  // namespace

std::optional<std::string> waiting_for(const tables::Tables& tables, const model::Allocation& allocation) {
  if (!allocation.job || allocation.client_status != model::ClientStatus::pending) return std::nullopt;
  // What it replaces on this node, known by its name, may still hold its ports and files.
  for (const auto& other : tables.allocations_on_node(allocation.node_id)) {
    if (other->server_terminal() && !other->client_terminal() && other->name == allocation.name &&
        other->ns == allocation.ns)
      return fmt::format("allocation {} to stop", other->id.substr(0, 8));
  }
  const auto unmet = [&](const std::vector<model::Dependency>& dependencies) -> std::optional<std::string> {
    for (const auto& dependency : dependencies) {
      const bool here = dependency.scope == model::DependencyScope::node;
      if (healthy_somewhere(tables, allocation.ns, dependency.job, here ? &allocation.node_id : nullptr)) continue;
      return fmt::format("'{}' {}", dependency.job, here ? "on this node" : "to be healthy");
    }
    return std::nullopt;
  };
  if (auto what = unmet(allocation.job->depends_on)) return what;
  const auto* group = allocation.job->find_group(allocation.group);
  return group != nullptr ? unmet(group->depends_on) : std::nullopt;
}

std::vector<std::string> nodes_waiting_for(const tables::Tables& tables, const std::string& ns,
                                           const std::string& job_id) {
  std::set<std::string> nodes;
  for (const auto& job : tables.jobs(ns)) {
    if (job->stop || !depends_on(*job, job_id)) continue;
    for (const auto& allocation : tables.allocations_of_job(job->ns, job->id)) {
      if (allocation->client_status == model::ClientStatus::pending && !allocation->terminal())
        nodes.insert(allocation->node_id);
    }
  }
  return {nodes.begin(), nodes.end()};
}

}  // namespace underway::server
