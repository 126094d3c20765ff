// Hosts of clusters: list and read, and have the machines of virtual ones sleep and wake.
#include "api/cluster/change_note.hpp"
#include "api/node/node_body.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "host/virtual/sleep.hpp"
#include "slurm/sleep/companions.hpp"

namespace underway::api {
namespace {

using acl::Level;
using tables::Scope;
using tables::Topic;

/// It stands in a line of a table, and in Slurm's log.
constexpr std::size_t kLongestReason = 200;
/// Of a pool there are 10,000 hosts at most.
constexpr std::size_t kMostTogether = 10'000;

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

/// The host of the path, and those of the body's `With`.
std::vector<std::string> hosts_in(const Request& request, const boost::json::object& body) {
  const auto* with = json::find_member(body, "With");
  auto names = with == nullptr ? std::vector<std::string>() : json::decode<std::vector<std::string>>(*with, "With");
  if (names.size() > kMostTogether)
    throw Error(Code::invalid, fmt::format("With has more than {} hosts", kMostTogether));
  names.insert(names.begin(), request.param("name"));
  return names;
}

bool joins_slurm(const tables::Tables& tables, const host::SleepHosts& sleep) {
  const auto cluster = tables.find_cluster(sleep.cluster);
  return cluster && std::any_of(sleep.names.begin(), sleep.names.end(), [&](const auto& name) {
           const auto host = tables.find_host(sleep.cluster, name);
           const auto* pool = host ? cluster->find_pool(host->pool) : nullptr;
           return pool != nullptr && pool->slurm;
         });
}

/// A Slurm job of which one host sleeps can do nothing on the others. Where Slurm cannot be asked nothing sleeps before
/// it can, and what this is about is looked at then, too.
awaitable<void> require_whole_jobs(Api& api, host::SleepHosts sleep) {
  if (!joins_slurm(*co_await api.server.read(), sleep)) co_return;
  std::map<std::string, std::string> others;
  try {
    others = co_await slurm::ask_companions(api.server, sleep.cluster, sleep.names);
  } catch (const Error&) {
    co_return;
  }
  const auto* tables = co_await api.server.read();
  std::erase_if(others, [&](const auto& other) {
    const auto host = tables->find_host(sleep.cluster, other.first);
    return host && !host->sleep.empty() && !host->sleeps_to_move;
  });
  if (others.empty()) co_return;
  std::vector<std::string> names;
  for (const auto& [name, job] : others) names.push_back(name);
  const auto& [name, job] = *others.begin();
  throw Error(Code::conflict, fmt::format("{} cannot sleep alone", join_some(sleep.names, 5)))
      .because(names.size() == 1 ? fmt::format("the Slurm job {} is on {}, too", job, name)
                                 : fmt::format("Slurm jobs are on {}, too: {} on {}", join_some(names, 20), job, name))
      .advise(fmt::format("name all of them: `underway host suspend {} {}`", join(sleep.names, " "), join(names, " ")));
}

/// Answered when it is asked for: that it sleeps is told by the host.
awaitable<Response> suspend_host(Api& api, Request request) {
  const auto body = request.body.empty() ? boost::json::object() : parse_body(request);
  host::SleepHosts sleep{request.param("cluster"), hosts_in(request, body), {}};
  const auto* why = json::find_member(body, "Reason");
  if (why != nullptr && why->is_string()) sleep.why = std::string(std::string_view(why->get_string()));
  if (sleep.why.size() > kLongestReason)
    throw Error(Code::invalid, fmt::format("Reason has more than {} bytes", kLongestReason));
  co_await require_whole_jobs(api, sleep);
  co_await apply(api, request, std::move(sleep));
  co_return http::json("{}");
}

awaitable<Response> wake_host(Api& api, Request request) {
  const auto body = request.body.empty() ? boost::json::object() : parse_body(request);
  const auto* node = json::find_member(body, "Node");
  std::string to_node;
  if (node != nullptr && node->is_string() && !node->get_string().empty())
    to_node = find_node_id(*co_await api.server.read(), std::string(std::string_view(node->get_string())));
  host::WakeHosts wake{request.param("cluster"), {}};
  for (auto& name : hosts_in(request, body)) wake.hosts[std::move(name)] = to_node;
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
