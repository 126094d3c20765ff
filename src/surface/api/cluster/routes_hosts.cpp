// Hosts of clusters: list and read, and have the machines of virtual ones sleep and wake.
#include "api/cluster/change_note.hpp"
#include "api/node/node_body.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "host/virtual/sleep.hpp"

namespace underway::api {
namespace {

using acl::Level;
using tables::Scope;
using tables::Topic;

/// It stands in a line of a table, and in Slurm's log.
constexpr std::size_t kLongestReason = 200;

awaitable<Response> list_hosts(Api& api, Request request) {
  const std::string cluster = request.query.find("cluster").value_or("");
  std::vector<Scope> scopes{{Topic::hosts, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    return json_list(tables.hosts(cluster), [](const auto& host) { return json::encode(*host); });
  });
}

awaitable<Response> read_host(Api& api, Request request) {
  const std::string cluster = request.param("cluster"), name = request.param("name");
  std::vector<Scope> scopes{{Topic::hosts, cluster + "/" + name}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    const auto host = tables.find_host(cluster, name);
    if (!host) throw Error(Code::not_found, "host not found");
    return json::encode(*host);
  });
}

/// Answered when it is asked for: that it sleeps is told by the host.
awaitable<Response> suspend_host(Api& api, Request request) {
  host::SleepHost sleep{request.param("cluster"), request.param("name"), {}};
  if (!request.body.empty()) {
    const auto body = parse_body(request);
    const auto* why = json::find_member(body, "Reason");
    if (why != nullptr && why->is_string()) sleep.why = std::string(std::string_view(why->get_string()));
    if (sleep.why.size() > kLongestReason)
      throw Error(Code::invalid, fmt::format("Reason has more than {} bytes", kLongestReason));
  }
  co_await apply(api, request, std::move(sleep));
  co_return http::json("{}");
}

awaitable<Response> wake_host(Api& api, Request request) {
  host::WakeHost wake{request.param("cluster"), request.param("name")};
  if (!request.body.empty()) {
    const auto body = parse_body(request);
    const auto* node = json::find_member(body, "Node");
    if (node != nullptr && node->is_string() && !node->get_string().empty())
      wake.to_node = find_node_id(*co_await api.server.read(), std::string(std::string_view(node->get_string())));
  }
  co_await apply(api, request, std::move(wake));
  co_return http::json("{}");
}

}  // namespace

void add_host_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/underway/hosts", "list hosts", right::node(Level::read), with(list_hosts));
  routes.add("GET", "/v1/underway/host/:cluster/:name", "read host", right::node(Level::read), with(read_host));
  routes.add("PUT|POST", "/v1/underway/host/:cluster/:name/suspend", "suspend host", right::node(Level::write),
             with(suspend_host));
  routes.add("PUT|POST", "/v1/underway/host/:cluster/:name/wake", "wake host", right::node(Level::write),
             with(wake_host));
}

}  // namespace underway::api
