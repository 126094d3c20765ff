// `job plan`: what registering would do. Nomad's JobPlanResponse.
#include "api/change_note.hpp"
#include "api/cluster_body.hpp"
#include "api/config_refusal.hpp"
#include "api/routes.hpp"
#include "base/json.hpp"
#include "model/cron.hpp"
#include "server/start_decisions.hpp"

namespace underway::api {
namespace {

using acl::Capability;

/// As JSON: null when the clock starts nothing of it.
std::string next_launch_of(const model::Job& job, TimePoint now) {
  if (!server::starts_by_the_clock(job)) return "null";
  const auto next = model::next_time(job.periodic->expressions(), job.periodic->time_zone, now);
  return next ? fmt::format("\"{}\"", format_time(*next)) : "null";
}

awaitable<Response> plan_job(Api& api, Request request) {
  const auto body = parse_body(request);
  auto job = job_of(request, body);
  if (request.param("id") != job.id) throw Error(Code::invalid, "Job ID does not match");
  request.require(right::ns(Capability::plan_job), job.ns);
  refuse_configs({&job});
  const auto* wants_diff = body.if_contains("Diff");
  const bool diff = wants_diff != nullptr && wants_diff->is_bool() && wants_diff->get_bool();
  const auto plan = co_await api.server.plan_job(std::move(job));
  auto change = describe_plan(plan);
  change.impact = impact_of(api, plan);
  change.prospects = prospects_of(api.server.writer().tables(), plan);
  std::string out = "{\"Diff\":" + (diff ? json::encode(change.diff) : std::string("null"));
  out += ",\"Annotations\":{\"DesiredTGUpdates\":" + json::encode(change.updates) +
         ",\"PreemptedAllocs\":" + json::encode(change.evicted) + "}";
  out += ",\"FailedTGAllocs\":" + json::encode(change.failed);
  out += ",\"Touched\":" + json::encode(change.touched);
  out += ",\"Impact\":" + json::encode(change.impact);
  out += ",\"Prospects\":" + json::encode(change.prospects);
  out += fmt::format(",\"JobModifyIndex\":{},\"CreatedEvals\":{},\"NextPeriodicLaunch\":{},\"Warnings\":\"\"}}",
                     change.job_modify_index, json::encode(plan.plan.evaluations),
                     next_launch_of(plan.proposed, api.clock.now()));
  co_return written(std::move(out), change.job_modify_index);
}

}  // namespace

void add_plan_routes(Routes& routes, Api& api) {
  routes.add("PUT|POST", "/v1/job/*id/plan", "plan job", right::ns(Capability::plan_job, in_body),
             [&api](Request request) { return plan_job(api, std::move(request)); },
             {.body_limit = kJobBodyLimit, .effect = Effect::reads});
}

}  // namespace underway::api
