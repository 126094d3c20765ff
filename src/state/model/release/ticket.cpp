#include "model/release/ticket.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

namespace {

/// Those that a terminal obeys: C0 but for a tab, DEL, and C1, which UTF-8 writes as C2 80 to C2 9F.
bool has_control(std::string_view text, bool lines) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0x7F || (c < 0x20 && c != '\t' && !(lines && c == '\n'))) return true;
    if (c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) return true;
  }
  return false;
}

bool is_key(std::string_view key) {
  return std::ranges::all_of(key, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._:/@+=~-").find(c) != std::string_view::npos;
  });
}

bool is_web_address(std::string_view text) {
  const bool web = text.starts_with("https://") || text.starts_with("http://");
  return web && text.find_first_of(" \t\"<>") == std::string_view::npos;
}

}  // namespace

std::string line_problem(std::string_view what, std::string_view text, std::size_t most) {
  if (text.size() > most) return fmt::format("{} has {} bytes, and {} are allowed", what, text.size(), most);
  if (!is_utf8(text)) return fmt::format("{} is not UTF-8", what);
  if (has_control(text, false)) return fmt::format("{} has line breaks or control characters in it", what);
  return {};
}

std::string text_problem(std::string_view what, std::string_view text) {
  if (text.size() > kLongestTicketText)
    return fmt::format("{} has {} bytes, and {} are allowed: keep what is longer elsewhere, and link it", what,
                       text.size(), kLongestTicketText);
  if (!is_utf8(text)) return fmt::format("{} is not UTF-8", what);
  if (has_control(text, true)) return fmt::format("{} has control characters in it", what);
  return {};
}

std::string link_problem(const TicketLink& link) {
  if (link.value.empty()) return fmt::format("a link to a {} names none", describe::spell(link.target));
  if (auto wrong = line_problem("the link " + text_of(link).substr(0, 40), link.value, kLongestTicketLink);
      !wrong.empty())
    return wrong;
  if (link.target == TicketTarget::url && !is_web_address(link.value))
    return fmt::format("'{}' is no address of the web", link.value);
  if (link.target == TicketTarget::ticket) {
    const auto number = parse_number<std::int64_t>(link.value).value_or(0);
    if (number < 1 || std::to_string(number) != link.value)
      return fmt::format("'{}' is no number of a ticket", link.value);
  }
  return {};
}

std::vector<std::string> problems(const Ticket& ticket) {
  std::vector<std::string> found;
  const auto note = [&](std::string problem) {
    if (!problem.empty()) found.push_back(std::move(problem));
  };
  if (trim(ticket.title).empty()) note("it has no title");
  note(line_problem("Title", ticket.title, kLongestTicketTitle));
  note(text_problem("Body", ticket.body));
  note(line_problem("Key", ticket.key, kLongestTicketName));
  if (!is_key(ticket.key)) note("Key may have letters, digits and any of . _ : / @ + = ~ -");
  note(line_problem("Assignee", ticket.assignee, kLongestTicketName));
  note(line_problem("NeedsTest", ticket.needs_test, kLongestTicketName));
  if (ticket.links.size() > kMostTicketLinks)
    note(fmt::format("it has {} links, and {} are allowed", ticket.links.size(), kMostTicketLinks));
  else
    for (const auto& link : ticket.links) note(link_problem(link));
  return found;
}

bool Ticket::names(TicketTarget target, std::string_view value) const {
  return std::ranges::any_of(links, [&](const auto& link) { return link.target == target && link.value == value; });
}

std::string text_of(const TicketLink& link) {
  if (link.target == TicketTarget::ticket) return "#" + link.value;
  if (link.target == TicketTarget::url) return link.value;
  return fmt::format("{}:{}", describe::spell(link.target), link.value);
}

TicketLink parse_ticket_link(TicketRelation relation, std::string_view text) {
  TicketLink link{relation, TicketTarget::url, std::string(text)};
  if (is_web_address(text)) return link;
  const auto colon = text.find(':');
  if (text.starts_with('#')) {
    link.target = TicketTarget::ticket;
    link.value = text.substr(1);
  } else {
    const auto target = description(Tag<TicketTarget>{}).parse(text.substr(0, colon));
    if (colon == std::string_view::npos || !target)
      throw Error(Code::invalid, fmt::format("'{}' is nothing that a ticket can be linked to", text))
          .advise(
              "write an address of the web, #NUMBER of a ticket, or release:NAME, node:NAME, package:NAME, job:ID "
              "or log:WHERE");
    link.target = static_cast<TicketTarget>(*target);
    link.value = text.substr(colon + 1);
  }
  if (const auto wrong = link_problem(link); !wrong.empty()) throw Error(Code::invalid, wrong);
  return link;
}

const Enumeration& description(Tag<TicketKind>) {
  static const Enumeration e = describe::enumeration<TicketKind>("ticket kind");
  return e;
}
const Enumeration& description(Tag<TicketState>) {
  static const Enumeration e = describe::enumeration<TicketState>("ticket state");
  return e;
}
const Enumeration& description(Tag<TicketRelation>) {
  static const Enumeration e = describe::enumeration<TicketRelation>("ticket relation");
  return e;
}
const Enumeration& description(Tag<TicketTarget>) {
  static const Enumeration e = describe::enumeration<TicketTarget>("ticket target");
  return e;
}
const Enumeration& description(Tag<TicketAct>) {
  static const Enumeration e = describe::enumeration<TicketAct>("ticket act");
  return e;
}

const Structure& description(Tag<TicketLink>) {
  static const Structure s =
      Builder<TicketLink>("ticket link", "What a ticket has to do with something else.")
          .wire<&TicketLink::relation>("Relation", "about, suspect, blocks or duplicates.")
          .wire<&TicketLink::target>("Target", "release, node, package, job, log, url or ticket.")
          .wire<&TicketLink::value>("Value", "Its name; of a ticket its number; of a log or url where it is.")
          .done();
  return s;
}

const Structure& description(Tag<TicketEntry>) {
  static const Structure s =
      Builder<TicketEntry>("ticket entry", "Something that was said about a ticket, or done with it.")
          .wire<&TicketEntry::ticket>("Ticket", "The ticket's number.")
          .wire<&TicketEntry::number>("Number", "Within the ticket, from 1.")
          .wire<&TicketEntry::at>("At", "When it was.")
          .time()
          .wire<&TicketEntry::who>("Who", "Name of the token that it came with.")
          .wire<&TicketEntry::who_id>("WhoID", "Accessor of that token.")
          .wire<&TicketEntry::act>("Act", "opened, occurred, commented, assigned, linked, closed or reopened.")
          .wire<&TicketEntry::text>("Text", "What was said, or what was done.")
          .done();
  return s;
}

const Structure& description(Tag<Ticket>) {
  static const Structure s =
      Builder<Ticket>("ticket", "What failed, or what somebody asks for, until it is over.")
          .wire<&Ticket::number>("Number", "From 1, never given twice.")
          .wire<&Ticket::title>("Title", "What it is, in a line.")
          .wire<&Ticket::body>("Body", "What was said when it was opened.")
          .wire<&Ticket::kind>("Kind", "gate, build, sync, drift, reinstall, outage, user or other.")
          .wire<&Ticket::key>("Key", "Of what may be told again: one ticket of a key is open at most.")
          .wire<&Ticket::state>("State", "open or closed.")
          .wire<&Ticket::reporter>("Reporter", "Name of the token that it was opened with.")
          .wire<&Ticket::reporter_id>("ReporterID", "Accessor of that token.")
          .wire<&Ticket::assignee>("Assignee", "Who looks after it; empty: nobody.")
          .wire<&Ticket::links>("Links", "What it is about, what is suspected, what it blocks.")
          .wire<&Ticket::needs_test>("NeedsTest", "Why it is closed with a test only; empty: it needs none.")
          .wire<&Ticket::test>("Test", "The test that it was closed with.")
          .wire<&Ticket::opened_at>("OpenedAt", "When it was opened.")
          .time()
          .wire<&Ticket::changed_at>("ChangedAt", "When something was last said or done about it.")
          .time()
          .wire<&Ticket::closed_at>("ClosedAt", "When it was closed; zero: it is open.")
          .time()
          .wire<&Ticket::occurrences>("Occurrences", "How often it was told.")
          .wire<&Ticket::occurred_at>("OccurredAt", "When it was last told.")
          .time()
          .wire<&Ticket::kept_occurrences>("KeptOccurrences", "Entries of the newest; the others are only counted.")
          .wire<&Ticket::entries>("Entries", "Number of its newest entry.")
          .wire<&Ticket::written>("Written", "Entries that are no occurrences.")
          .wire<&Ticket::create_index>("CreateIndex", "Revision that made it.")
          .wire<&Ticket::modify_index>("ModifyIndex", "Revision of its last change.")
          .done();
  return s;
}

const Enumeration& description(Tag<TicketUrgency>) {
  static const Enumeration e = describe::enumeration<TicketUrgency>("ticket urgency");
  return e;
}

const Structure& description(Tag<TicketPriority>) {
  static const Structure s =
      Builder<TicketPriority>("ticket priority", "How urgent a ticket is, and why.")
          .wire<&TicketPriority::urgency>("Urgency", "low, normal, high or urgent.")
          .wire<&TicketPriority::points>("Points", "The sum of what counts; of a closed ticket 0.")
          .wire<&TicketPriority::why>("Why", "What counts, with its points, the largest first.")
          .done();
  return s;
}

const Structure& description(Tag<TicketIssue>) {
  static const Structure s =
      Builder<TicketIssue>("ticket issue", "The issue of an external tracker in which a ticket is told.")
          .wire<&TicketIssue::ticket>("Ticket", "The ticket's number.")
          .wire<&TicketIssue::mark>("Mark", "What its texts there are known by.")
          .wire<&TicketIssue::number>("Number", "Of the issue; 0: there is none yet.")
          .wire<&TicketIssue::url>("URL", "Where people read it.")
          .wire<&TicketIssue::sent>("Sent", "Number of the newest entry that is there.")
          .wire<&TicketIssue::trying>("Trying", "Number of an entry that may be there, as no answer came; 0: of none.")
          .wire<&TicketIssue::trying_since>("TryingSince", "Since when that is so.")
          .time()
          .wire<&TicketIssue::closed>("Closed", "Whether it was closed there last.")
          .wire<&TicketIssue::refusal>("Refusal", "Why the tracker does not take what is next; empty: it does.")
          .wire<&TicketIssue::refused_at>("RefusedAt", "When it said so.")
          .time()
          .done();
  return s;
}

const Structure& description(Tag<TicketAge>) {
  static const Structure s =
      Builder<TicketAge>("ticket age", "How long tickets have been open.")
          .wire<&TicketAge::by>("By", "kind or assignee.")
          .wire<&TicketAge::name>("Name", "Of the kind or the assignee; of the latter empty: nobody.")
          .wire<&TicketAge::open>("Open", "How many are open.")
          .wire<&TicketAge::median>("Median", "Half of them have been open for longer.")
          .wire<&TicketAge::oldest>("Oldest", "How long the oldest has been open.")
          .wire<&TicketAge::oldest_ticket>("OldestTicket", "Number of the oldest.")
          .done();
  return s;
}

}  // namespace underway::model
