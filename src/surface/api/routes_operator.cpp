// What operators set for the whole cluster: scheduling.
#include "api/routes.hpp"
#include "base/json.hpp"
#include "server/operator_decisions.hpp"
#include "tables/scheduler_configuration.hpp"

namespace underway::api {
namespace {

using acl::Level;
using boost::json::object;
using server::Context;
using tables::Tables;

awaitable<Response> read_scheduler_configuration(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::scheduler_configuration_scope()};
  co_return co_await answer_read(api, request, std::move(scopes), [](const Tables& tables) {
    const auto configuration = tables::scheduler_configuration(tables);
    return boost::json::serialize(object{{"Index", configuration.modify_index},
                                         {"KnownLeader", true},
                                         {"LastContact", 0},
                                         {"NextToken", ""},
                                         {"SchedulerConfig", json::to_value(configuration)}});
  });
}

awaitable<Response> write_scheduler_configuration(Api& api, Request request) {
  const auto body = parse_body(request);
  server::PutSchedulerConfiguration put{json::decode<model::SchedulerConfiguration>(body), {}};
  if (request.query.has("cas")) put.cas = integer_parameter(request, "cas", 0);
  tables::Scope subject = tables::scheduler_configuration_scope();
  co_await request.about(std::move(subject));
  auto decide = [put](const Tables& tables, const Context& context) {
    return server::decide_put_scheduler_configuration(tables, put, context);
  };
  const bool updated = co_await api.server.writer().submit(std::move(decide));
  const auto* tables = co_await api.server.read();
  const auto index = tables::scheduler_configuration(*tables).modify_index;
  co_return written(boost::json::serialize(object{{"Updated", updated}, {"Index", index}}), index);
}

}  // namespace

void add_operator_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/operator/scheduler/configuration", "read scheduler configuration",
             right::operators(Level::read), with(read_scheduler_configuration));
  routes.add("PUT|POST", "/v1/operator/scheduler/configuration", "write scheduler configuration",
             right::operators(Level::write), with(write_scheduler_configuration));
}

}  // namespace underway::api
