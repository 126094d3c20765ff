#pragma once
/// @file
/// Tickets: what failed, or what somebody asks for, from when it is told until it is over. A ticket is a small row;
/// what was said and done about it are entries beside it, so that a list of thousands reads none of their texts.
/// Closed ones are kept.

#include <string>
#include <string_view>
#include <vector>

#include "base/json/describe.hpp"
#include "model/job/job.hpp"

namespace underway::model {

/// What it is about. What people tell is `user` and `other`; of an outage, what surprised.
enum class TicketKind : std::uint8_t { gate, build, sync, drift, reinstall, outage, user, other };
enum class TicketState : std::uint8_t { open, closed };

/// What a ticket has to do with something.
enum class TicketRelation : std::uint8_t {
  about,
  suspect,    ///< it may be the cause
  blocks,     ///< that cannot go on until the ticket is closed
  duplicates  ///< another ticket that tells of the same; this one is closed
};
enum class TicketTarget : std::uint8_t { release, node, package, job, log, url, ticket };

struct TicketLink {
  TicketRelation relation = TicketRelation::about;
  TicketTarget target = TicketTarget::url;
  std::string value;  ///< a name; of a ticket its number; of a log or url where it is

  bool operator==(const TicketLink&) const = default;
};

/// "node:c1", "#12", "https://…".
std::string text_of(const TicketLink& link);
/// Reads what text_of writes, and "url:…" and "ticket:…". Throws invalid with what may be written.
TicketLink parse_ticket_link(TicketRelation relation, std::string_view text);

/// What happened to a ticket.
enum class TicketAct : std::uint8_t {
  opened,
  occurred,  ///< again, while it was open
  commented,
  assigned,
  linked,
  closed,
  reopened
};

struct TicketEntry {
  std::int64_t ticket = 0;
  std::int64_t number = 0;  ///< within the ticket, from 1
  std::int64_t at = 0;      ///< ns since the epoch
  std::string who, who_id;  ///< the name and the accessor of the token that it came with
  TicketAct act = TicketAct::commented;
  std::string text;
};

struct Ticket {
  std::int64_t number = 0;  ///< from 1, consecutive, never given twice
  std::string title, body;
  TicketKind kind = TicketKind::other;
  std::string key;  ///< of what is told again and again: one ticket of a key is open at most; empty: it has none
  TicketState state = TicketState::open;
  std::string reporter, reporter_id;  ///< as TicketEntry::who and who_id
  std::string assignee;               ///< empty: nobody
  std::vector<TicketLink> links;
  std::string needs_test;        ///< why it is closed with a test only; empty: it needs none
  std::string test;              ///< that it was closed with
  std::int64_t opened_at = 0;    ///< ns since the epoch, as the next ones
  std::int64_t changed_at = 0;   ///< by whatever entry
  std::int64_t closed_at = 0;    ///< 0: it is open
  std::int64_t occurrences = 1;  ///< how often it was told
  std::int64_t occurred_at = 0;  ///< when last
  std::vector<std::int64_t> kept_occurrences =
      {};                    ///< entries of the newest of them; of older ones only the count stays
  std::int64_t entries = 0;  ///< number of its newest entry
  std::int64_t written = 0;  ///< entries that are no occurrences
  Revision create_index = 0;
  Revision modify_index = 0;

  bool is_open() const { return state == TicketState::open; }
  /// Whether it has a link to that.
  bool names(TicketTarget target, std::string_view value) const;
};

inline constexpr std::size_t kLongestTicketTitle = 200;       ///< bytes, as the next ones
inline constexpr std::size_t kLongestTicketText = 32U << 10;  ///< a body, or the text of an entry
inline constexpr std::size_t kLongestTicketName = 200;        ///< an assignee, a key, a test, why it needs one
inline constexpr std::size_t kLongestTicketLink = 500;
inline constexpr std::size_t kMostTicketLinks = 100;

/// What is wrong with what somebody writes into a ticket, each a sentence; all of it.
std::vector<std::string> problems(const Ticket& ticket);
/// Of one text: lines of UTF-8 without control characters, which a terminal would obey. Empty: nothing is wrong.
/// `what` begins the sentence: "Title".
std::string line_problem(std::string_view what, std::string_view text, std::size_t most);
std::string text_problem(std::string_view what, std::string_view text);
std::string link_problem(const TicketLink& link);

/// How urgent a ticket is, by the rule of ticket/priority.hpp.
enum class TicketUrgency : std::uint8_t { low, normal, high, urgent };
struct TicketPriority {
  TicketUrgency urgency = TicketUrgency::low;
  std::int64_t points = 0;
  std::vector<std::string> why;  ///< "blocks release 2026.1 (40)", the largest first
};

/// The issue of an external tracker in which a ticket is told, and how far: entries after `sent` wait for their turn.
struct TicketIssue {
  std::int64_t ticket = 0;
  std::string mark;               ///< what its texts there are known by
  std::int64_t number = 0;        ///< there; 0: it has none yet
  std::string url;                ///< for people
  std::int64_t sent = 0;          ///< the newest entry that is there
  std::int64_t trying = 0;        ///< the entry that was being sent: it may be there, or not; 0: none was
  std::int64_t trying_since = 0;  ///< ns since the epoch
  bool closed = false;            ///< as it was told last
  std::string refusal;            ///< of what the tracker does not take; empty: it took the newest
  std::int64_t refused_at = 0;    ///< ns since the epoch
};

/// How long tickets have been open, of those of one kind or one assignee.
struct TicketAge {
  std::string by;    ///< "kind" or "assignee"
  std::string name;  ///< of it; of an assignee empty: nobody
  std::int64_t open = 0;
  Duration median{0}, oldest{0};
  std::int64_t oldest_ticket = 0;
};

const describe::Enumeration& description(describe::Tag<TicketKind>);
const describe::Enumeration& description(describe::Tag<TicketState>);
const describe::Enumeration& description(describe::Tag<TicketRelation>);
const describe::Enumeration& description(describe::Tag<TicketTarget>);
const describe::Enumeration& description(describe::Tag<TicketAct>);
const describe::Structure& description(describe::Tag<TicketLink>);
const describe::Structure& description(describe::Tag<TicketEntry>);
const describe::Structure& description(describe::Tag<Ticket>);
const describe::Enumeration& description(describe::Tag<TicketUrgency>);
const describe::Structure& description(describe::Tag<TicketPriority>);
const describe::Structure& description(describe::Tag<TicketIssue>);
const describe::Structure& description(describe::Tag<TicketAge>);

}  // namespace underway::model
