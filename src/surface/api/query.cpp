#include "api/query.hpp"

#include <charconv>
#include <tuple>

#include "base/json.hpp"
#include "base/text.hpp"

namespace underway::api {
namespace {

constexpr Duration kLongestWait = std::chrono::minutes(5);

/// "365d": whole days, which Go's durations lack.
std::optional<Duration> parse_days(std::string_view text) {
  if (!text.ends_with('d')) return std::nullopt;
  std::int64_t days = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size() - 1, days);
  // Twice that is what TimePoint holds.
  constexpr std::int64_t kMostDays = 365 * 100;
  if (failed != std::errc{} || end != text.data() + text.size() - 1 || days < 0 || days > kMostDays)
    return std::nullopt;
  return std::chrono::hours(24 * days);
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
  const char* const end = token.data() + token.size();
  model::Revision order = 0;
  const auto [stop, failed] = std::from_chars(token.data(), end, order);
  if (failed != std::errc{} || (stop != end && *stop != '.'))
    throw Error(Code::invalid, fmt::format("parameter 'next_token' is not of this list: '{}'", token));
  return {std::string(stop == end ? end : stop + 1, end), {}, {}, order};
}

std::string pretty_if_asked(const Request& request, std::string body) {
  if (!request.query.flag("pretty")) return body;
  return json::pretty(json::parse(body)) + "\n";
}

}  // namespace

std::int64_t integer_parameter(const Request& request, const char* name, std::int64_t otherwise) {
  const auto text = request.query.find(name);
  if (!text || text->empty()) return otherwise;
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (failed != std::errc{} || end != text->data() + text->size() || value < 0) {
    throw Error(Code::invalid, fmt::format("parameter '{}' is no whole number", name))
        .because(fmt::format("found '{}'", *text));
  }
  return value;
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

awaitable<Response> answer_read(Api& api, const Request& request, std::vector<tables::Scope> scopes, Body body,
                                model::Revision least) {
  const std::int64_t index = integer_parameter(request, "index", 0);
  const auto deadline = wait_deadline(request);
  const bool may_change = !scopes.empty();
  const auto* tables =
      index > 0 && may_change ? co_await api.server.changed_since(scopes, index, deadline) : co_await api.server.read();
  Response response;
  try {
    response = http::json(pretty_if_asked(request, body(*tables)));
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    // With an index, so that who waits for it to be there can ask again from here.
    response = http::text(404, error.one_line());
  }
  // The tables' first revision is also that of what was never changed.
  const auto revision = newest(*tables, scopes);
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

bool wants(const std::optional<filter::Expression>& expression, const Item& item) {
  if (!expression) return true;
  if (item.datum.type != nullptr) return wants(expression, item.datum);
  const auto shown = json::parse(item.json());
  return wants(expression, filter::datum_of(shown));
}

awaitable<Response> answer_list(Api& api, const Request& request, std::vector<tables::Scope> scopes,
                                std::function<std::vector<Item>(const tables::Tables&)> list, model::Revision least) {
  const auto per_page = static_cast<std::size_t>(integer_parameter(request, "per_page", 0));
  const std::string from = request.query.find("next_token").value_or("");
  const bool reverse = request.query.flag("reverse");
  const auto filter = filter_of(request);
  std::string next_token;
  const Body body = [&](const tables::Tables& tables) {
    auto items = list(tables);
    const auto before = [reverse](const Item& a, const Item& b) {
      const auto order = std::tie(a.order, a.token) <=> std::tie(b.order, b.token);
      return reverse ? order > 0 : order < 0;
    };
    if (!std::is_sorted(items.begin(), items.end(), before)) std::sort(items.begin(), items.end(), before);
    // The element that the token names may be gone by now: the page begins with the next one.
    auto at = items.begin();
    if (!from.empty() && !items.empty())
      at = std::lower_bound(items.begin(), items.end(), place_of(from, items.front().order != 0), before);
    std::string out = "[";
    std::size_t shown = 0;
    for (; at != items.end(); ++at) {
      if (!wants(filter, *at)) continue;
      if (per_page > 0 && shown == per_page) break;
      if (shown++ > 0) out += ',';
      out += at->json();
    }
    if (at != items.end()) next_token = token_of(*at);
    return out + "]";
  };
  Response response = co_await answer_read(api, request, std::move(scopes), body, least);
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
  const auto* value = body.if_contains(field);
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
