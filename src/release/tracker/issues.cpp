#include "tracker/issues.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "http/endpoint.hpp"

namespace underway::tracker {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

bool is_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && std::ranges::all_of(name, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
  });
}

/// Everybody on the way could read the token.
std::string problem_of_address(const std::string& address) {
  if (!address.starts_with("https://") && !address.starts_with("http://"))
    return fmt::format("url '{}' is no address of an API", address);
  try {
    const auto url = http::parse_url(address);
    const auto& host = url.endpoint.host;
    if (url.tls || host == "127.0.0.1" || host == "::1" || host == "localhost") return {};
    return fmt::format("url '{}' has the token sent without TLS to another machine: use https", address);
  } catch (const Error& error) {
    return fmt::format("url: {}", error.one_line());
  }
}

/// Longer than any within.
std::string fence_for(std::string_view text) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

std::string fenced(std::string_view text, std::string_view mark) {
  const auto fence = fence_for(text);
  return fmt::format("{}text\n{}\n{}\n\n{}", fence, text, fence, mark);
}

std::string path_of(const Settings& settings, std::string_view rest) {
  return fmt::format("/repos/{}/issues{}", settings.repository, rest);
}

http::Request asked(std::string method, std::string path, const http::Query& query, boost::json::object body) {
  auto request =
      http::request(std::move(method), path, query, body.empty() ? std::string() : boost::json::serialize(body));
  request.headers.set("Accept", "application/json");
  request.headers.set("User-Agent", "underway");
  if (!request.body.empty()) request.headers.set("Content-Type", "application/json");
  return request;
}

http::Query page_query(TimePoint since, std::int64_t page) {
  const auto size = std::to_string(kPageSize);
  return {{"since", format_time(since)}, {"per_page", size}, {"limit", size}, {"page", std::to_string(page)}};
}

[[noreturn]] void no_answer(std::string_view why) {
  throw Error(Code::unavailable, "the tracker's answer is not understood").because(std::string(why));
}

std::int64_t number_at(const boost::json::object& object, std::string_view name) {
  const auto* member = object.if_contains(name);
  std::int64_t number = 0;
  if (member != nullptr && member->is_int64()) number = member->get_int64();
  if (number < 1) no_answer(fmt::format("'{}' is no number", name));
  return number;
}

Found found_in(const boost::json::value& value, std::string_view number) {
  if (!value.is_object()) no_answer("it is no object");
  const auto& object = value.get_object();
  Found found{number_at(object, number), json::text_at(object, "html_url"), json::text_at(object, "body")};
  const model::TicketLink link{model::TicketRelation::about, model::TicketTarget::url, found.url};
  if (!model::link_problem(link).empty()) found.url.clear();
  return found;
}

boost::json::value parsed(std::string_view answer) {
  try {
    return json::parse(answer);
  } catch (const Error& error) {
    no_answer(error.one_line());
  }
}

std::vector<Found> parse_list(std::string_view answer, std::string_view number) {
  const auto value = parsed(answer);
  if (!value.is_array()) no_answer("it is no list");
  std::vector<Found> found;
  for (const auto& item : value.get_array()) {
    if (found.size() >= kMostFound) break;
    found.push_back(found_in(item, number));
  }
  return found;
}

}  // namespace

std::vector<std::string> problems(const Settings& settings) {
  std::vector<std::string> found;
  if (auto wrong = problem_of_address(settings.url); !wrong.empty()) found.push_back(std::move(wrong));
  const auto parts = split(settings.repository, '/');
  if (parts.size() != 2 || !is_name(parts[0]) || !is_name(parts[1]))
    found.push_back(fmt::format("repository '{}' is not of the form OWNER/NAME", settings.repository));
  if (!settings.token_file.starts_with('/'))
    found.push_back(fmt::format("token_file '{}' is no absolute path", settings.token_file));
  const auto& kinds = model::description(Tag<model::TicketKind>{});
  for (const auto& kind : settings.kinds) {
    if (!kinds.parse(kind)) found.push_back(fmt::format("'{}' is none of {}", kind, join(kinds.names(), ", ")));
  }
  return found;
}

const Structure& description(Tag<Settings>) {
  static const Structure s =
      Builder<Settings>("ticket_tracker", "An external tracker that is told of tickets: GitHub, Gitea, Forgejo.")
          .attribute<&Settings::url>("url", "url",
                                     "Of its API: `https://api.github.com`, `https://git.example.org/api/v1`.")
          .required()
          .attribute<&Settings::repository>("repository", "repository", "Whose issues they become: `OWNER/NAME`.")
          .required()
          .attribute<&Settings::token_file>("token_file", "token_file",
                                            "A file with a token that may write issues there; it may be replaced.")
          .required()
          .attribute<&Settings::ca_file>("ca_file", "ca_file",
                                         "Whose certificates are good (PEM); empty: the system's authorities.")
          .attribute<&Settings::kinds>("kinds", "kinds", "Kinds of tickets that are told there; none: all.")
          .done();
  return s;
}

bool is_told(const Settings& settings, const model::Ticket& ticket) {
  return settings.kinds.empty() ||
         std::ranges::find(settings.kinds, describe::spell(ticket.kind)) != settings.kinds.end();
}

std::string mark_of(const model::TicketIssue& issue, std::int64_t entry) {
  return fmt::format("<!-- underway {}/{} -->", issue.mark, entry);
}

bool bears(std::string_view body, std::string_view mark) { return trim(body).ends_with(mark); }

std::string body_of_issue(const model::Ticket& ticket, std::string_view mark) {
  std::string text =
      fmt::format("Ticket {}, kind {}, from {}", ticket.number, describe::spell(ticket.kind), ticket.reporter);
  if (!ticket.key.empty()) text += "\nkey " + ticket.key;
  if (!ticket.needs_test.empty()) text += "\nis closed with a test only: " + ticket.needs_test;
  for (const auto& link : ticket.links)
    text += fmt::format("\n{} {}", describe::spell(link.relation), model::text_of(link));
  if (!ticket.body.empty()) text += "\n\n" + ticket.body;
  return fenced(text, mark);
}

std::string body_of_comment(const model::TicketEntry& entry, std::string_view mark) {
  std::string text =
      fmt::format("{} by {}, {}", describe::spell(entry.act), entry.who, format_time(from_unix_nanos(entry.at)));
  if (!entry.text.empty()) text += "\n\n" + entry.text;
  return fenced(text, mark);
}

http::Request create_issue(const Settings& settings, const model::Ticket& ticket, std::string_view mark) {
  return asked("POST", path_of(settings, ""), {}, {{"title", ticket.title}, {"body", body_of_issue(ticket, mark)}});
}

http::Request create_comment(const Settings& settings, std::int64_t issue, const model::TicketEntry& entry,
                             std::string_view mark) {
  return asked("POST", path_of(settings, fmt::format("/{}/comments", issue)), {},
               {{"body", body_of_comment(entry, mark)}});
}

http::Request set_state(const Settings& settings, std::int64_t issue, bool closed) {
  return asked("PATCH", path_of(settings, fmt::format("/{}", issue)), {}, {{"state", closed ? "closed" : "open"}});
}

http::Request list_issues(const Settings& settings, TimePoint since, std::int64_t page) {
  auto query = page_query(since, page);
  query.add("state", "all");
  return asked("GET", path_of(settings, ""), query, {});
}

http::Request list_comments(const Settings& settings, std::int64_t issue, TimePoint since, std::int64_t page) {
  return asked("GET", path_of(settings, fmt::format("/{}/comments", issue)), page_query(since, page), {});
}

Found parse_issue(std::string_view answer) { return found_in(parsed(answer), "number"); }
std::vector<Found> parse_issues(std::string_view answer) { return parse_list(answer, "number"); }
std::vector<Found> parse_comments(std::string_view answer) { return parse_list(answer, "id"); }

}  // namespace underway::tracker
