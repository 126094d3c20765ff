// Search: by the beginning of an id, and by any part of a name.
#include "api/routes.hpp"
#include "api/search/search.hpp"
#include "base/json/json_member.hpp"

namespace underway::api {
namespace {

std::string context_of(const boost::json::object& body) {
  auto context = json::text_member(body, "Context");
  return context.empty() ? "all" : context;
}

/// Null where nothing was found. Of a search by name Nomad makes the lists before it looks.
std::string matches_json(const std::map<std::string, std::vector<std::string>>& matches) {
  std::string out = "{";
  for (const auto& [context, ids] : matches)
    out += fmt::format("{}\"{}\":{}", out.size() > 1 ? "," : "", context, ids.empty() ? "null" : json::encode(ids));
  return out + "}";
}
std::string matches_json(const std::map<std::string, std::vector<wire::FuzzyMatch>>& matches) {
  return json::encode(matches);
}

template <class Match>
Response answer(const tables::Tables& tables, const Found<Match>& found) {
  const auto index = std::max<model::Revision>(tables.revision(), 1);
  std::string body =
      fmt::format(R"({{"Matches":{},"Truncations":{},"Index":{},"LastContact":0,"KnownLeader":true,"NextToken":""}})",
                  matches_json(found.matches), json::encode(found.truncations), index);
  Response response = http::json(std::move(body));
  response.headers.set("X-Nomad-Index", std::to_string(index));
  response.headers.set("X-Nomad-LastContact", "0");
  return response;
}

awaitable<Response> by_prefix(Api& api, Request request) {
  const auto body = parse_body(request);
  const auto* tables = co_await api.server.read();
  co_return answer(*tables, search(*tables, request, context_of(body), json::text_member(body, "Prefix")));
}

awaitable<Response> by_name(Api& api, Request request) {
  const auto body = parse_body(request);
  const auto* tables = co_await api.server.read();
  co_return answer(*tables, fuzzy_search(*tables, request, context_of(body), json::text_member(body, "Text")));
}

}  // namespace

void add_search_routes(Routes& routes, Api& api) {
  routes.add("PUT|POST", "/v1/search", "search", right::something(),
             [&api](Request request) { return by_prefix(api, std::move(request)); }, {.effect = Effect::reads});
  routes.add("PUT|POST", "/v1/search/fuzzy", "fuzzy search", right::something(),
             [&api](Request request) { return by_name(api, std::move(request)); }, {.effect = Effect::reads});
}

}  // namespace underway::api
