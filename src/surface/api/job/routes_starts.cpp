// Jobs that start others: by force what the clock would start, and dispatch.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "server/job/start_decisions.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using tables::Scope;
using tables::Topic;

/// Nomad's PeriodicForceResponse and JobDispatchResponse.
std::string started_json(const server::Started& started, model::Revision index, bool dispatched) {
  boost::json::object out{
      {"EvalID", started.eval_id}, {"EvalCreateIndex", started.eval_id.empty() ? 0 : index}, {"Index", index}};
  if (dispatched) {
    out["DispatchedJobID"] = started.job_id;
    out["JobCreateIndex"] = index;
  }
  return boost::json::serialize(out);
}

awaitable<Response> force_periodic(Api& api, Request request) {
  const std::string ns = namespace_of(request), id = request.param("id");
  server::ForcePeriodic wanted{ns, id};
  const auto started = co_await apply(api, request, std::move(wanted));
  request.made({Topic::jobs, ns + "/" + started.job_id});
  const auto* tables = co_await api.server.read();
  const auto child = tables->find_job(ns, started.job_id);
  const model::Revision index = child ? child->create_index : tables->revision();
  co_return written(started_json(started, index, false), index);
}

server::DispatchJob dispatch_of(const Request& request, const boost::json::object& body) {
  server::DispatchJob out{.ns = namespace_of(request), .id = request.param("id")};
  const auto member = [&](const char* key) -> const boost::json::value* {
    const auto* value = json::find_member(body, key);
    return value == nullptr || value->is_null() ? nullptr : value;
  };
  if (const auto* id = member("JobID");
      id != nullptr && id->is_string() && std::string_view(id->get_string()) != out.id)
    throw Error(Code::invalid, "Job ID does not match");
  if (const auto* payload = member("Payload")) {
    if (!payload->is_string()) throw Error(Code::invalid, "Payload must be a string in base64");
    out.payload = base64_decode(std::string_view(payload->get_string()));
  }
  if (const auto* meta = member("Meta")) out.meta = json::decode<model::StringMap>(*meta, "Meta");
  if (const auto* prefix = member("IdPrefixTemplate"))
    out.id_prefix_template = json::decode<std::string>(*prefix, "IdPrefixTemplate");
  if (const auto* priority = member("Priority"); priority != nullptr && json::decode<std::int64_t>(*priority) != 0)
    out.priority = json::decode<std::int64_t>(*priority, "Priority");
  out.idempotency_token = request.query.find("idempotency_token").value_or("");
  return out;
}

awaitable<Response> dispatch_job(Api& api, Request request) {
  auto wanted = dispatch_of(request, request.body.empty() ? boost::json::object{} : parse_body(request));
  const std::string ns = wanted.ns;
  const auto started = co_await apply(api, request, std::move(wanted));
  request.made({Topic::jobs, ns + "/" + started.job_id});
  const auto* tables = co_await api.server.read();
  const auto child = tables->find_job(ns, started.job_id);
  const model::Revision index = child ? child->create_index : tables->revision();
  co_return written(started_json(started, index, true), index);
}

awaitable<Response> dispatch_payload(Api& api, Request request) {
  const std::string ns = namespace_of(request), id = request.param("id");
  std::vector<Scope> scopes{{Topic::jobs, ns + "/" + id}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    const auto job = tables.find_job(ns, id);
    if (!job) throw Error(Code::not_found, "job not found");
    if (!job->dispatched) throw Error(Code::invalid, fmt::format("job '{}' was not dispatched", id));
    return boost::json::serialize(boost::json::object{{"Payload", job->payload.value_or("")}});
  });
}

}  // namespace

void add_start_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("PUT|POST", "/v1/job/*id/periodic/force", "force periodic job", right::ns(Capability::force_periodic_job),
             with(force_periodic));
  routes.add("PUT|POST", "/v1/job/*id/dispatch", "dispatch job", right::ns(Capability::dispatch_job),
             with(dispatch_job));
  routes.add("GET", "/v1/job/*id/dispatch/payload", "dispatch payload", right::ns(Capability::read_job),
             with(dispatch_payload));
}

}  // namespace underway::api
