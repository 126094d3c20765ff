#include "cli/wire.hpp"

#include <ctime>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"
#include "http/plain_error.hpp"

namespace underway::cli {
namespace {

constexpr std::string_view kNone = "<none>";

const Json& nothing() {
  static const Json null;
  return null;
}

}  // namespace

Error refusal_of(int status, std::string_view body) {
  const auto told = http::parse_plain_error(status, body);
  Error error(told.code(), fmt::format("Unexpected response code: {} ({})", status, told.message()));
  if (!told.advice().empty()) error.advise(told.advice());
  return error;
}

Api::Api(const Arguments& arguments) : client_(make_client(arguments)) {}

void Api::use_namespace(const std::string& ns) { client_.use_namespace(ns); }

std::string Api::send(const std::string& method, const std::string& path, http::Query query, std::string body) {
  const auto& address = client_.address();
  if (!address.ns.empty() && !query.has("namespace")) query.add("namespace", address.ns);
  if (!address.region.empty()) query.add("region", address.region);
  const std::string target = query.empty() ? path : path + "?" + query.encode();
  auto response = client_.raw(method, target, std::move(body));
  if (response.status >= 300) throw refusal_of(response.status, response.body);
  next_token_ = std::string(response.headers.find("X-Nomad-NextToken").value_or(""));
  return std::move(response.body);
}

std::string Api::get_text(const std::string& path, http::Query query) {
  return send("GET", path, std::move(query), {});
}

Json Api::get(const std::string& path, http::Query query) { return json::parse(get_text(path, std::move(query))); }

namespace {

Json parse_answer(const std::string& answer) { return trim(answer).empty() ? Json() : json::parse(answer); }

}  // namespace

Json Api::put(const std::string& path, const Json& body, http::Query query) {
  return parse_answer(send("PUT", path, std::move(query), body.is_null() ? "" : boost::json::serialize(body)));
}

Json Api::remove(const std::string& path, http::Query query) {
  return parse_answer(send("DELETE", path, std::move(query), {}));
}

const Json& member(const Json& value, std::string_view path) {
  const Json* at = &value;
  for (const auto& name : split(path, '.')) {
    if (!at->is_object()) return nothing();
    at = at->get_object().if_contains(name);
    if (at == nullptr) return nothing();
  }
  return *at;
}

std::string text(const Json& value, std::string_view path) {
  const Json& found = member(value, path);
  if (found.is_string()) return std::string(std::string_view(found.get_string()));
  if (found.is_null()) return {};
  return boost::json::serialize(found);
}

std::int64_t number(const Json& value, std::string_view path) {
  const Json& found = member(value, path);
  if (found.is_double()) return static_cast<std::int64_t>(found.get_double());
  return found.is_number() ? found.to_number<std::int64_t>() : 0;
}

bool truth(const Json& value, std::string_view path) {
  const Json& found = member(value, path);
  return found.is_bool() && found.get_bool();
}

const boost::json::array& elements(const Json& value) {
  static const boost::json::array none;
  return value.is_array() ? value.get_array() : none;
}

const boost::json::array& elements(const Json& value, std::string_view path) { return elements(member(value, path)); }

const boost::json::object& members(const Json& value, std::string_view path) {
  static const boost::json::object none;
  const Json& found = member(value, path);
  return found.is_object() ? found.get_object() : none;
}

std::string moment(std::int64_t nanos) {
  if (nanos <= 0) return {};
  const std::time_t seconds = nanos / 1'000'000'000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char buffer[40];
  std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%S", &local);
  const long offset = local.tm_gmtoff;
  if (offset == 0) return std::string(buffer) + "Z";
  const long minutes = std::abs(offset) / 60;
  return fmt::format("{}{}{:02}:{:02}", buffer, offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::string since(std::int64_t nanos) {
  if (nanos <= 0) return std::string(kNone);
  std::int64_t left = (unix_nanos(current_time()) - nanos) / 1'000'000'000;
  const bool past = left >= 0;
  left = std::abs(left);
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {{31'536'000, "y"}, {2'592'000, "mo"}, {86'400, "d"},
                                                             {3'600, "h"},      {60, "m"},         {1, "s"}};
  std::string out;
  int used = 0;
  for (const auto& [seconds, name] : kUnits) {
    if (left < seconds || used == 2) continue;
    out += fmt::format("{}{}", left / seconds, name);
    left %= seconds;
    ++used;
  }
  if (out.empty()) out = "0s";
  return out + (past ? " ago" : " from now");
}

std::string moment_of(const Json& value) {
  if (!value.is_string()) return {};
  const std::string text(std::string_view(value.get_string()));
  const auto time = text.starts_with("0001-01-01") ? std::nullopt : parse_time(text);
  return time ? moment(unix_nanos(*time)) : std::string();
}

std::string id_text(const std::string& id, bool verbose) { return verbose ? id : id.substr(0, 8); }

std::string table_text(const std::vector<std::string>& headers, const std::vector<std::vector<std::string>>& rows) {
  Table table(headers);
  for (auto row : rows) {
    for (auto& cell : row) {
      if (cell.empty()) cell = kNone;
    }
    table.add(std::move(row));
  }
  return table.text(0);
}

std::string facts_text(Lines lines) {
  for (auto& [key, value] : lines) {
    if (value.empty()) value = kNone;
  }
  return key_values(lines);
}

std::string size_text(std::int64_t bytes) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(std::max<std::int64_t>(bytes, 0));
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kNames); ++unit) value /= 1024;
  return unit > 0 && value < 10 ? fmt::format("{:.1f} {}", value, kNames[unit])
                                : fmt::format("{:.0f} {}", value, kNames[unit]);
}

http::Query list_query_of(const Arguments& arguments) {
  const auto wanted = list_query(arguments);
  http::Query query;
  if (!wanted.filter.empty()) query.add("filter", wanted.filter);
  if (wanted.per_page > 0) query.add("per_page", std::to_string(wanted.per_page));
  if (!wanted.page_token.empty()) query.add("next_token", wanted.page_token);
  return query;
}

void tell_next_page(const Api& api, const Arguments& arguments, std::string_view command) {
  if (api.next_token().empty()) return;
  std::string same = arguments.find("per-page") ? " -per-page " + arguments.get("per-page") : "";
  print(fmt::format("\nResults have been paginated. To get the next page run:\n\n{}{} -page-token {}\n", command, same,
                    api.next_token()));
}

}  // namespace underway::cli
