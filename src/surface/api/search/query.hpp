#pragma once
/// @file
/// What every read has in common: the blocking query, the index headers, prefix, paging and the shape of the answer.
/// Source: Nomad's API documentation, "HTTP API: Blocking Queries" and "Pagination"; limits as its code has them.

#include <functional>

#include "api/api.hpp"
#include "api/nomad/nomad_body.hpp"
#include "api/request.hpp"
#include "base/json/json.hpp"
#include "filter/filter.hpp"

namespace underway::api {

using asio::awaitable;

/// A query parameter that is a whole number of at least 0. Throws invalid for anything else.
std::int64_t integer_parameter(const Request& request, const char* name, std::int64_t otherwise);

/// `since`: an instant in RFC 3339, or a span back from now: "90m", "365d". Absent: the beginning of time. Throws
/// invalid for anything else.
TimePoint since_parameter(const Request& request, TimePoint now);

/// Runs `body(tables)` on durable state, after waiting, if the request has `index`, until something in `scopes` is
/// newer or `wait` is over (default and maximum 5 min, plus up to a sixteenth). The answer carries X-Nomad-Index (at
/// least `least`), X-Nomad-LastContact and X-Nomad-KnownLeader. `body` returns JSON text.
using Body = std::function<std::string(const tables::Tables&)>;
awaitable<Response> answer_read(Api& api, const Request& request, std::vector<tables::Scope> scopes, Body body,
                                model::Revision least = 1);
/// As `least`: of lists by whose index clients of Nomad see that nothing was ever in them.
inline constexpr model::Revision kNothingYet = 0;

/// As answer_read, for answers that may be long: `gather(tables)` takes the rows, and what it returns makes JSON of
/// them beside the loop, and touches no tables.
using Gathering = std::function<std::function<std::string()>(const tables::Tables&)>;
awaitable<Response> answer_made(Api& api, const Request& request, std::vector<tables::Scope> scopes, Gathering gather,
                                model::Revision least = 1);

/// As answer_made, for what is worked out from many rows: `gather` is called where it keeps only writes and readers
/// waiting (server::Writer::apart); it touches nothing but the tables. `what` begins a refusal: "explaining the job".
awaitable<Response> answer_apart(Api& api, const Request& request, std::vector<tables::Scope> scopes, std::string what,
                                 Gathering gather);

/// One element of a list before paging.
struct Item {
  std::string token;  ///< the list is sorted by it, and it names where the next page begins
  std::function<std::string()> json;
  /// What a `filter` is asked about; `json` keeps it alive. Without it, what `json` makes.
  filter::Datum datum = {};
  /// Before the token: of what is listed as it came into being, the oldest first, its create index (Nomad's order of
  /// evaluations and allocations). Its token on the wire is "<order>.<token>".
  model::Revision order = 0;
  /// Between the two: of what came into being with one index, when.
  std::int64_t within = 0;
};
/// An item that is told as `row` is described.
template <class T>
Item item_of(std::string token, tables::Row<T> row, model::Revision order = 0) {
  const filter::Datum datum = filter::datum_of(*row);
  return {std::move(token), [row = std::move(row)] { return nomad_json(*row); }, datum, order};
}

/// The page of `list` that `filter`, `per_page`, `next_token` and `reverse` ask for, as a JSON list; sets
/// X-Nomad-NextToken. Throws invalid for an expression that cannot be read, or that does not fit what is listed.
awaitable<Response> answer_list(Api& api, const Request& request, std::vector<tables::Scope> scopes,
                                std::function<std::vector<Item>(const tables::Tables&)> list,
                                model::Revision least = 1);

/// The expression of the query; nothing when it has none. Throws invalid as Nomad words it.
std::optional<filter::Expression> filter_of(const Request& request);
std::optional<filter::Expression> read_filter(std::string_view text);
/// Whether `expression` wants it; without one it does. Throws invalid as Nomad words it.
bool wants(const std::optional<filter::Expression>& expression, const filter::Datum& datum);

/// The answer to a write that is durable at `index`.
Response written(std::string body, model::Revision index);

/// The body as JSON. Throws invalid naming line and column; an empty body is invalid too.
boost::json::object parse_body(const Request& request);
/// What Nomad's clients may set and what is not here. Throws unsupported when the body's `field` is anything but absent
/// or empty: nothing that somebody asks for is passed over in silence.
void refuse_field(const boost::json::object& body, std::string_view field, const char* why, const char* advice);

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
