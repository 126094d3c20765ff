#include "api/job/job_statuses.hpp"

namespace underway::api {

wire::JobStatusEntry status_entry(const tables::Tables& tables, const model::Job& job) {
  auto out = describe::project<wire::JobStatusEntry>(job);
  for (const auto& row : tables.allocations_of_job(job.ns, job.id)) {
    // What an earlier job of that name left is not of this one.
    if (row->create_index >= job.create_index)
      out.allocations.push_back(describe::project<wire::JobStatusAllocation>(*row));
    out.modify_index = std::max(out.modify_index, row->modify_index);
  }
  if (const auto& deployments = tables.deployments_of_job(job.ns, job.id); !deployments.empty()) {
    out.latest_deployment = describe::project<wire::JobStatusDeployment>(*deployments.front());
    out.modify_index = std::max(out.modify_index, deployments.front()->modify_index);
  }
  return out;
}

}  // namespace underway::api
