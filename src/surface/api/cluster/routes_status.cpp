// One screen: `underway status`, and what `up` follows (a blocking query).
#include "api/cluster/status.hpp"
#include "api/cluster/troubles.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "files/masters/status.hpp"
#include "growth/growth.hpp"
#include "ownership/controller.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using acl::Level;
using tables::Topic;

/// Of the cluster's nodes; of all when it is "".
std::map<std::string, std::vector<protocol::LoopTrouble>> node_troubles(Api& api, const tables::Tables& tables,
                                                                        const std::string& cluster) {
  std::map<std::string, std::vector<protocol::LoopTrouble>> out;
  for (auto& [id, troubles] : api.server.node_troubles()) {
    const auto node = tables.find_node(id);
    if (node && (cluster.empty() || node->cluster == cluster)) out[node->name] = std::move(troubles);
  }
  return out;
}

/// Of the cluster, if its pools grow; of all that do when it is "".
std::vector<growth::Status> growing(const Api& api, const std::string& cluster) {
  if (api.growth == nullptr) return {};
  if (cluster.empty()) return api.growth->status();
  std::vector<growth::Status> out;
  if (auto status = api.growth->status(cluster)) out.push_back(*std::move(status));
  return out;
}

awaitable<Response> read_status(Api& api, Request request) {
  const std::string cluster = request.query.find("cluster").value_or("");
  std::vector<tables::Scope> scopes{{Topic::clusters, ""}, {Topic::hosts, ""},       {Topic::nodes, ""},
                                    {Topic::jobs, ""},     {Topic::allocations, ""}, {Topic::evaluations, ""}};
  co_return co_await answer_made(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    Visibility visibility{[&](const std::string& ns) { return request.may(ns, Capability::read_job); },
                          request.rights().node(Level::read), api.clock.now()};
    if (api.capsules != nullptr)
      visibility.copies = [&api](model::Capsule& capsule) { return api.capsules->complete(capsule); };
    const auto linked = [&api](const std::string& id) { return api.server.linked(id); };
    auto status = status_of(tables, cluster, linked, visibility);
    auto troubles = troubles_of(api);
    status.writable = troubles.writable;
    // While nothing can be written every loop fails of that, which is told already.
    if (troubles.writable && visibility.nodes) {
      auto loops = attention_for(api.server.loops());
      std::ranges::move(loops, std::back_inserter(troubles.attention));
      loops = attention_for(node_troubles(api, tables, cluster));
      std::ranges::move(loops, std::back_inserter(troubles.attention));
    }
    // What keeps everything else from being mended comes first.
    status.attention.insert(status.attention.begin(), std::make_move_iterator(troubles.attention.begin()),
                            std::make_move_iterator(troubles.attention.end()));
    if (visibility.nodes) {
      auto pools = attention_for(growing(api, cluster), api.clock.now());
      std::ranges::move(pools, std::back_inserter(status.attention));
    }
    if (api.files != nullptr && visibility.nodes) {
      for (auto& entry : files::attention(files::target_states(tables, *api.files, cluster, linked)))
        status.attention.push_back({std::move(entry.what), std::move(entry.why), std::move(entry.advice)});
      for (auto& entry : files::waiting_masters(tables, cluster, linked))
        status.attention.push_back({std::move(entry.what), std::move(entry.why), std::move(entry.advice)});
      for (auto& entry : files::waiting_rotation(tables, visibility.now))
        status.attention.push_back({std::move(entry.what), std::move(entry.why), std::move(entry.advice)});
    }
    return [status = std::move(status)] { return json::encode(status); };
  });
}

}  // namespace

void add_status_routes(Routes& routes, Api& api) {
  routes.add("GET", "/v1/underway/status", "status", right::something(),
             [&api](Request request) { return read_status(api, std::move(request)); });
}

}  // namespace underway::api
