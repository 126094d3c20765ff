#include "api/search/query.hpp"

#include <limits>
#include <tuple>

#include "api/work.hpp"
#include "async/watchdog.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "http/plain_error.hpp"

namespace underway::api {
namespace {

constexpr Duration kLongestWait = std::chrono::minutes(5);

/// "365d": whole days, which Go's durations lack.
std::optional<Duration> parse_days(std::string_view text) {
  if (!text.ends_with('d')) return std::nullopt;
  const auto days = parse_number<std::uint32_t>(text.substr(0, text.size() - 1));
  // Twice that is what TimePoint holds.
  constexpr std::int64_t kMostDays = 365 * 100;
  if (!days || *days > kMostDays) return std::nullopt;
  return std::chrono::hours(24 * *days);
}

/// Spreads the wake-ups of clients that began to wait together, as Nomad does: up to a sixteenth more.
async::SteadyTime wait_deadline(const Request& request) {
  Duration wait = kLongestWait;
  if (const auto text = request.query.find("wait"); text && !text->empty()) {
    const auto parsed = parse_duration(*text);
    if (!parsed || *parsed < Duration{0})
      throw Error(Code::invalid, fmt::format("parameter 'wait' is no duration: '{}'", *text));
    wait = std::min(*parsed, kLongestWait);
  }
  static thread_local std::minstd_rand jitter{std::random_device{}()};
  if (wait >= std::chrono::seconds(16))
    wait += Duration{std::uniform_int_distribution<std::int64_t>(0, wait.count() / 16)(jitter)};
  return async::deadline_in(wait);
}

void set_index(Response& response, model::Revision index) {
  response.headers.set("X-Nomad-Index", std::to_string(index));
  response.headers.set("X-Nomad-LastContact", "0");
}

model::Revision newest(const tables::Tables& tables, const std::vector<tables::Scope>& scopes) {
  model::Revision index = 1;
  for (const auto& scope : scopes) index = std::max(index, tables.revision_of(scope));
  return index;
}

std::string token_of(const Item& item) {
  return item.order == 0 ? item.token : fmt::format("{}.{}", item.order, item.token);
}

/// Where a token points to in a list that goes by order, or by token alone.
Item place_of(const std::string& token, bool ordered) {
  if (!ordered) return {token, {}};
  const auto order = parse_leading_number<model::Revision>(token);
  if (!order || (!order->rest.empty() && order->rest[0] != '.'))
    throw Error(Code::invalid, fmt::format("parameter 'next_token' is not of this list: '{}'", token));
  return {.token = std::string(order->rest.substr(order->rest.empty() ? 0 : 1)), .json = {}, .order = order->value};
}

awaitable<std::string> pretty_if_asked(Api& api, const Request& request, std::string body) {
  if (!request.query.flag("pretty")) co_return body;
  auto make = [&body] { return json::pretty(json::parse(body)) + "\n"; };
  co_return co_await computed(api, request, "indenting the answer", make);
}

/// Durable state, after waiting for something newer than the request's `index`, if it has one.
awaitable<const tables::Tables*> awaited(Api& api, const Request& request, const std::vector<tables::Scope>& scopes) {
  const std::int64_t index = integer_parameter(request, "index", 0);
  const auto deadline = wait_deadline(request);
  const bool waits = index > 0 && !scopes.empty();
  const auto* tables = waits ? co_await api.server.changed_since(scopes, index, deadline) : co_await api.server.read();
  async::doing(request.method + " " + request.path);
  co_return tables;
}

}  // namespace

std::int64_t integer_parameter(const Request& request, const char* name, std::int64_t otherwise) {
  const auto text = request.query.find(name);
  if (!text || text->empty()) return otherwise;
  if (const auto value = parse_number<std::int64_t>(*text); value && *value >= 0) return *value;
  throw Error(Code::invalid, fmt::format("parameter '{}' is no whole number", name))
      .because(fmt::format("found '{}'", *text));
}

TimePoint since_parameter(const Request& request, TimePoint now) {
  const auto text = request.query.find("since");
  if (!text || text->empty()) return {};
  if (const auto time = parse_time(*text)) return *time;
  const auto days = parse_days(*text);
  const auto span = days ? days : parse_duration(*text);
  if (!span || *span < Duration{0}) {
    throw Error(Code::invalid, "parameter 'since' is neither a time nor a duration")
        .because(fmt::format("found '{}'; say 2026-01-01T00:00:00Z, or how long ago: 90m, 365d", *text));
  }
  return now - *span;
}

awaitable<Response> answer_made(Api& api, const Request& request, std::vector<tables::Scope> scopes, Gathering gather,
                                model::Revision least) {
  const auto* tables = co_await awaited(api, request, scopes);
  // The tables' first revision is also that of what was never changed.
  const auto revision = newest(*tables, scopes);
  Response response;
  try {
    auto make = gather(*tables);
    response = http::json(co_await computed(api, request, "writing the answer", make));
    response.body = co_await pretty_if_asked(api, request, std::move(response.body));
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    // With an index, so that who waits for it to be there can ask again from here.
    response = http::error_response(error, http::error_form(request.headers));
  }
  set_index(response, revision == 1 && trim(response.body) == "[]" ? least : revision);
  co_return response;
}

awaitable<Response> answer_apart(Api& api, const Request& request, std::vector<tables::Scope> scopes, std::string what,
                                 Gathering gather) {
  co_await awaited(api, request, scopes);
  model::Revision revision = 1;
  auto work = [&] {
    const auto& tables = api.server.writer().tables();
    revision = newest(tables, scopes);
    return gather(tables);
  };
  Response response;
  try {
    auto make = co_await api.server.writer().apart(std::move(what), std::move(work));
    response = http::json(co_await computed(api, request, "writing the answer", make));
    response.body = co_await pretty_if_asked(api, request, std::move(response.body));
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    response = http::error_response(error, http::error_form(request.headers));
  }
  set_index(response, revision);
  co_return response;
}

awaitable<Response> answer_read(Api& api, const Request& request, std::vector<tables::Scope> scopes, Body body,
                                model::Revision least) {
  const auto* tables = co_await awaited(api, request, scopes);
  const auto revision = newest(*tables, scopes);
  Response response;
  try {
    response = http::json(co_await pretty_if_asked(api, request, body(*tables)));
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    response = http::error_response(error, http::error_form(request.headers));
  }
  set_index(response, revision == 1 && trim(response.body) == "[]" ? least : revision);
  co_return response;
}

std::optional<filter::Expression> read_filter(std::string_view text) {
  if (trim(text).empty()) return std::nullopt;
  try {
    return filter::Expression(text);
  } catch (const Error& error) {
    throw Error(error.code(), "failed to read filter expression").because(error.one_line());
  }
}

std::optional<filter::Expression> filter_of(const Request& request) {
  return read_filter(request.query.find("filter").value_or(""));
}

bool wants(const std::optional<filter::Expression>& expression, const filter::Datum& datum) {
  if (!expression) return true;
  try {
    return expression->matches(datum);
  } catch (const Error& error) {
    throw Error(error.code(), "failed to read result page").because(error.one_line());
  }
}

namespace {

/// A list is made in slices, between which the loop is everybody's.
class Slices {
 public:
  explicit Slices(Api& api, const Request& request) : api_(api), request_(request) {}
  /// Ends the slice if it has lasted long enough. The tables are then what is durable by now: rows stay as they were
  /// taken, what is worked out beside them may be newer than the index of the answer, never older.
  awaitable<void> rest() {
    if (std::chrono::steady_clock::now() - begun_ < kSlice) co_return;
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    co_await api_.server.read();
    begun_ = std::chrono::steady_clock::now();
    async::doing(request_.method + " " + request_.path);
  }

 private:
  static constexpr Duration kSlice = std::chrono::milliseconds(10);
  Api& api_;
  const Request& request_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

bool wants_json(const std::optional<filter::Expression>& expression, std::string_view text) {
  const auto shown = json::parse(text);
  return wants(expression, filter::datum_of(shown));
}

/// Of one answer: what is longer nobody reads, and the server holds it until the slowest client has it.
constexpr std::size_t kLongestAnswer = 256U << 20;

void check_length(const std::string& answer) {
  if (answer.size() <= kLongestAnswer) return;
  throw Error(Code::too_large, "the answer is too long")
      .because(fmt::format("it has more than {}", human_bytes(kLongestAnswer)))
      .advise("ask for a page of it (per_page), or for fewer rows (prefix, filter)");
}

/// What of a list is asked for.
struct Page {
  std::size_t per_page = 0;  ///< 0: all
  std::string from;
  bool reverse = false;
  std::optional<filter::Expression> filter;
};

awaitable<Page> page_of(Api& api, const Request& request) {
  Page page{static_cast<std::size_t>(integer_parameter(request, "per_page", 0)),
            request.query.find("next_token").value_or(""), request.query.flag("reverse"), std::nullopt};
  if (!request.query.find("filter")) co_return page;
  auto read = [&request] { return filter_of(request); };  // patterns are compiled
  page.filter = co_await computed(api, request, "reading the filter", read);
  co_return page;
}

void sort(std::vector<Item>& items, const Page& page) {
  const auto before = [&page](const Item& a, const Item& b) {
    const auto order = std::tie(a.order, a.within, a.token) <=> std::tie(b.order, b.within, b.token);
    return page.reverse ? order > 0 : order < 0;
  };
  if (!std::is_sorted(items.begin(), items.end(), before)) std::sort(items.begin(), items.end(), before);
  if (page.from.empty() || items.empty()) return;
  Item from = place_of(page.from, items.front().order != 0);
  const auto named = std::find_if(items.begin(), items.end(), [&](const Item& item) {
    return item.order == from.order && item.token == from.token;
  });
  if (named != items.end()) {
    items.erase(items.begin(), named);
    return;
  }
  // The element that the token names may be gone by now: the page begins with the next one. Where it stood among those
  // of its index the token does not say: they are shown again.
  if (page.reverse && items.front().within != 0) from.within = std::numeric_limits<std::int64_t>::max();
  items.erase(items.begin(), std::lower_bound(items.begin(), items.end(), from, before));
}

/// Leaves what the filter wants, and not more than one that the page does not show. Rows do not change: what is asked
/// about them is worked out beside the loop.
awaitable<void> keep_wanted(Api& api, const Request& request, const Page& page, std::vector<Item>& items) {
  if (!page.filter) co_return;
  std::vector<std::string> shown(items.size());
  Slices slices(api, request);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].datum.type != nullptr) continue;
    shown[i] = items[i].json();
    co_await slices.rest();
  }
  std::vector<Item> kept;
  auto ask = [&] {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (page.per_page > 0 && kept.size() > page.per_page) return;
      const bool wanted =
          items[i].datum.type != nullptr ? wants(page.filter, items[i].datum) : wants_json(page.filter, shown[i]);
      if (wanted) kept.push_back(std::move(items[i]));
    }
  };
  co_await computed(api, request, "filtering the list", ask);
  items = std::move(kept);
}

}  // namespace

awaitable<Response> answer_list(Api& api, const Request& request, std::vector<tables::Scope> scopes,
                                std::function<std::vector<Item>(const tables::Tables&)> list, model::Revision least) {
  const Page page = co_await page_of(api, request);
  const auto* tables = co_await awaited(api, request, scopes);
  const auto revision = newest(*tables, scopes);
  Response response;
  std::string out = "[", next_token;
  try {
    auto items = list(*tables);
    sort(items, page);
    co_await keep_wanted(api, request, page, items);
    Slices slices(api, request);
    for (auto at = items.begin(); at != items.end(); ++at) {
      if (page.per_page > 0 && at == items.begin() + static_cast<std::ptrdiff_t>(page.per_page)) {
        next_token = token_of(*at);
        break;
      }
      if (at != items.begin()) out += ',';
      out += at->json();
      check_length(out);
      co_await slices.rest();
    }
    response = http::json(co_await pretty_if_asked(api, request, std::move(out) + "]"));
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    response = http::error_response(error, http::error_form(request.headers));
  }
  set_index(response, revision == 1 && trim(response.body) == "[]" ? least : revision);
  if (!next_token.empty()) response.headers.set("X-Nomad-NextToken", next_token);
  co_return response;
}

boost::json::object parse_body(const Request& request) {
  if (trim(request.body).empty())
    throw Error(Code::invalid, "the request has no body").because("a JSON object was expected");
  auto value = json::parse(request.body);
  if (!value.is_object()) throw Error(Code::invalid, "the request body is no JSON object");
  return std::move(value.get_object());
}

void refuse_field(const boost::json::object& body, std::string_view field, const char* why, const char* advice) {
  const auto* value = json::find_member(body, field);
  if (value == nullptr || json::is_empty(*value)) return;
  throw Error(Code::unsupported, fmt::format("{} is not supported", field)).because(why).advise(advice);
}

tables::Row<model::Allocation> get_allocation(const tables::Tables& tables, const std::string& id) {
  auto row = tables.find_allocation(id);
  if (!row) throw Error(Code::not_found, "alloc not found");
  return row;
}

tables::Row<model::Evaluation> get_evaluation(const tables::Tables& tables, const std::string& id) {
  auto row = tables.find_evaluation(id);
  if (!row) throw Error(Code::not_found, "eval not found");
  return row;
}

tables::Row<model::Node> get_node(const tables::Tables& tables, const std::string& id) {
  auto row = tables.find_node(id);
  if (!row) throw Error(Code::not_found, "node not found");
  return row;
}

Response written(std::string body, model::Revision index) {
  Response response = http::json(std::move(body));
  response.headers.set("X-Nomad-Index", std::to_string(std::max<model::Revision>(index, 1)));
  return response;
}

tables::Row<model::Job> get_job(const tables::Tables& tables, const Request& request, const std::string& id) {
  auto row = tables.find_job(namespace_of(request), id);
  if (!row) throw Error(Code::not_found, "job not found");
  return row;
}

}  // namespace underway::api
