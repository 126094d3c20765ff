// Evaluations in numbers: how many there are of a kind, and forgetting those that are in the way.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "server/job/evaluation_decisions.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using tables::Scope;
using tables::Topic;

awaitable<Response> count_evaluations(Api& api, Request request) {
  const std::string prefix = uuid_prefix_of(request);
  std::vector<Scope> scopes{{Topic::evaluations, ""}};
  const Gathering gather = [&](const tables::Tables& tables) {
    NamespaceFilter shown(request);
    std::vector<tables::Row<model::Evaluation>> rows;
    for (const auto& row : tables.evaluations(prefix)) {
      if (shown(row->ns)) rows.push_back(row);
    }
    const auto index = std::max<model::Revision>(tables.revision_of({Topic::evaluations, ""}), 1);
    return [&request, rows = std::move(rows), index] {
      const auto filter = filter_of(request);
      const auto count = std::count_if(rows.begin(), rows.end(),
                                       [&](const auto& row) { return wants(filter, filter::datum_of(*row)); });
      return fmt::format(R"({{"Count":{},"Index":{},"LastContact":0,"KnownLeader":true,"NextToken":""}})", count,
                         index);
    };
  };
  co_return co_await answer_made(api, request, std::move(scopes), gather);
}

/// Of those that the filter `text` wants, as many as one request may delete.
awaitable<std::vector<std::string>> wanted_evaluations(Api& api, const Request& request, const std::string& text) {
  const auto* tables = co_await api.server.read();
  std::vector<tables::Row<model::Evaluation>> rows;
  for (const auto& row : tables->evaluations()) rows.push_back(row);
  auto ask = [&] {
    const auto filter = read_filter(text);
    std::vector<std::string> wanted;
    for (const auto& row : rows) {
      if (wanted.size() < server::kMostDeletedEvaluations && wants(filter, filter::datum_of(*row)))
        wanted.push_back(row->id);
    }
    return wanted;
  };
  co_return co_await computed(api, request, "filtering the evaluations", ask);
}

/// {EvalIDs} or {Filter}: of the ids all or none, of a filter as many as one request may.
awaitable<Response> delete_evaluations(Api& api, Request request) {
  const auto body = parse_body(request);
  std::vector<std::string> ids;
  if (const auto* given = json::find_member(body, "EvalIDs"); given != nullptr && !given->is_null())
    ids = json::decode<std::vector<std::string>>(*given, "EvalIDs");
  std::string text;
  if (const auto* given = json::find_member(body, "Filter"); given != nullptr && given->is_string())
    text = std::string(std::string_view(given->get_string()));
  if (ids.empty() && trim(text).empty()) throw Error(Code::invalid, "evals must be deleted by either ID or filter");
  if (!ids.empty() && !trim(text).empty()) throw Error(Code::invalid, "evals cannot be deleted by both ID and filter");
  const bool by_filter = ids.empty();
  if (by_filter) ids = co_await wanted_evaluations(api, request, text);
  server::DeleteEvaluations wanted{std::move(ids), by_filter};
  const auto count = co_await apply(api, request, std::move(wanted));
  request.tell(fmt::format("{} evaluations forgotten", count));
  const auto* tables = co_await api.server.read();
  co_return written(fmt::format(R"({{"Count":{}}})", count), tables->revision_of({Topic::evaluations, ""}));
}

}  // namespace

void add_evaluation_backlog_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/evaluations/count", "count evaluations", right::ns(Capability::read_job),
             with(count_evaluations));
  routes.add("DELETE", "/v1/evaluations", "delete evaluations", right::management(), with(delete_evaluations));
}

}  // namespace underway::api
