#pragma once
/// @file
/// The API as the JSON that it is, for commands that show what it says: requests, members by name, and the forms of
/// Nomad's command line for tables, instants and spans.

#include <optional>
#include <utility>

#include "cli/list_flags.hpp"
#include "http/message.hpp"

namespace underway::cli {

using Json = boost::json::value;
using Lines = std::vector<std::pair<std::string, std::string>>;

/// Requests of one command, in its namespace and region. What the server refuses is thrown as Error in its words.
class Api {
 public:
  explicit Api(const Arguments& arguments);

  Json get(const std::string& path, http::Query query = {});
  Json put(const std::string& path, const Json& body = nullptr, http::Query query = {});
  Json remove(const std::string& path, http::Query query = {});
  /// The body as it came.
  std::string get_text(const std::string& path, http::Query query = {});
  /// Of the last answer: where the next page begins; empty: nowhere.
  const std::string& next_token() const { return next_token_; }
  sdk::Client& client() { return client_; }
  /// For requests from now on.
  void use_namespace(const std::string& ns);

 private:
  std::string send(const std::string& method, const std::string& path, http::Query query, std::string body);

  sdk::Client client_;
  std::string next_token_;
};

/// What the server refused, with the status, as Nomad's client words it.
Error refusal_of(int status, std::string_view body);

/// As one part of a path.
inline std::string part(const std::string& text) { return http::percent_encode(text); }

/// A member, by a path of names ("Job.ID"); null when it is not there.
const Json& member(const Json& value, std::string_view path);
/// The same as text: numbers and truths as they are written; null and what is missing as "".
std::string text(const Json& value, std::string_view path);
std::int64_t number(const Json& value, std::string_view path);
bool truth(const Json& value, std::string_view path);
/// Elements of an array; none when it is null or missing.
const boost::json::array& elements(const Json& value);
const boost::json::array& elements(const Json& value, std::string_view path);
/// Members of an object; none when it is null or missing.
const boost::json::object& members(const Json& value, std::string_view path);

// Of an answer that nobody keeps: by value, so that a loop over it is sound.
inline Json member(Json&& value, std::string_view path) { return member(std::as_const(value), path); }
inline boost::json::array elements(Json&& value) { return elements(std::as_const(value)); }
inline boost::json::array elements(Json&& value, std::string_view path) { return elements(std::as_const(value), path); }
inline boost::json::object members(Json&& value, std::string_view path) { return members(std::as_const(value), path); }

/// "2026-11-22T18:40:00+01:00", in this machine's zone; "" for 0.
std::string moment(std::int64_t unix_nanos);
/// "5m3s ago": the largest two units; "<none>" for 0.
std::string since(std::int64_t unix_nanos);
/// An instant of the wire: RFC 3339, or absent. "" when it is absent or Go's zero time.
std::string moment_of(const Json& value);

/// The first eight characters, or all with `verbose`.
std::string id_text(const std::string& id, bool verbose);
/// Columns two blanks apart; nothing in a cell is "<none>". Never cut: scripts read it.
std::string table_text(const std::vector<std::string>& headers, const std::vector<std::vector<std::string>>& rows);
/// "Key = value" lines; no value is "<none>".
std::string facts_text(Lines lines);
/// "6.3 MiB".
std::string size_text(std::int64_t bytes);

/// The query of -filter, -per-page and -page-token.
http::Query list_query_of(const Arguments& arguments);
/// What Nomad tells when there is more: how to get the next page.
void tell_next_page(const Api& api, const Arguments& arguments, std::string_view command);

}  // namespace underway::cli
