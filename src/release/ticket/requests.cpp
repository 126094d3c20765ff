#include "ticket/requests.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "ticket/detail/pen.hpp"

namespace underway::ticket {

using model::Ticket;
using model::TicketAct;
using model::TicketKind;
using model::TicketLink;
using model::TicketRelation;
using model::TicketState;
using model::TicketTarget;
using server::Context;
using server::Decision;
using tables::Tables;

namespace {

constexpr std::string_view kSurprise = "it surprised during an outage: a test keeps it from coming back";

[[noreturn]] void refuse(std::string what, const std::vector<std::string>& problems) {
  throw Error(Code::invalid, std::move(what)).because(problems);
}

void check_links(const Tables& tables, std::int64_t number, const std::vector<TicketLink>& links) {
  for (const auto& link : links) {
    if (link.relation == TicketRelation::duplicates)
      throw Error(Code::invalid, "a ticket is linked as a duplicate when it is closed")
          .advise("underway ticket close -duplicate-of OTHER NUMBER");
    if (link.target != TicketTarget::ticket) continue;
    if (link.value == std::to_string(number)) throw Error(Code::invalid, "a ticket cannot be linked to itself");
    get_ticket(tables, *parse_number<std::int64_t>(link.value));
  }
}

void check_text(std::string_view what, std::string_view text, bool must) {
  if (must && trim(text).empty()) throw Error(Code::invalid, fmt::format("{} is empty", what));
  if (auto wrong = model::text_problem(what, text); !wrong.empty()) throw Error(Code::invalid, std::move(wrong));
}

void check_line(std::string_view what, std::string_view text) {
  if (auto wrong = model::line_problem(what, text, model::kLongestTicketName); !wrong.empty())
    throw Error(Code::invalid, std::move(wrong));
}

void check_open(const Ticket& ticket) {
  if (ticket.is_open()) return;
  throw Error(Code::conflict, fmt::format("ticket {} is closed", ticket.number))
      .advise(fmt::format("`underway ticket reopen -reason TEXT {}` opens it again", ticket.number));
}

void check_room(const Tables& tables, const std::string& reporter, std::size_t most_of_one) {
  if (const auto open = count_open(tables); open >= kMostOpen)
    throw Error(Code::exhausted, fmt::format("{} tickets are open", open))
        .advise("close what is over: `underway ticket list -ageing`");
  if (most_of_one >= kMostOpen) return;
  if (const auto open = count_open(tables, reporter); open >= most_of_one)
    throw Error(Code::exhausted, fmt::format("{} of your tickets are open", open))
        .advise("close what is over, or comment on one of them: `underway ticket list`");
}

std::string need_of(const OpenTicket& request) {
  if (!request.needs_test.empty()) return request.needs_test;
  return request.kind == TicketKind::outage ? std::string(kSurprise) : std::string();
}

Ticket ticket_of(const OpenTicket& request) {
  Ticket ticket;
  ticket.title = request.title;
  ticket.body = request.body;
  ticket.kind = request.kind;
  ticket.key = request.key;
  ticket.reporter = request.by.name;
  ticket.reporter_id = request.by.accessor;
  ticket.assignee = request.assignee;
  ticket.needs_test = need_of(request);
  for (const auto& link : request.links) {
    if (std::ranges::find(ticket.links, link) == ticket.links.end()) ticket.links.push_back(link);
  }
  return ticket;
}

/// It is open: counted, and its newest words kept.
Decision<Opened> told_again(const OpenTicket& request, Ticket ticket, const Context& context) {
  ++ticket.occurrences;
  ticket.occurred_at = unix_nanos(context.now);
  std::vector<std::string> unlinked;
  for (const auto& link : request.links) {
    if (std::ranges::find(ticket.links, link) != ticket.links.end()) continue;
    if (ticket.links.size() < model::kMostTicketLinks)
      ticket.links.push_back(link);
    else
      unlinked.push_back(model::text_of(link));
  }
  if (ticket.needs_test.empty()) ticket.needs_test = need_of(request);
  std::string text = request.title == ticket.title ? "" : request.title + "\n\n";
  text += request.body;
  if (!unlinked.empty()) text += fmt::format("\n\nIt has too many links for {}", join_some(unlinked, 5));
  detail::Pen pen(std::move(ticket), request.by, context);
  pen.write(TicketAct::occurred, std::move(text));
  pen.take(request.message_id);
  Decision<Opened> decision;
  decision.result.opened = false;
  decision.result.ticket = pen.ticket();
  decision.changes = std::move(pen).changes();
  return decision;
}

}  // namespace

Decision<Opened> decide(const Tables& tables, const OpenTicket& request, const Context& context) {
  if (!request.message_id.empty()) {
    if (const auto taken = find_by_mail(tables, request.by.accessor, {request.message_id}))
      return {.changes = {}, .result = {get_ticket(tables, *taken), false}};
  }
  Ticket ticket = ticket_of(request);
  if (const auto wrong = model::problems(ticket); !wrong.empty()) refuse("the ticket cannot be opened", wrong);
  check_links(tables, 0, ticket.links);
  if (!request.key.empty()) {
    if (auto open = find_open(tables, request.key)) return told_again(request, *std::move(open), context);
  }
  check_room(tables, request.by.accessor, request.most_open_of_one);
  const auto last = tables::find_record<Mark>(tables, "last");
  ticket.number = last ? last->ticket + 1 : 1;
  ticket.opened_at = ticket.occurred_at = unix_nanos(context.now);
  detail::Pen pen(std::move(ticket), request.by, context);
  pen.mark("last");
  pen.mark_open();
  pen.write(TicketAct::opened, {});
  pen.take(request.message_id);
  Decision<Opened> decision;
  decision.result.ticket = pen.ticket();
  decision.changes = std::move(pen).changes();
  return decision;
}

Decision<Ticket> decide(const Tables& tables, const CommentTicket& request, const Context& context) {
  auto ticket = get_ticket(tables, request.number);
  if (!request.message_id.empty() && find_by_mail(tables, request.by.accessor, {request.message_id}))
    return {.changes = {}, .result = std::move(ticket)};
  check_text("the comment", request.text, true);
  detail::check_may_be_written(ticket);
  detail::Pen pen(std::move(ticket), request.by, context);
  pen.write(TicketAct::commented, request.text);
  pen.take(request.message_id);
  return std::move(pen).decision();
}

Decision<Ticket> decide(const Tables& tables, const AssignTicket& request, const Context& context) {
  auto ticket = get_ticket(tables, request.number);
  check_line("the assignee", request.assignee);
  check_open(ticket);
  if (ticket.assignee == request.assignee) return {.changes = {}, .result = std::move(ticket)};
  detail::check_may_be_written(ticket);
  ticket.assignee = request.assignee;
  detail::Pen pen(std::move(ticket), request.by, context);
  pen.write(TicketAct::assigned, request.assignee.empty() ? "to nobody" : "to " + request.assignee);
  return std::move(pen).decision();
}

Decision<Ticket> decide(const Tables& tables, const LinkTicket& request, const Context& context) {
  auto ticket = get_ticket(tables, request.number);
  check_line("why it needs a test", request.needs_test);
  check_links(tables, ticket.number, request.add);
  std::vector<std::string> done;
  for (const auto& link : request.remove) {
    if (std::erase(ticket.links, link) == 0)
      throw Error(Code::not_found, fmt::format("ticket {} has no such link to {}", ticket.number, model::text_of(link)))
          .advise(fmt::format("`underway ticket show {}` lists them", ticket.number));
    done.push_back(fmt::format("no longer {} {}", describe::spell(link.relation), model::text_of(link)));
  }
  for (const auto& link : request.add) {
    if (std::ranges::find(ticket.links, link) != ticket.links.end()) continue;
    ticket.links.push_back(link);
    done.push_back(fmt::format("{} {}", describe::spell(link.relation), model::text_of(link)));
  }
  if (!request.needs_test.empty() && ticket.needs_test.empty()) {
    ticket.needs_test = request.needs_test;
    done.push_back("is closed with a test only: " + request.needs_test);
  }
  if (done.empty()) return {.changes = {}, .result = std::move(ticket)};
  detail::check_may_be_written(ticket);
  if (const auto wrong = model::problems(ticket); !wrong.empty()) refuse("the ticket cannot be linked so", wrong);
  detail::Pen pen(std::move(ticket), request.by, context);
  pen.write(TicketAct::linked, join(done, "\n"));
  return std::move(pen).decision();
}

namespace {

/// What the one that stays open has to do from now on.
Ticket heir_of(const Tables& tables, const Ticket& ticket, const CloseTicket& request) {
  if (request.duplicate_of == ticket.number) throw Error(Code::invalid, "a ticket is no duplicate of itself");
  auto heir = get_ticket(tables, request.duplicate_of);
  if (!heir.is_open())
    throw Error(Code::conflict, fmt::format("ticket {} is closed as well", heir.number))
        .advise("name the one that is open, or close this one with a reason of its own");
  const TicketLink itself{TicketRelation::blocks, TicketTarget::ticket, std::to_string(heir.number)};
  for (const auto& link : ticket.links) {
    if (link.relation != TicketRelation::blocks || link == itself) continue;
    if (std::ranges::find(heir.links, link) == heir.links.end()) heir.links.push_back(link);
  }
  if (heir.links.size() > model::kMostTicketLinks)
    throw Error(Code::conflict, fmt::format("ticket {} cannot block what ticket {} does", heir.number, ticket.number))
        .because(fmt::format("it would have {} links, and {} are allowed", heir.links.size(), model::kMostTicketLinks));
  if (heir.needs_test.empty() && request.test.empty()) heir.needs_test = ticket.needs_test;
  return heir;
}

}  // namespace

Decision<Ticket> decide(const Tables& tables, const CloseTicket& request, const Context& context) {
  auto ticket = get_ticket(tables, request.number);
  check_text("the reason", request.why, request.duplicate_of == 0 && request.test.empty());
  check_line("the test", request.test);
  if (!ticket.is_open()) throw Error(Code::conflict, fmt::format("ticket {} is closed already", ticket.number));
  if (!ticket.needs_test.empty() && request.test.empty() && request.duplicate_of == 0)
    throw Error(Code::conflict, fmt::format("ticket {} is closed with a test only", ticket.number))
        .because(ticket.needs_test)
        .advise(fmt::format("write the test, then name it: underway ticket close -test NAME {}", ticket.number));
  std::vector<server::Change> of_heir;
  std::vector<std::string> words;
  if (request.duplicate_of != 0) {
    detail::Pen pen(heir_of(tables, ticket, request), request.by, context);
    pen.write(TicketAct::linked, fmt::format("ticket {} is closed as a duplicate of this one", ticket.number));
    of_heir = std::move(pen).changes();
    const TicketLink link{TicketRelation::duplicates, TicketTarget::ticket, std::to_string(request.duplicate_of)};
    if (std::ranges::find(ticket.links, link) == ticket.links.end()) ticket.links.push_back(link);
    words.push_back(fmt::format("as a duplicate of ticket {}", request.duplicate_of));
  }
  if (!request.test.empty()) words.push_back("with the test " + request.test);
  if (!request.why.empty()) words.push_back(request.why);
  ticket.state = TicketState::closed;
  ticket.test = request.test;
  ticket.closed_at = unix_nanos(context.now);
  detail::Pen pen(std::move(ticket), request.by, context);
  pen.unmark_open();
  pen.write(TicketAct::closed, join(words, "\n"));
  auto decision = std::move(pen).decision();
  decision.changes.insert(decision.changes.end(), std::make_move_iterator(of_heir.begin()),
                          std::make_move_iterator(of_heir.end()));
  return decision;
}

Decision<Ticket> decide(const Tables& tables, const ReopenTicket& request, const Context& context) {
  auto ticket = get_ticket(tables, request.number);
  check_text("the reason", request.why, true);
  if (ticket.is_open()) throw Error(Code::conflict, fmt::format("ticket {} is open", ticket.number));
  if (const auto other = ticket.key.empty() ? std::nullopt : find_open(tables, ticket.key))
    throw Error(Code::conflict, fmt::format("ticket {} cannot be opened again", ticket.number))
        .because(fmt::format("ticket {} tells of '{}' by now", other->number, ticket.key))
        .advise(fmt::format("go on with that one: underway ticket show {}", other->number));
  check_room(tables, ticket.reporter_id, kMostOpen);
  detail::check_may_be_written(ticket);
  ticket.state = TicketState::open;
  ticket.test.clear();
  ticket.closed_at = 0;
  std::erase_if(ticket.links, [](const TicketLink& link) { return link.relation == TicketRelation::duplicates; });
  detail::Pen pen(std::move(ticket), request.by, context);
  pen.mark_open();
  pen.write(TicketAct::reopened, request.why);
  return std::move(pen).decision();
}

}  // namespace underway::ticket
