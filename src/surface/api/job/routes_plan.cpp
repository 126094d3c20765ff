// `job plan`: what registering would do. Nomad's JobPlanResponse.
#include "api/cluster/change_note.hpp"
#include "api/job/config_refusal.hpp"
#include "api/job/job_change.hpp"
#include "api/job/job_warnings.hpp"
#include "api/nomad/nomad_body.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "model/job/cron.hpp"
#include "saving/protection.hpp"
#include "server/job/start_decisions.hpp"
#include "wire/cluster/cluster.hpp"

namespace underway::api {
namespace {

using acl::Capability;

/// As JSON: null when the clock starts nothing of it.
std::string next_launch_of(const model::Job& job, TimePoint now) {
  if (!server::starts_by_the_clock(job)) return "null";
  const auto next = model::next_time(job.periodic->expressions(), job.periodic->time_zone, now);
  return next ? fmt::format("\"{}\"", format_time(*next)) : "null";
}

/// What a plan's request asks for.
struct WantedPlan {
  model::Job job;
  bool diff = false;
  std::vector<model::Protection> protections;
  std::vector<jobspec::TemplateWarning> warnings;
};

WantedPlan read_wanted(const Request& request) {
  const auto body = parse_body(request);
  const auto* wants_diff = json::find_member(body, "Diff");
  auto job = job_of(request, body);
  refuse_configs({&job});
  auto protections = saving::protections_of(job);
  auto warnings = jobspec::template_warnings(job);
  return {std::move(job), wants_diff != nullptr && wants_diff->is_bool() && wants_diff->get_bool(),
          std::move(protections), std::move(warnings)};
}

/// Null when there is nothing in it: clients of Nomad ask for that, and not for how much is in it.
template <class T>
std::string or_null(const T& all) {
  return all.empty() ? "null" : nomad_json(all);
}

std::string planned_json(const wire::JobChange& change, const server::JobPlan& plan, bool diff, TimePoint now) {
  std::string out = "{\"Diff\":" + (diff ? nomad_json(change.diff) : std::string("null"));
  out += ",\"Annotations\":{\"DesiredTGUpdates\":" + json::encode(change.updates) +
         ",\"PreemptedAllocs\":" + or_null(change.evicted) + "}";
  out += ",\"FailedTGAllocs\":" + or_null(change.failed);
  out += ",\"Touched\":" + json::encode(change.touched);
  out += ",\"Impact\":" + json::encode(change.impact);
  out += ",\"Prospects\":" + json::encode(change.prospects);
  out += ",\"Protections\":" + json::encode(change.protections);
  out += fmt::format(R"(,"JobModifyIndex":{},"CreatedEvals":{},"NextPeriodicLaunch":{},"Warnings":{},"Index":{}}})",
                     change.job_modify_index, or_null(plan.plan.evaluations), next_launch_of(plan.proposed, now),
                     json::encode(change.warnings), change.job_modify_index);
  return out;
}

awaitable<Response> plan_job(Api& api, Request request) {
  auto read = [&request] { return read_wanted(request); };
  auto wanted = co_await computed(api, request, "reading the job", read);
  if (request.param("id") != wanted.job.id) throw Error(Code::invalid, "Job ID does not match");
  request.require(right::ns(Capability::plan_job), wanted.job.ns);
  const auto plan = co_await api.server.plan_job(std::move(wanted.job));
  const auto impact = impact_of(api, plan);
  const auto prospects = prospects_of(api.server.writer().tables(), plan);
  saving::look_for_nodes(wanted.protections, api.server.writer().tables(), nullptr);
  const std::string warnings = job_warnings(wanted.warnings, api.server.writer().tables());
  const TimePoint now = api.clock.now();
  auto tell = [&] {
    auto change = describe_plan(plan);
    change.impact = impact;
    change.prospects = prospects;
    change.protections = wanted.protections;
    change.warnings = warnings;
    return planned_json(change, plan, wanted.diff, now);
  };
  co_return written(co_await computed(api, request, "describing the plan", tell), plan.job_modify_index);
}

}  // namespace

void add_plan_routes(Routes& routes, Api& api) {
  routes.add("PUT|POST", "/v1/job/*id/plan", "plan job", right::ns(Capability::plan_job, in_body),
             [&api](Request request) { return plan_job(api, std::move(request)); },
             {.body_limit = kJobBodyLimit, .effect = Effect::reads});
}

}  // namespace underway::api
