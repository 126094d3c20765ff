#include "model/evaluation.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<EvalStatus>) {
  static const Enumeration e =
      describe::enumeration<EvalStatus>("evaluation status", {{EvalStatus::blocked, "blocked"},
                                                              {EvalStatus::pending, "pending"},
                                                              {EvalStatus::complete, "complete"},
                                                              {EvalStatus::failed, "failed"},
                                                              {EvalStatus::canceled, "canceled"}});
  return e;
}

const Enumeration& description(Tag<EvalTrigger>) {
  using T = EvalTrigger;
  static const Enumeration e =
      describe::enumeration<T>("trigger", {{T::job_register, "job-register"},
                                           {T::job_deregister, "job-deregister"},
                                           {T::node_drain, "node-drain"},
                                           {T::node_update, "node-update"},
                                           {T::alloc_stop, "alloc-stop"},
                                           {T::alloc_failure, "alloc-failure"},
                                           {T::queued_allocs, "queued-allocs"},
                                           {T::max_plan_attempts, "max-plan-attempts"},
                                           {T::failed_follow_up, "failed-follow-up"},
                                           {T::periodic_job, "periodic-job"},
                                           {T::scheduled, "scheduled"},
                                           {T::rolling_update, "rolling-update"},
                                           {T::deployment_watcher, "deployment-watcher"},
                                           {T::max_disconnect_timeout, "max-disconnect-timeout"},
                                           {T::reconnect, "reconnect"},
                                           {T::alloc_reschedule, "alloc-reschedule"},
                                           {T::preemption, "preemption"},
                                           {T::job_scaling, "job-scaling"}});
  return e;
}

const Structure& description(Tag<Evaluation>) {
  static const Structure s = Builder<Evaluation>("evaluation", "Something changed; what to do about it.")
                                 .wire<&Evaluation::id>("ID", "")
                                 .wire<&Evaluation::ns>("Namespace", "")
                                 .wire<&Evaluation::priority>("Priority", "")
                                 .wire<&Evaluation::type>("Type", "")
                                 .wire<&Evaluation::triggered_by>("TriggeredBy", "")
                                 .wire<&Evaluation::job_id>("JobID", "")
                                 .wire<&Evaluation::job_modify_index>("JobModifyIndex", "")
                                 .wire<&Evaluation::node_id>("NodeID", "")
                                 .wire<&Evaluation::deployment_id>("DeploymentID", "")
                                 .wire<&Evaluation::status>("Status", "")
                                 .wire<&Evaluation::status_description>("StatusDescription", "")
                                 .wire<&Evaluation::previous_eval>("PreviousEval", "")
                                 .wire<&Evaluation::next_eval>("NextEval", "")
                                 .wire<&Evaluation::blocked_eval>("BlockedEval", "")
                                 .wire<&Evaluation::failed_groups>("FailedTGAllocs", "")
                                 .wire<&Evaluation::queued>("QueuedAllocations", "")
                                 .wire<&Evaluation::class_eligibility>("ClassEligibility", "")
                                 .wire<&Evaluation::escaped_class>("EscapedComputedClass", "")
                                 .wire<&Evaluation::quota_limit_reached>("QuotaLimitReached", "")
                                 .wire<&Evaluation::wait_until>("WaitUntil", "")
                                 .time()
                                 .wire<&Evaluation::create_time>("CreateTime", "")
                                 .wire<&Evaluation::modify_time>("ModifyTime", "")
                                 .wire<&Evaluation::create_index>("CreateIndex", "")
                                 .wire<&Evaluation::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

}  // namespace underway::model
