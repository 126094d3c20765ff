// What a node tells of itself, and is told: statistics, metadata, collection. Asked over its link.
#include "api/routes.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "protocol/client_messages.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using acl::Level;

/// The node of `node_id`; without it that of this agent, if it is one.
std::string node_of(Api& api, const tables::Tables& tables, std::string id) {
  if (!id.empty()) return get_node(tables, id)->id;
  if (api.agent.client) {
    for (const auto& node : tables.nodes()) {
      if (node->name == api.agent.name && node->host.empty()) return node->id;
    }
  }
  throw Error(Code::invalid, "must provide a node_id").because("this agent is no node itself");
}

awaitable<boost::json::value> ask(Api& api, const Request& request, const char* method) {
  const auto* tables = co_await api.server.read();
  const std::string id = node_of(api, *tables, request.query.find("node_id").value_or(""));
  boost::json::value nothing = boost::json::object{};
  co_return co_await api.server.call_node(id, method, std::move(nothing));
}

awaitable<Response> read_stats(Api& api, Request request) {
  auto answer = co_await ask(api, request, "node.stats");
  answer.as_object()["DeviceStats"] = nullptr;  // what devices do nobody measures here
  co_return http::json(boost::json::serialize(answer));
}
awaitable<Response> read_metadata(Api& api, Request request) {
  co_return http::json(boost::json::serialize(co_await ask(api, request, "node.metadata")));
}

awaitable<Response> collect_on_node(Api& api, Request request) {
  request.tell("finished allocations of a node removed");
  co_await ask(api, request, "node.gc");
  co_return http::json("");  // as for an allocation's
}

awaitable<Response> apply_metadata(Api& api, Request request) {
  const auto body = parse_body(request);
  protocol::MetadataRequest wanted;
  const auto* meta = json::find_member(body, "Meta");
  if (meta == nullptr || !meta->is_object() || meta->get_object().empty())
    throw Error(Code::invalid, "missing required Meta object");
  wanted = json::decode<protocol::MetadataRequest>(boost::json::value(body));
  std::string id = json::text_member(body, "NodeID");
  if (id.empty()) id = request.query.find("node_id").value_or("");
  const auto* tables = co_await api.server.read();
  id = node_of(api, *tables, std::move(id));
  tables::Scope subject{tables::Topic::nodes, id};
  co_await request.about(std::move(subject));
  const auto answer = co_await api.server.call_node(id, "node.metadata.apply", json::to_value(wanted));
  co_return http::json(boost::json::serialize(answer));
}

}  // namespace

void add_client_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto read = right::node(Level::read), write = right::node(Level::write);
  routes.add("GET", "/v1/client/stats", "node statistics", read, with(read_stats));
  routes.add("GET", "/v1/client/metadata", "node metadata", read, with(read_metadata));
  routes.add("PUT|POST", "/v1/client/metadata", "change node metadata", write, with(apply_metadata));
  routes.add("GET", "/v1/client/gc", "collect on node", write, with(collect_on_node), {.effect = Effect::changes});
  routes.add("PUT|POST", "/v1/client/gc", "collect on node", write, with(collect_on_node));
}

}  // namespace underway::api
