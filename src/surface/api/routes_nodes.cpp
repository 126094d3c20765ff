// Nodes: list, read, allocations, eligibility, purge.
#include "api/routes.hpp"
#include "api/stubs.hpp"
#include "base/json.hpp"

namespace underway::api {
namespace {

using tables::Scope;
using tables::Topic;

awaitable<Response> list_nodes(Api& api, Request request) {
  const std::string prefix = request.query.find("prefix").value_or("");
  const bool os = request.query.flag("os"), resources = request.query.flag("resources");
  std::vector<Scope> scopes{{Topic::nodes, ""}};
  co_return co_await answer_list(
      api, request, std::move(scopes), [prefix, os, resources](const tables::Tables& tables) {
        std::vector<Item> items;
        for (const auto& node : tables.nodes(prefix)) {
          items.push_back({node->id, [node, os, resources] { return json::encode(stub(*node, os, resources)); }});
        }
        return items;
      });
}

awaitable<Response> read_node(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::nodes, id}};
  co_return co_await answer_read(api, request, std::move(scopes),
                                 [&](const tables::Tables& tables) { return json::encode(*get_node(tables, id)); });
}

awaitable<Response> node_allocations(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::allocations, "node:" + id}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    get_node(tables, id);
    return json_list(tables.allocations_on_node(id), [](const auto& allocation) { return json::encode(*allocation); });
  });
}

awaitable<Response> set_eligibility(Api& api, Request request) {
  const auto body = parse_body(request);
  const auto* text = body.if_contains("Eligibility");
  const auto eligibility =
      text != nullptr && text->is_string()
          ? description(describe::Tag<model::Eligibility>{}).parse(std::string_view(text->get_string()))
          : std::nullopt;
  if (!eligibility) throw Error(Code::invalid, "Eligibility must be \"eligible\" or \"ineligible\"");
  co_await api.server.set_eligibility(request.param("id"), static_cast<model::Eligibility>(*eligibility));
  const auto* tables = co_await api.server.read();
  const model::Revision index = tables->revision_of({Topic::nodes, request.param("id")});
  co_return written(
      boost::json::serialize(boost::json::object{
          {"NodeModifyIndex", index}, {"EvalIDs", boost::json::array{}}, {"EvalCreateIndex", 0}, {"Index", index}}),
      index);
}

awaitable<Response> purge_node(Api& api, Request request) {
  co_await api.server.purge_node(request.param("id"));
  const auto* tables = co_await api.server.read();
  const model::Revision index = tables->revision_of({Topic::nodes, request.param("id")});
  co_return written(boost::json::serialize(boost::json::object{
                        {"NodeModifyIndex", index}, {"EvalIDs", boost::json::array{}}, {"EvalCreateIndex", 0}}),
                    index);
}

}  // namespace

void add_node_routes(http::Router& router, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  router.add("GET", "/v1/nodes", "list nodes", with(list_nodes));
  router.add("GET", "/v1/node/:id", "read node", with(read_node));
  router.add("GET", "/v1/node/:id/allocations", "node allocations", with(node_allocations));
  router.add("PUT|POST", "/v1/node/:id/eligibility", "node eligibility", with(set_eligibility));
  router.add("PUT|POST", "/v1/node/:id/purge", "purge node", with(purge_node));
}

}  // namespace underway::api
