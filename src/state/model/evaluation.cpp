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
