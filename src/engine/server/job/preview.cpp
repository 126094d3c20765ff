#include "server/job/preview.hpp"

namespace underway::server {

JobPlan preview_job(const Tables& tables, scheduler::Fleet& fleet, model::Job job, const Context& context,
                    std::vector<model::Namespace> coming) {
  // The decision itself is asked, so that a plan refuses exactly what a registration would refuse.
  const RegisterJob wanted{job, std::nullopt, std::nullopt, std::move(coming)};
  const auto decision = decide(tables, wanted, context);
  JobPlan out;
  out.current = tables.find_job(job.ns, job.id);
  if (out.current) out.job_modify_index = out.current->job_modify_index;
  if (out.current && out.current->stop) out.current = nullptr;
  const auto put = std::find_if(decision.changes.begin(), decision.changes.end(),
                                [](const auto& change) { return std::holds_alternative<tables::PutJob>(change); });
  out.proposed = put != decision.changes.end() ? std::get<tables::PutJob>(*put).job : *tables.find_job(job.ns, job.id);
  out.plan = scheduler::preview(tables, fleet, std::make_shared<const model::Job>(out.proposed),
                                scheduler::Context{context.now, context.ids, {}});
  return out;
}

}  // namespace underway::server
