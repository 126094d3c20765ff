#pragma once
/// @file
/// What every read has in common: the blocking query, the index headers, prefix, paging and the shape of the answer.
/// Source: Nomad's API documentation, "HTTP API: Blocking Queries" and "Pagination"; limits as its code has them.

#include <functional>

#include "api/api.hpp"
#include "api/request.hpp"

namespace underway::api {

using asio::awaitable;

/// A query parameter that is a whole number of at least 0. Throws invalid for anything else.
std::int64_t integer_parameter(const Request& request, const char* name, std::int64_t otherwise);

/// `since`: an instant in RFC 3339, or a span back from now: "90m", "365d". Absent: the beginning of time. Throws
/// invalid for anything else.
TimePoint since_parameter(const Request& request, TimePoint now);

/// Runs `body(tables)` on durable state, after waiting, if the request has `index`, until something in `scopes` is
/// newer or `wait` is over (default and maximum 5 min, plus up to a sixteenth). The answer carries X-Nomad-Index (never
/// 0), X-Nomad-LastContact and X-Nomad-KnownLeader. `body` returns JSON text.
using Body = std::function<std::string(const tables::Tables&)>;
awaitable<Response> answer_read(Api& api, const Request& request, std::vector<tables::Scope> scopes, Body body);

/// One element of a list before paging.
struct Item {
  std::string token;  ///< the list is sorted by it, and it names where the next page begins
  std::function<std::string()> json;
};
/// A token of what is listed as it came into being, oldest first (Nomad's order of evaluations and allocations).
std::string chronological(model::Revision create_index, const std::string& id);
/// The page of `list` that `per_page`, `next_token` and `reverse` ask for, as a JSON list; sets X-Nomad-NextToken.
/// Throws unsupported when a `filter` is asked for: an unfiltered list would be a wrong answer.
awaitable<Response> answer_list(Api& api, const Request& request, std::vector<tables::Scope> scopes,
                                std::function<std::vector<Item>(const tables::Tables&)> list);

/// The answer to a write that is durable at `index`.
Response written(std::string body, model::Revision index);

/// The body as JSON. Throws invalid naming line and column; an empty body is invalid too.
boost::json::object parse_body(const Request& request);

/// By whole id: clients resolve prefixes through lists and search. Throw not_found with Nomad's text.
tables::Row<model::Allocation> get_allocation(const tables::Tables& tables, const std::string& id);
tables::Row<model::Evaluation> get_evaluation(const tables::Tables& tables, const std::string& id);
tables::Row<model::Node> get_node(const tables::Tables& tables, const std::string& id);
tables::Row<model::Job> get_job(const tables::Tables& tables, const Request& request, const std::string& id);

/// "[a,b]" of JSON texts.
template <class Range, class Encode>
std::string json_list(const Range& range, Encode encode) {
  std::string out = "[";
  for (const auto& element : range) {
    if (out.size() > 1) out += ',';
    out += encode(element);
  }
  return out + "]";
}

}  // namespace underway::api
