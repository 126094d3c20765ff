// What the capsule of an allocation has changed, and how its services are: asked of its node. Ours.
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "run/extension.hpp"

namespace underway::api {
namespace {

using acl::Capability;

awaitable<Response> ask_capsule(Api& api, Request request, const char* method) {
  const auto* tables = co_await api.server.read();
  const auto allocation = get_allocation(*tables, request.param("id"));
  auto body = json::to_value(run::CapsuleQuery{allocation->id});
  const auto answer = co_await api.server.call_node(allocation->node_id, method, std::move(body));
  co_return http::json(boost::json::serialize(answer));
}

awaitable<Response> read_changes(Api& api, Request request) {
  co_return co_await ask_capsule(api, std::move(request), "capsule.changes");
}

awaitable<Response> read_services(Api& api, Request request) {
  co_return co_await ask_capsule(api, std::move(request), "capsule.services");
}

}  // namespace

void add_capsule_state_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/underway/allocation/:id/capsule/changes", "read changes of capsule",
             right::ns(Capability::read_fs, of_allocation), with(read_changes));
  routes.add("GET", "/v1/underway/allocation/:id/capsule/services", "read services of capsule",
             right::ns(Capability::read_job, of_allocation), with(read_services));
}

}  // namespace underway::api
