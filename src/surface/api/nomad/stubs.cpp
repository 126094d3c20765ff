#include "api/nomad/stubs.hpp"

#include "ownership/capsules.hpp"
#include "server/job/dependencies.hpp"
#include "server/job/start_decisions.hpp"

namespace underway::api {

namespace {

std::int64_t& counter(wire::GroupSummary& summary, model::ClientStatus status) {
  switch (status) {
    case model::ClientStatus::pending:
      return summary.starting;
    case model::ClientStatus::running:
      return summary.running;
    case model::ClientStatus::complete:
      return summary.complete;
    case model::ClientStatus::failed:
      return summary.failed;
    case model::ClientStatus::lost:
      return summary.lost;
    case model::ClientStatus::unknown:
      return summary.unknown;
  }
  return summary.unknown;
}

}  // namespace

wire::JobSummary summarize(const tables::Tables& tables, const model::Job& job) {
  auto summary = describe::project<wire::JobSummary>(job);
  for (const auto& group : job.groups) summary.groups[group.name];
  for (const auto& allocation : tables.allocations_of_job(job.ns, job.id)) {
    ++counter(summary.groups[allocation->group], allocation->client_status);
    summary.modify_index = std::max(summary.modify_index, allocation->modify_index);
  }
  if (job.starts_others()) {
    const auto children = server::count_children(tables, job);
    summary.children = {children.pending, children.running, children.dead};
  }
  for (const auto& evaluation : tables.evaluations_of_job(job.ns, job.id)) {
    if (evaluation->status != model::EvalStatus::blocked) continue;
    for (const auto& [group, queued] : evaluation->queued) summary.groups[group].queued = queued;
  }
  return summary;
}

wire::JobStub stub(const tables::Tables& tables, const model::Job& job) {
  auto out = describe::project<wire::JobStub>(job);
  out.summary = summarize(tables, job);
  return out;
}

std::optional<std::string> waiting_for(const tables::Tables& tables, const model::Allocation& allocation) {
  static const ownership::CapsuleGuard guard;
  return server::waiting_for(tables, allocation, &guard);
}

wire::AllocationStub stub(const tables::Tables& tables, const model::Allocation& allocation) {
  auto out = describe::project<wire::AllocationStub>(allocation);
  if (!allocation.terminal()) out.waiting_for = waiting_for(tables, allocation).value_or("");
  return out;
}

wire::NodeStub stub(const model::Node& node, bool with_os, bool with_resources) {
  auto out = describe::project<wire::NodeStub>(node);
  if (with_os) {
    for (const auto& [key, value] : node.attributes) {
      if (key.starts_with("os.")) out.attributes[key] = value;
    }
  }
  if (with_resources) {
    out.resources = node.resources;
    out.reserved = node.reserved;
  }
  return out;
}

}  // namespace underway::api
