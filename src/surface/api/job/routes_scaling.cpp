// Counts of groups: how they stand and what was asked of them, scaling them, and the policies of autoscalers.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "server/job/scaling_decisions.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using boost::json::array;
using boost::json::object;
using tables::Scope;
using tables::Topic;

// --- a job

struct GroupScale {
  std::int64_t placed = 0, running = 0, healthy = 0, unhealthy = 0;
};

/// Nomad's JobScaleStatusResponse.
std::string scale_status(const tables::Tables& tables, const model::Job& job) {
  std::map<std::string, GroupScale> groups;
  for (const auto& group : job.groups) groups[group.name];
  for (const auto& allocation : tables.allocations_of_job(job.ns, job.id)) {
    if (allocation->terminal() || !groups.contains(allocation->group)) continue;
    GroupScale& scale = groups[allocation->group];
    ++scale.placed;
    scale.running += allocation->client_status == model::ClientStatus::running ? 1 : 0;
    if (allocation->health.healthy) ++(*allocation->health.healthy ? scale.healthy : scale.unhealthy);
  }
  const auto events = tables::find_record<model::ScalingEvents>(tables, job.ns + "/" + job.id);
  object out_groups;
  for (const auto& group : job.groups) {
    const GroupScale& scale = groups[group.name];
    object counts{{"Desired", job.stop ? 0 : group.count},
                  {"Placed", scale.placed},
                  {"Running", scale.running},
                  {"Healthy", scale.healthy},
                  {"Unhealthy", scale.unhealthy},
                  {"Events", nullptr}};
    if (events && events->groups.contains(group.name)) counts["Events"] = nomad_value(events->groups.at(group.name));
    out_groups[group.name] = std::move(counts);
  }
  return boost::json::serialize(object{{"JobID", job.id},
                                       {"Namespace", job.ns},
                                       {"JobCreateIndex", job.create_index},
                                       {"JobModifyIndex", job.modify_index},
                                       {"JobStopped", job.stop},
                                       {"TaskGroups", std::move(out_groups)}});
}

awaitable<Response> read_scale(Api& api, Request request) {
  const std::string ns = namespace_of(request), id = request.param("id");
  std::vector<Scope> scopes{{Topic::jobs, ns + "/" + id},
                            {Topic::allocations, "job:" + ns + "/" + id},
                            tables::record_scope<model::ScalingEvents>(ns + "/" + id)};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    const auto job = tables.find_job(ns, id);
    if (!job) throw Error(Code::not_found, "job not found");
    return scale_status(tables, *job);
  });
}

/// Nomad's ScalingRequest.
server::ScaleJob scale_of(const Request& request, const object& body) {
  server::ScaleJob out{.ns = namespace_of(request), .id = request.param("id")};
  const auto* target = json::find_member(body, "Target");
  const auto* group =
      target != nullptr && target->is_object() ? json::find_member(target->get_object(), "Group") : nullptr;
  if (group == nullptr || !group->is_string() || group->get_string().empty())
    throw Error(Code::invalid, "missing task group name for scaling action");
  out.group = std::string(std::string_view(group->get_string()));
  if (const auto* count = json::find_member(body, "Count"); count != nullptr && !count->is_null())
    out.count = json::decode<std::int64_t>(*count, "Count");
  if (const auto* message = json::find_member(body, "Message"); message != nullptr && !message->is_null())
    out.message = json::decode<std::string>(*message, "Message");
  if (const auto* error = json::find_member(body, "Error"); error != nullptr && error->is_bool())
    out.error = error->get_bool();
  if (const auto* meta = json::find_member(body, "Meta"); meta != nullptr && meta->is_object()) out.meta = *meta;
  return out;
}

awaitable<Response> scale_job(Api& api, Request request) {
  auto wanted = scale_of(request, parse_body(request));
  const auto done = co_await apply(api, request, std::move(wanted));
  const auto index = (co_await api.server.read())->revision();
  co_return written(boost::json::serialize(object{{"EvalID", done.eval_id},
                                                  {"EvalCreateIndex", done.eval_id.empty() ? 0 : index},
                                                  {"JobModifyIndex", done.job_modify_index},
                                                  {"Warnings", ""},
                                                  {"Index", index},
                                                  {"LastContact", 0},
                                                  {"KnownLeader", true},
                                                  {"NextToken", ""}}),
                    index);
}

// --- policies

object target_of(const server::ScalingPolicy& policy) {
  object target{{"Namespace", policy.job->ns}, {"Job", policy.job->id}, {"Group", policy.group}};
  if (!policy.task.empty()) target["Task"] = policy.task;
  return target;
}

object stub_of(const server::ScalingPolicy& policy) {
  return {{"ID", policy.id},
          {"Enabled", policy.scaling->enabled},
          {"Type", policy.scaling->type},
          {"Target", target_of(policy)},
          {"CreateIndex", policy.job->create_index},
          {"ModifyIndex", policy.job->job_modify_index}};
}

awaitable<Response> list_scaling_policies(Api& api, Request request) {
  const std::string ns = namespace_of(request), job = request.query.find("job").value_or(""),
                    type = request.query.find("type").value_or("");
  std::vector<Scope> scopes{{Topic::jobs, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&, ns, job, type](const tables::Tables& tables) {
    std::vector<Item> items;
    NamespaceFilter shown(request);
    for (const auto& policy : server::scaling_policies(tables, ns)) {
      if (!shown(policy.job->ns) || (!job.empty() && policy.job->id != job)) continue;
      if (!type.empty() && !policy.scaling->type.starts_with(type)) continue;
      items.push_back({policy.id, [policy] { return boost::json::serialize(stub_of(policy)); }});
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.token < b.token; });
    return items;
  });
}

awaitable<Response> read_scaling_policy(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::jobs, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    for (const auto& policy : server::scaling_policies(tables, "*")) {
      if (policy.id != id) continue;
      request.require(right::ns(Capability::read_scaling_policy), policy.job->ns);
      object out = stub_of(policy);
      out["Namespace"] = policy.job->ns;
      out["Policy"] = policy.scaling->policy;
      out["Min"] = policy.scaling->min ? boost::json::value(*policy.scaling->min) : boost::json::value();
      out["Max"] = policy.scaling->max ? boost::json::value(*policy.scaling->max) : boost::json::value();
      return boost::json::serialize(out);
    }
    throw Error(Code::not_found, "policy not found");
  });
}

}  // namespace

void add_scaling_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/job/*id/scale", "job scale", right::ns(Capability::read_job_scaling), with(read_scale));
  routes.add("PUT|POST", "/v1/job/*id/scale", "scale job", right::ns(Capability::scale_job), with(scale_job));
  routes.add("GET", "/v1/scaling/policies", "list scaling policies", right::ns(Capability::list_scaling_policies),
             with(list_scaling_policies));
  routes.add("GET", "/v1/scaling/policy/:id", "read scaling policy",
             right::ns(Capability::read_scaling_policy, in_body), with(read_scaling_policy));
}

}  // namespace underway::api
