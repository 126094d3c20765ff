// Why a job is as it is: what `underway job explain` asks.
#include "api/explain.hpp"
#include "api/routes.hpp"
#include "base/json.hpp"

namespace underway::api {
namespace {

using tables::Topic;

awaitable<Response> explain(Api& api, Request request) {
  const std::string id = request.param("id");
  if (request.query.flag("nodes")) request.require(right::node(acl::Level::read));
  std::vector<tables::Scope> scopes{{Topic::jobs, ""},
                                    {Topic::nodes, ""},
                                    {Topic::allocations, ""},
                                    {Topic::evaluations, ""},
                                    {Topic::deployments, ""}};
  const Gathering gather = [&](const tables::Tables& tables) {
    const auto job = get_job(tables, request, id);
    JudgeNodes judge;
    if (request.query.flag("nodes"))
      judge = [&](const model::TaskGroup& group) { return api.server.judge_nodes(job, group); };
    auto explained = explain_job(tables, *job, api.clock.now(), judge);
    return [explained = std::move(explained)] { return json::encode(explained); };
  };
  co_return co_await answer_apart(api, request, std::move(scopes), "explaining the job", gather);
}

}  // namespace

void add_explain_routes(Routes& routes, Api& api) {
  routes.add("GET", "/v1/underway/job/*id/explain", "explain job", right::ns(acl::Capability::read_job),
             [&api](Request request) { return explain(api, std::move(request)); });
}

}  // namespace underway::api
