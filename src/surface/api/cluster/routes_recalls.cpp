// Hosts of opportunistic pools are taken back: what is asked for, what came of it, and that it is over.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "growth/recall.hpp"
#include "tables/recalls.hpp"
#include "wire/cluster/recall.hpp"

namespace underway::api {
namespace {

using acl::Level;
using model::Recall;
using tables::Scope;

/// It stands in a line of a table.
constexpr std::size_t kLongestWhy = 200;
/// Of a pool there are 10,000 hosts at most.
constexpr std::size_t kMostHosts = 10'000;

std::int64_t number_of(const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < 1)
    throw Error(Code::invalid, fmt::format("'{}' is no number of a recall", text))
        .advise("`underway elastic status` says which there are");
  return *number;
}

awaitable<Response> list_recalls(Api& api, Request request) {
  const std::string cluster = request.query.find("cluster").value_or("");
  std::vector<Scope> scopes{tables::records_scope()};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    return json::encode(tables::records<Recall>(tables, cluster.empty() ? "" : cluster + "/"));
  });
}

awaitable<Response> read_recall(Api& api, Request request) {
  const std::string cluster = request.param("cluster");
  const auto name = fmt::format("{}/{}", cluster, number_of(request.param("number")));
  std::vector<Scope> scopes{tables::record_scope<Recall>(name)};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    const auto recall = tables::find_record<Recall>(tables, name);
    if (!recall) throw Error(Code::not_found, "recall not found").because("it was ended, or there never was one");
    return json::encode(*recall);
  });
}

/// Answered when it is asked for: which hosts go is told by the recall, once Slurm was looked at.
awaitable<Response> recall_hosts(Api& api, Request request) {
  auto body = json::decode<wire::RecallBody>(boost::json::value(parse_body(request)), "recall");
  if (body.reason.size() > kLongestWhy)
    throw Error(Code::invalid, fmt::format("Reason has more than {} bytes", kLongestWhy));
  if (body.hosts.size() > kMostHosts) throw Error(Code::invalid, fmt::format("more than {} Hosts", kMostHosts));
  growth::RecallHosts recall{request.param("cluster"), std::move(body.pool), std::move(body.hosts), body.count,
                             std::move(body.reason)};
  const auto made = co_await apply(api, request, std::move(recall));
  co_return http::json(json::encode(made));
}

awaitable<Response> end_recalls(Api& api, Request request) {
  growth::EndRecalls end{.cluster = request.param("cluster"), .pool = request.query.find("pool").value_or("")};
  if (const auto number = request.query.find("number")) end.number = number_of(*number);
  const auto ended = co_await apply(api, request, std::move(end));
  co_return http::json(json::encode(ended));
}

}  // namespace

void add_recall_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto reads = right::node(Level::read), writes = right::node(Level::write);
  routes.add("GET", "/v1/underway/recalls", "list recalls", reads, with(list_recalls));
  routes.add("GET", "/v1/underway/recall/:cluster/:number", "read recall", reads, with(read_recall));
  routes.add("PUT|POST", "/v1/underway/recalls/:cluster", "recall hosts", writes, with(recall_hosts));
  routes.add("DELETE", "/v1/underway/recalls/:cluster", "end recalls", writes, with(end_recalls));
}

}  // namespace underway::api
