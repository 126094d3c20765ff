// The agent and the servers: self, members, health, leader, peers, regions, collection,
// and the link that nodes dial.
#include "api/cluster/change_note.hpp"
#include "api/cluster/troubles.hpp"
#include "api/openapi/openapi.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/version.hpp"
#include "http/endpoint.hpp"
#include "node/fingerprint/fingerprint.hpp"

namespace underway::api {
namespace {

using acl::Level;
using boost::json::array;
using boost::json::object;

awaitable<Response> static_read(Api& api, Request request, boost::json::value value) {
  std::vector<tables::Scope> scopes;
  std::string text = boost::json::serialize(value);
  co_return co_await answer_read(api, request, std::move(scopes), [&text](const tables::Tables&) { return text; });
}

/// The leader is who has the address of `status/leader`: Nomad's clients make it of `Addr` and the tag `port`, and ids
/// and numbers are those of the Raft configuration.
boost::json::value member(const Api& api) {
  const auto endpoint = http::parse_endpoint(api.agent.http_address);
  const std::string address = endpoint.is_unix() ? api.agent.http_address : endpoint.host;
  const std::int64_t port = endpoint.port;
  object tags{{"role", "nomad"},
              {"region", api.agent.region},
              {"dc", api.agent.datacenter},
              {"id", api.agent.name},
              {"build", std::string(node::kNomadVersion)},
              {"rpc_addr", address},
              {"port", std::to_string(port)},
              {"expect", "1"},
              {"raft_vsn", "3"},
              {"vsn", "1"}};
  return object{{"Name", api.agent.name + "." + api.agent.region},
                {"Addr", address},
                {"Port", port},
                {"Tags", std::move(tags)},
                {"Status", "alive"},
                {"ProtocolMin", 1},
                {"ProtocolMax", 5},
                {"ProtocolCur", 2},
                {"DelegateMin", 2},
                {"DelegateMax", 5},
                {"DelegateCur", 4}};
}

/// Our own words, and those that Nomad's clients look for.
boost::json::value configuration(const Api& api) {
  object all = api.agent.config.is_object() ? api.agent.config.get_object() : object{};
  all["Region"] = api.agent.region;
  all["Datacenter"] = api.agent.datacenter;
  all["NodeName"] = api.agent.name;
  all["Version"] = object{{"Version", std::string(node::kNomadVersion)},
                          {"VersionPrerelease", ""},
                          {"VersionMetadata", ""},
                          {"Revision", ""}};
  all["ACL"] = object{{"Enabled", api.access.acl}};
  all["Server"] = object{{"Enabled", api.agent.server}};
  all["Client"] = object{{"Enabled", api.agent.client}};
  return all;
}

/// The node that this agent is; empty when it is none, or not known yet.
std::string own_node(const Api& api, const tables::Tables& tables) {
  if (!api.agent.client) return {};
  for (const auto& node : tables.nodes()) {
    if (node->name == api.agent.name) return node->id;
  }
  return {};
}

awaitable<Response> agent_self(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  const char* const server = api.agent.server ? "true" : "false";
  object stats{{"underway", object{{"version", version()},
                                   {"build", build_id()},
                                   {"server", server},
                                   {"leader", "true"},
                                   {"client", api.agent.client ? "true" : "false"}}},
               {"nomad", object{{"server", server},
                                {"leader", "true"},
                                {"leader_addr", api.agent.http_address},
                                {"known_regions", "1"},
                                {"version", std::string(node::kNomadVersion)}}}};
  if (const std::string id = own_node(api, *tables); !id.empty()) stats["client"] = object{{"node_id", id}};
  boost::json::value self =
      object{{"config", configuration(api)}, {"member", member(api)}, {"stats", std::move(stats)}};
  co_return co_await static_read(api, std::move(request), std::move(self));
}

awaitable<Response> agent_members(Api& api, Request request) {
  boost::json::value members = object{{"ServerName", api.agent.name},
                                      {"ServerRegion", api.agent.region},
                                      {"ServerDC", api.agent.datacenter},
                                      {"Members", array{member(api)}}};
  co_return co_await static_read(api, std::move(request), std::move(members));
}

/// As Nomad answers it: 500 when something is not well.
awaitable<Response> agent_health(Api& api, Request request) {
  const auto troubles = troubles_of(api);
  object health;
  if (api.agent.server)
    health["server"] =
        object{{"ok", troubles.writable}, {"message", troubles.writable ? "ok" : troubles.attention.front().what}};
  if (api.agent.client) health["client"] = object{{"ok", true}, {"message", "ok"}};
  auto response = co_await static_read(api, std::move(request), boost::json::value(std::move(health)));
  if (!troubles.writable) response.status = 500;
  co_return response;
}

awaitable<Response> collect(Api& api, Request request) {
  co_await apply(api, request, server::Collect{server::Retention::none()});
  co_return http::json("");
}

}  // namespace

void add_agent_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto constant = [&](const char* path, const char* name, Right right, boost::json::value value) {
    routes.add("GET", path, name, right,
               [&api, value](Request request) { return static_read(api, std::move(request), value); });
  };
  routes.add("GET", "/v1/agent/self", "agent self", right::agent(Level::read), with(agent_self));
  routes.add("GET", "/v1/agent/members", "agent members", right::node(Level::read), with(agent_members));
  routes.add("GET", "/v1/agent/health", "agent health", right::open("load balancers and monitoring ask it"),
             with(agent_health));
  constant("/v1/agent/servers", "agent servers", right::agent(Level::read), array{api.agent.http_address});
  constant("/v1/status/leader", "leader", right::open("clients look for a server by it"),
           boost::json::string(api.agent.http_address));
  constant("/v1/status/peers", "peers", right::open("clients look for a server by it"), array{api.agent.http_address});
  constant("/v1/regions", "regions", right::open("clients look for a server by it"), array{api.agent.region});
  routes.add("PUT|POST", "/v1/system/gc", "collect garbage", right::management(), with(collect));
  routes.add("GET", "/v1/underway/openapi.json", "OpenAPI document", right::open("it is the same everywhere"),
             [](Request) -> awaitable<Response> { co_return http::json(openapi_document()); });
}

}  // namespace underway::api
