#include "model/evaluation.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<EvalStatus>) {
  static const Enumeration e = describe::enumeration<EvalStatus>("evaluation status");
  return e;
}

const Enumeration& description(Tag<EvalTrigger>) {
  static const Enumeration e = [] {
    auto trigger = describe::enumeration<EvalTrigger>("trigger");
    for (auto& [value, name] : trigger.values) name = dashed_names<EvalTrigger>().at(static_cast<std::size_t>(value));
    return trigger;
  }();
  return e;
}

const Structure& description(Tag<Evaluation>) {
  static const Structure s =
      Builder<Evaluation>("evaluation", "Something changed; what to do about it.")
          .wire<&Evaluation::id>("ID", "UUID.")
          .wire<&Evaluation::ns>("Namespace", "Namespace of the job.")
          .wire<&Evaluation::priority>(
              "Priority", "1 to 100, the job's unless somebody said otherwise; the highest is planned first.")
          .wire<&Evaluation::type>("Type", "Type of the job: `service`, `batch`, `system` or `sysbatch`.")
          .wire<&Evaluation::triggered_by>("TriggeredBy",
                                           "What changed: `job-register`, `node-update`, `alloc-failure`, …")
          .wire<&Evaluation::job_id>("JobID", "ID of the job that is planned.")
          .wire<&Evaluation::job_modify_index>("JobModifyIndex", "Revision in which the job had last changed.")
          .wire<&Evaluation::node_id>("NodeID",
                                      "ID of the node whose change triggered it; empty: not that of one node.")
          .wire<&Evaluation::deployment_id>("DeploymentID", "ID of the rollout that it belongs to; empty: none.")
          .wire<&Evaluation::status>("Status",
                                     "`pending`, `blocked` (waits for capacity), `complete`, `failed` or `canceled`.")
          .wire<&Evaluation::status_description>("StatusDescription",
                                                 "Why it is so, for people; empty: there is nothing to say.")
          .wire<&Evaluation::previous_eval>("PreviousEval", "ID of the evaluation that made it; empty: none.")
          .wire<&Evaluation::next_eval>("NextEval",
                                        "ID of the evaluation that goes on when something is due; empty: none.")
          .wire<&Evaluation::blocked_eval>(
              "BlockedEval", "ID of the one that waits for capacity, as not everything could be placed; empty: none.")
          .wire<&Evaluation::failed_groups>("FailedTGAllocs", "Why groups could not be placed, by name.")
          .wire<&Evaluation::queued>("QueuedAllocations", "How many allocations are still to be placed, by group.")
          .wire<&Evaluation::class_eligibility>(
              "ClassEligibility", "Of one that is blocked: by computed class, whether its nodes could ever fit.")
          .wire<&Evaluation::escaped_class>(
              "EscapedComputedClass", "Of one that is blocked: whether nodes are judged one by one, and not by class.")
          .wire<&Evaluation::quota_limit_reached>(
              "QuotaLimitReached", "The quota that leaves no room for what is still to be placed; empty: none.")
          .wire<&Evaluation::wait_until>("WaitUntil", "When it is to be looked at; none: now.")
          .time()
          .wire<&Evaluation::create_time>("CreateTime", "Unix time in nanoseconds at which it was made.")
          .wire<&Evaluation::modify_time>("ModifyTime", "Unix time in nanoseconds at which it last changed.")
          .wire<&Evaluation::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&Evaluation::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model
