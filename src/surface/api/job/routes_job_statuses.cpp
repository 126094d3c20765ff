// Jobs with all that a page of them shows: the list that Nomad's web page lives on.
#include <set>

#include "api/job/job_statuses.hpp"
#include "api/routes.hpp"
#include "base/text.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using tables::Scope;
using tables::Topic;

/// In order of their last change. With a body, only the jobs that it names, of whatever namespace: what is gone, or may
/// not be seen, is left out.
awaitable<Response> job_statuses(Api& api, Request request) {
  wire::JobStatusesBody body;
  if (!trim(request.body).empty()) body = json::decode<wire::JobStatusesBody>(boost::json::value(parse_body(request)));
  std::set<wire::NamespacedId> wanted;
  for (auto& job : body.jobs) {
    if (job.ns.empty()) job.ns = "default";
    wanted.insert(std::move(job));
  }
  const std::string ns = wanted.empty() ? namespace_of(request) : "*";
  const std::string prefix = request.query.find("prefix").value_or("");
  std::vector<Scope> scopes{{Topic::jobs, ""}, {Topic::allocations, ""}, {Topic::deployments, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    std::vector<Item> items;
    for (const auto& job : tables.jobs(ns, prefix)) {
      if (!wanted.empty() && !wanted.contains({job->id, job->ns})) continue;
      if (!request.may(job->ns, Capability::read_job)) continue;
      items.push_back({job->ns + "." + job->id, [&tables, job] { return json::encode(status_entry(tables, *job)); },
                       filter::datum_of(*job), job->modify_index});
    }
    return items;
  });
}

}  // namespace

void add_job_status_routes(Routes& routes, Api& api) {
  const auto handler = [&api](Request request) { return job_statuses(api, std::move(request)); };
  // A body may name jobs of several namespaces: each is looked at by itself.
  routes.add("GET", "/v1/jobs/statuses", "job statuses", right::something(), handler);
  routes.add("PUT|POST", "/v1/jobs/statuses", "job statuses", right::something(), handler, {.effect = Effect::reads});
}

}  // namespace underway::api
