#pragma once
/// @file
/// What is said to an external tracker, and what it answers: the API for issues that GitHub has and Gitea and Forgejo
/// have as well. Pure. Whatever people wrote stands in a fence, where no tracker finds names to tell or numbers to
/// link. Source: GitHub's REST API documentation, "Issues" and "Issue comments"; Gitea's,
/// `/api/v1/repos/{owner}/{repo}/issues`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"
#include "model/release/ticket.hpp"

namespace underway::tracker {

struct Settings {
  std::string url;                 ///< of the API: "https://api.github.com", "https://git.example.org/api/v1"
  std::string repository;          ///< "OWNER/NAME"
  std::string token_file;          ///< mode 0600; read at every look, so that it may be replaced
  std::string ca_file;             ///< of those who vouch for the tracker; empty: the system's
  std::vector<std::string> kinds;  ///< of tickets that are told there; empty: all
};
/// What is wrong with them, each a sentence.
std::vector<std::string> problems(const Settings& settings);
const describe::Structure& description(describe::Tag<Settings>);
bool is_told(const Settings& settings, const model::Ticket& ticket);

/// The last line of each text there, by which it is found again when no answer came. It is random, and what people
/// write is never the last line.
std::string mark_of(const model::TicketIssue& issue, std::int64_t entry);
bool bears(std::string_view body, std::string_view mark);

std::string body_of_issue(const model::Ticket& ticket, std::string_view mark);
std::string body_of_comment(const model::TicketEntry& entry, std::string_view mark);

http::Request create_issue(const Settings& settings, const model::Ticket& ticket, std::string_view mark);
http::Request create_comment(const Settings& settings, std::int64_t issue, const model::TicketEntry& entry,
                             std::string_view mark);
http::Request set_state(const Settings& settings, std::int64_t issue, bool closed);
/// Pages from 1. `since`: what has not changed since is left out.
http::Request list_issues(const Settings& settings, TimePoint since, std::int64_t page);
http::Request list_comments(const Settings& settings, std::int64_t issue, TimePoint since, std::int64_t page);
inline constexpr std::size_t kPageSize = 50;

/// An issue, or a comment of one.
struct Found {
  std::int64_t number = 0;  ///< of an issue; of a comment its id
  std::string url;          ///< for people; empty when the tracker says none that can be shown
  std::string body;
};
/// Errors: unavailable for what is no such answer. At most kMostFound of a list are looked at.
Found parse_issue(std::string_view answer);
std::vector<Found> parse_issues(std::string_view answer);
std::vector<Found> parse_comments(std::string_view answer);
inline constexpr std::size_t kMostFound = 1000;

}  // namespace underway::tracker
