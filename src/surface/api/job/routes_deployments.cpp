// Deployments: list, read, their allocations, and what people decide about them; versions of jobs to go back to.
#include "api/cluster/change_note.hpp"
#include "api/nomad/stubs.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "server/job/deployment_decisions.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using model::Deployment;
using tables::Scope;
using tables::Topic;

tables::Row<Deployment> get_deployment(const tables::Tables& tables, const std::string& id) {
  auto row = tables.find<Deployment>(id);
  if (!row) throw Error(Code::not_found, "deployment not found");
  return row;
}

std::string encode_all(const std::vector<tables::Row<Deployment>>& rows) {
  return json_list(rows, [](const auto& row) { return nomad_json(*row); });
}

awaitable<Response> list_deployments(Api& api, Request request) {
  const std::string prefix = uuid_prefix_of(request);
  std::vector<Scope> scopes{{Topic::deployments, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&, prefix](const tables::Tables& tables) {
    std::vector<Item> items;
    NamespaceFilter shown(request);
    for (const auto& row : tables.rows<Deployment>(prefix)) {
      if (!shown(row->ns)) continue;
      items.push_back(item_of(row->id, row, prefix.empty() ? row->create_index : 0));
    }
    return items;
  });
}

awaitable<Response> read_deployment(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::deployments, id}};
  co_return co_await answer_read(api, request, std::move(scopes),
                                 [&](const tables::Tables& tables) { return nomad_json(*get_deployment(tables, id)); });
}

awaitable<Response> deployment_allocations(Api& api, Request request) {
  const std::string id = request.param("id");
  const auto* tables = co_await api.server.read();
  const auto row = get_deployment(*tables, id);
  std::vector<Scope> scopes{{Topic::allocations, "job:" + row->ns + "/" + row->job_id}};
  const auto list = [&](const tables::Tables& now) {
    std::vector<Item> items;
    for (const auto& own : now.allocations_of_job(row->ns, row->job_id)) {
      if (own->deployment_id == id)
        items.push_back({own->id, [&now, own] { return nomad_json(stub(now, *own)); }, {}, own->create_index});
    }
    return items;
  };
  co_return co_await answer_list(api, request, std::move(scopes), list);
}

awaitable<Response> job_deployments(Api& api, Request request) {
  const std::string id = request.param("id"), ns = namespace_of(request);
  std::vector<Scope> scopes{{Topic::deployments, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    return encode_all(tables.deployments_of_job(ns, id));
  });
}

/// Clients ask for it after a run; a job without one answers null, as Nomad does.
awaitable<Response> job_deployment(Api& api, Request request) {
  const std::string id = request.param("id"), ns = namespace_of(request);
  std::vector<Scope> scopes{{Topic::deployments, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    const auto& rows = tables.deployments_of_job(ns, id);
    return rows.empty() ? std::string("null") : nomad_json(*rows.front());
  });
}

// --- decisions

std::vector<std::string> list_member(const boost::json::object& body, const char* key) {
  const auto* value = json::find_member(body, key);
  if (value == nullptr || value->is_null()) return {};
  return json::decode<std::vector<std::string>>(*value, key);
}

std::int64_t version_member(const boost::json::object& body) {
  const auto* value = json::find_member(body, "JobVersion");
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0)
    throw Error(Code::invalid, "JobVersion must be a number");
  return value->get_int64();
}

/// Nomad's DeploymentUpdateResponse.
template <server::Request R>
awaitable<Response> update_deployment(Api& api, const Request& request, R wanted) {
  const server::DeploymentUpdated done = co_await apply(api, request, std::move(wanted));
  const auto index = (co_await api.server.read())->revision();
  boost::json::object body{{"EvalID", done.eval_id},
                           {"EvalCreateIndex", done.eval_id.empty() ? 0 : index},
                           {"DeploymentModifyIndex", index},
                           {"RevertedJobVersion", nullptr},
                           {"Index", index}};
  if (done.reverted_version) body["RevertedJobVersion"] = *done.reverted_version;
  co_return written(boost::json::serialize(body), index);
}

awaitable<Response> promote(Api& api, Request request) {
  const auto body = parse_body(request);
  auto groups = list_member(body, "Groups");
  if (json::flag_member(body, "All")) groups.clear();
  server::PromoteDeployment wanted{request.param("id"), std::move(groups)};
  co_return co_await update_deployment(api, request, std::move(wanted));
}

awaitable<Response> fail(Api& api, Request request) {
  server::FailDeployment wanted{request.param("id")};
  co_return co_await update_deployment(api, request, std::move(wanted));
}

awaitable<Response> pause(Api& api, Request request) {
  const bool on = json::flag_member(parse_body(request), "Pause");
  server::PauseDeployment wanted{request.param("id"), on};
  co_return co_await update_deployment(api, request, std::move(wanted));
}

/// Only rollouts over several regions are ever blocked.
awaitable<Response> unblock(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  const auto row = get_deployment(*tables, request.param("id"));
  throw Error(Code::invalid, fmt::format("can't unblock {} deployment", row->active() ? "running" : "terminal"));
}

awaitable<Response> set_health(Api& api, Request request) {
  const auto body = parse_body(request);
  server::HealthVerdicts verdicts{list_member(body, "HealthyAllocationIDs"),
                                  list_member(body, "UnhealthyAllocationIDs")};
  if (verdicts.healthy.empty() && verdicts.unhealthy.empty())
    throw Error(Code::invalid, "must specify at least one healthy/unhealthy allocation ID");
  server::SetAllocationHealth wanted{request.param("id"), std::move(verdicts)};
  co_return co_await update_deployment(api, request, std::move(wanted));
}

awaitable<Response> revert_job(Api& api, Request request) {
  const auto body = parse_body(request);
  server::RevertJob wanted{namespace_of(request), request.param("id"), version_member(body), {}};
  if (const auto* prior = json::find_member(body, "EnforcePriorVersion"); prior != nullptr && prior->is_int64())
    wanted.enforce_prior_version = prior->get_int64();
  const auto done = co_await apply(api, request, std::move(wanted));
  const auto index = (co_await api.server.read())->revision();
  co_return written(boost::json::serialize(boost::json::object{{"EvalID", done.eval_id},
                                                               {"EvalCreateIndex", index},
                                                               {"JobModifyIndex", done.job_modify_index},
                                                               {"Warnings", ""},
                                                               {"Index", index},
                                                               {"LastContact", 0},
                                                               {"KnownLeader", true}}),
                    index);
}

awaitable<Response> set_stable(Api& api, Request request) {
  const auto body = parse_body(request);
  const std::int64_t version = version_member(body);
  const bool stable = json::flag_member(body, "Stable");
  server::MarkStable wanted{namespace_of(request), request.param("id"), version, stable};
  co_await apply(api, request, std::move(wanted));
  const auto index = (co_await api.server.read())->revision();
  co_return written(boost::json::serialize(boost::json::object{{"JobModifyIndex", index}, {"Index", index}}), index);
}

}  // namespace

void add_deployment_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto read = right::ns(Capability::read_job, of_deployment);
  routes.add("GET", "/v1/deployments", "list deployments", right::ns(Capability::read_job), with(list_deployments));
  routes.add("GET", "/v1/deployment/:id", "read deployment", read, with(read_deployment));
  routes.add("GET", "/v1/deployment/allocations/:id", "deployment allocations", read, with(deployment_allocations));
  routes.add("PUT|POST", "/v1/deployment/promote/:id", "promote deployment",
             right::ns(Capability::promote_deployment, of_deployment), with(promote));
  routes.add("PUT|POST", "/v1/deployment/fail/:id", "fail deployment",
             right::ns(Capability::fail_deployment, of_deployment), with(fail));
  routes.add("PUT|POST", "/v1/deployment/pause/:id", "pause deployment",
             right::ns(Capability::pause_deployment, of_deployment), with(pause));
  routes.add("PUT|POST", "/v1/deployment/unblock/:id", "unblock deployment",
             right::ns(Capability::unblock_deployment, of_deployment), with(unblock));
  routes.add("PUT|POST", "/v1/deployment/allocation-health/:id", "allocation health",
             right::ns(Capability::set_alloc_health_deployment, of_deployment), with(set_health));
  routes.add("GET", "/v1/job/*id/deployment", "job deployment", right::ns(Capability::read_job), with(job_deployment));
  routes.add("GET", "/v1/job/*id/deployments", "job deployments", right::ns(Capability::read_job),
             with(job_deployments));
  routes.add("PUT|POST", "/v1/job/*id/revert", "revert job", right::ns(Capability::revert_job), with(revert_job));
  routes.add("PUT|POST", "/v1/job/*id/stable", "job stability", right::ns(Capability::stable_job), with(set_stable));
}

}  // namespace underway::api
