// Evaluations in numbers: how many there are of a kind, and forgetting those that are in the way.
#include "api/routes.hpp"
#include "server/evaluation_decisions.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using tables::Scope;
using tables::Topic;

awaitable<Response> count_evaluations(Api& api, Request request) {
  const std::string prefix = request.query.find("prefix").value_or("");
  const auto filter = filter_of(request);
  std::vector<Scope> scopes{{Topic::evaluations, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    Shown shown(request);
    std::size_t count = 0;
    for (const auto& row : tables.evaluations(prefix))
      count += shown(row->ns) && wants(filter, filter::datum_of(*row)) ? 1 : 0;
    return fmt::format(R"({{"Count":{}}})", count);
  });
}

/// {EvalIDs} or {Filter}: of the ids all or none, of a filter as many as one request may.
awaitable<Response> delete_evaluations(Api& api, Request request) {
  const auto body = parse_body(request);
  std::vector<std::string> ids;
  if (const auto* given = body.if_contains("EvalIDs"); given != nullptr && !given->is_null())
    ids = json::decode<std::vector<std::string>>(*given, "EvalIDs");
  std::string text;
  if (const auto* given = body.if_contains("Filter"); given != nullptr && given->is_string())
    text = std::string(std::string_view(given->get_string()));
  const auto filter = std::make_shared<const std::optional<filter::Expression>>(read_filter(text));
  if (ids.empty() && !*filter) throw Error(Code::invalid, "evals must be deleted by either ID or filter");
  if (!ids.empty() && *filter) throw Error(Code::invalid, "evals cannot be deleted by both ID and filter");
  auto decide = [ids, filter](const server::Tables& tables, const server::Context&) {
    if (!*filter) return server::decide_delete_evaluations(tables, ids);
    std::vector<std::string> wanted;
    for (const auto& row : tables.evaluations()) {
      if (wanted.size() < server::kMostDeletedEvaluations && wants(*filter, filter::datum_of(*row)))
        wanted.push_back(row->id);
    }
    return server::decide_delete_evaluations(tables, wanted);
  };
  const auto count = co_await api.server.writer().submit(std::move(decide));
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
