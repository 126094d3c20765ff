// The changes that were made, with their classes: ours, below /v1/underway.
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "impact/entries.hpp"

namespace underway::api {
namespace {

awaitable<Response> list_changes(Api& api, Request request) {
  const TimePoint since = since_parameter(request, api.clock.now());
  const auto limit = static_cast<std::size_t>(integer_parameter(request, "limit", impact::kMostEntries));
  std::vector<tables::Scope> scopes{tables::records_scope()};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    return json::encode(impact::entries_since(tables, since, limit));
  });
}

}  // namespace

void add_change_routes(Routes& routes, Api& api) {
  routes.add("GET", "/v1/underway/changes", "list changes", right::operators(right::Level::read),
             [&api](Request request) { return list_changes(api, std::move(request)); });
}

}  // namespace underway::api
