#include "base/text.hpp"
#include "slurm/elastic/member_controller.hpp"
#include "tables/file_reports.hpp"
#include "tables/slurm_members.hpp"

namespace underway::slurm {

using model::SlurmMember;

ClusterController controller_of(const tables::Tables& tables, const std::string& cluster) {
  ClusterController out;
  for (const auto& job : tables.jobs()) {
    if (job->cluster != cluster) continue;
    // One that somebody stopped comes back as often as not, to nodes that run its jobs.
    out.declared = out.declared || runs_slurmctld(*job);
    for (const auto& allocation : tables.allocations_of_job(job->ns, job->id)) {
      const bool runs = allocation->client_status == model::ClientStatus::running && !allocation->terminal();
      if (!runs || out.place) continue;
      out.place = find_slurmctld(allocation);
    }
  }
  return out;
}

std::vector<std::string> reasons_in_tables(const tables::Tables& tables, const std::string& node_id) {
  std::vector<std::string> out;
  if (const auto report = tables::find_record<model::FileReport>(tables, model::report_key(node_id, ""))) {
    if (!report->refused.empty()) out.push_back("its files are not the newest: " + report->refused);
    for (const auto& problem : report->problems)
      out.push_back(problem.path.empty() ? problem.reason : fmt::format("{}: {}", problem.path, problem.reason));
  }
  for (const auto& allocation : tables.allocations_on_node(node_id)) {
    const auto& job = allocation->job;
    const auto* group = job ? job->find_group(allocation->group) : nullptr;
    // Those of slurmd itself pass when it was let start.
    if (group == nullptr || job->type != model::JobType::system || allocation->terminal() || allocation->health.ready ||
        allocation->task_states.contains("slurmd"))
      continue;
    const auto checked = [](const auto& services) {
      return std::any_of(services.begin(), services.end(), [](const auto& service) { return !service.checks.empty(); });
    };
    const bool any = checked(group->services) || std::any_of(group->tasks.begin(), group->tasks.end(),
                                                             [&](const auto& task) { return checked(task.services); });
    if (any) out.push_back(fmt::format("the checks of '{}' do not pass", allocation->job_id));
  }
  return out;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteMembers& request,
                                         const server::Context& context) {
  server::Decision<server::Nothing> decision;
  for (const auto& name : request.forgotten) {
    const auto key = request.cluster + "/" + name;
    if (tables::find_record<SlurmMember>(tables, key))
      decision.changes.push_back(tables::delete_record<SlurmMember>(key));
  }
  for (const auto& member : request.members) {
    const auto host = tables.find_host(member.cluster, member.host);
    if (!host) continue;
    const auto current = tables::find_record<SlurmMember>(tables, member.cluster + "/" + member.host);
    const bool goes = host->status == model::HostStatus::stopping || host->status == model::HostStatus::stopped;
    // Slurm has not heard of it yet, and will not.
    if (!current && goes) continue;
    const bool same = current && current->status == member.status && current->description == member.description &&
                      current->differences == member.differences && current->suspended == member.suspended &&
                      current->node_id == member.node_id && current->boot == member.boot;
    if (same) continue;
    auto changed = member;
    changed.updated_at = unix_nanos(context.now);
    decision.changes.push_back(tables::put_record(changed));
  }
  return decision;
}

}  // namespace underway::slurm
