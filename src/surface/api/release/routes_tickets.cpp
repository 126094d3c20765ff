// Tickets: what failed and what people ask for. Whoever has a token may open one and see what became of it; whoever
// looks after the cluster sees and does the rest.
#include <algorithm>

#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "ticket/mail.hpp"
#include "ticket/priority.hpp"
#include "ticket/requests.hpp"
#include "wire/release/ticket.hpp"

namespace underway::api {
namespace {

using acl::Level;
using model::Ticket;
using model::TicketKind;
using tables::Tables;

ticket::Author ticket_author_of(const Request& request) {
  const auto& caller = request.caller();
  return {caller.name.empty() ? caller.accessor : caller.name, caller.accessor};
}

bool looks_after(const Request& request) { return request.rights().operators(Level::write); }
bool reads_all(const Request& request) { return request.rights().operators(Level::read); }
bool is_own_ticket(const Request& request, const Ticket& ticket) {
  return ticket.reporter_id == request.caller().accessor;
}

std::int64_t ticket_number_of(const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < 1)
    throw Error(Code::invalid, fmt::format("'{}' is no number of a ticket", text))
        .advise("`underway ticket list` says which there are");
  return *number;
}

/// What is another's is not there for who may not see it: numbers can be tried.
Ticket visible_ticket(const Tables& tables, const Request& request, std::int64_t number) {
  auto ticket = ticket::get_ticket(tables, number);
  if (is_own_ticket(request, ticket) || reads_all(request)) return ticket;
  throw Error(Code::not_found, fmt::format("there is no ticket {}", number))
      .advise("`underway ticket list -all` tells which there are");
}

/// Of what its reporter may do, too. Also says which row the request is about, for the audit log.
awaitable<void> begin_change_by_reporter(Api& api, const Request& request, std::int64_t number) {
  const auto* tables = co_await api.server.read();
  if (!is_own_ticket(request, visible_ticket(*tables, request, number)))
    request.require(right::operators(Level::write));
  tables::Scope subject = tables::record_scope<Ticket>(ticket::number_name(number));
  co_await request.about(std::move(subject));
}

/// The number.
awaitable<std::int64_t> begin_change_by_operator(Api& api, const Request& request) {
  const auto number = ticket_number_of(request.param("number"));
  const auto* tables = co_await api.server.read();
  ticket::get_ticket(*tables, number);
  tables::Scope subject = tables::record_scope<Ticket>(ticket::number_name(number));
  co_await request.about(std::move(subject));
  co_return number;
}

wire::TicketView ticket_view_of(const Api& api, Ticket ticket) {
  auto priority = ticket::priority_of(ticket, api.clock.now());
  return {std::move(ticket), std::move(priority), {}, {}};
}

Response shown_ticket(const Api& api, Ticket ticket) {
  return http::json(json::encode(ticket_view_of(api, std::move(ticket))));
}

/// What a list is asked for.
struct WantedTickets {
  std::string state, assignee, release, key;
  std::optional<TicketKind> kind;
  std::int64_t opened_until = 0;  ///< ns since the epoch

  bool wants(const Ticket& ticket) const {
    if (state == "closed" && ticket.is_open()) return false;
    if (!assignee.empty() && ticket.assignee != (assignee == "-" ? "" : assignee)) return false;
    if (!release.empty() && !ticket.names(model::TicketTarget::release, release)) return false;
    if (!key.empty() && ticket.key != key) return false;
    return (!kind || ticket.kind == *kind) && ticket.opened_at <= opened_until;
  }
};

WantedTickets wanted_tickets_of(const Request& request, TimePoint now) {
  const auto text = [&](const char* name) { return request.query.find(name).value_or(""); };
  WantedTickets wanted{text("state"), text("assignee"), text("release"), text("key"), {}, unix_nanos(now)};
  if (wanted.state.empty()) wanted.state = "open";
  if (wanted.state != "open" && wanted.state != "closed" && wanted.state != "all")
    throw Error(Code::invalid, fmt::format("'{}' is no state of tickets", wanted.state))
        .advise("use open, closed or all");
  if (const auto kind = text("kind"); !kind.empty()) {
    const auto& kinds = model::description(describe::Tag<TicketKind>{});
    const auto found = kinds.parse(kind);
    if (!found)
      throw Error(Code::invalid, fmt::format("'{}' is no kind of ticket", kind))
          .advise("use one of " + join(kinds.names(), ", "));
    wanted.kind = static_cast<TicketKind>(*found);
  }
  if (const auto older = text("older"); !older.empty()) {
    const auto span = parse_duration(older);
    if (!span || *span < Duration{0}) throw Error(Code::invalid, fmt::format("'{}' is no duration", older));
    wanted.opened_until = unix_nanos(now - *span);
  }
  return wanted;
}

std::vector<Ticket> tickets_of(const Tables& tables, const Request& request, const WantedTickets& wanted) {
  const std::string reporter = reads_all(request) ? "" : request.caller().accessor;
  auto found = wanted.state == "open" ? ticket::open_tickets(tables, reporter) : ticket::all_tickets(tables);
  std::erase_if(found, [&](const Ticket& ticket) {
    return !wanted.wants(ticket) || (!reporter.empty() && ticket.reporter_id != reporter);
  });
  return found;
}

awaitable<Response> list_tickets(Api& api, Request request) {
  const auto wanted = wanted_tickets_of(request, api.clock.now());
  std::vector<tables::Scope> scopes{tables::records_scope()};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    std::vector<Item> items;
    for (auto& ticket : tickets_of(tables, request, wanted)) {
      std::string token = ticket::number_name(ticket.number);
      items.push_back(
          {std::move(token), [&api, ticket = std::move(ticket)] { return json::encode(ticket_view_of(api, ticket)); }});
    }
    return items;
  });
}

awaitable<Response> read_ageing(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::records_scope()};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    return json::encode(ticket::ageing_of(ticket::open_tickets(tables), api.clock.now()));
  });
}

awaitable<Response> read_ticket(Api& api, Request request) {
  const auto number = ticket_number_of(request.param("number"));
  std::vector<tables::Scope> scopes{tables::record_scope<Ticket>(ticket::number_name(number)),
                                    tables::record_scope<model::TicketIssue>(ticket::number_name(number))};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    auto view = ticket_view_of(api, visible_ticket(tables, request, number));
    view.entries = ticket::entries_of(tables, number);
    view.issue = ticket::find_issue(tables, number);
    return json::encode(view);
  });
}

/// What only they may say who look after tickets: it would be counted on what is another's, hold a release up, or bind
/// whoever closes it.
void check_ticket_reporter(const Request& request, const ticket::OpenTicket& open) {
  if (looks_after(request)) return;
  const bool by_people = open.kind == TicketKind::user || open.kind == TicketKind::other;
  const bool about =
      std::ranges::all_of(open.links, [](const auto& link) { return link.relation == model::TicketRelation::about; });
  if (by_people && about && open.key.empty() && open.needs_test.empty() && open.assignee.empty()) return;
  request.require(right::operators(Level::write));
}

awaitable<Response> open_for(Api& api, Request request, ticket::OpenTicket wanted) {
  check_ticket_reporter(request, wanted);
  wanted.by = ticket_author_of(request);
  if (!looks_after(request)) wanted.most_open_of_one = ticket::kMostOpenOfOne;
  auto opened = co_await apply(api, request, std::move(wanted));
  request.made(tables::record_scope<Ticket>(ticket::number_name(opened.ticket.number)));
  co_return http::json(json::encode(wire::OpenedTicket{ticket_view_of(api, std::move(opened.ticket)), opened.opened}));
}

awaitable<Response> open_ticket(Api& api, Request request) {
  auto body = json::decode<wire::OpenTicketBody>(boost::json::value(parse_body(request)), "ticket");
  ticket::OpenTicket wanted{.title = std::move(body.title),
                            .body = std::move(body.body),
                            .kind = body.kind,
                            .key = std::move(body.key),
                            .needs_test = std::move(body.needs_test),
                            .assignee = std::move(body.assignee),
                            .links = std::move(body.links),
                            .by = {}};
  co_return co_await open_for(api, std::move(request), std::move(wanted));
}

awaitable<Response> comment_on(Api& api, Request request, std::int64_t number, std::string text,
                               std::string message_id) {
  co_await begin_change_by_reporter(api, request, number);
  ticket::CommentTicket wanted{number, std::move(text), ticket_author_of(request), std::move(message_id)};
  auto commented = co_await apply(api, request, std::move(wanted));
  co_return http::json(json::encode(wire::OpenedTicket{ticket_view_of(api, std::move(commented)), false}));
}

/// A message is about the ticket that the query or its subject names, or that a message was taken into which it
/// answers; else it opens one.
awaitable<Response> take_mail(Api& api, Request request) {
  auto mail = ticket::parse_mail(request.body);
  if (const auto named = request.query.find("ticket")) mail.ticket = ticket_number_of(*named);
  if (mail.ticket == 0) {
    const auto* tables = co_await api.server.read();
    mail.ticket = ticket::find_by_mail(*tables, request.caller().accessor, mail.replies_to).value_or(0);
  }
  if (mail.ticket != 0) {
    auto text = mail.text();
    co_return co_await comment_on(api, std::move(request), mail.ticket, std::move(text), std::move(mail.message_id));
  }
  ticket::OpenTicket wanted{.title = mail.subject,
                            .body = mail.text(),
                            .kind = mail.kind.value_or(TicketKind::user),
                            .key = std::move(mail.key),
                            .needs_test = {},
                            .assignee = {},
                            .links = {},
                            .by = {},
                            .message_id = std::move(mail.message_id)};
  co_return co_await open_for(api, std::move(request), std::move(wanted));
}

template <class Body>
Body ticket_body_of(const Request& request) {
  return json::decode<Body>(boost::json::value(parse_body(request)), "ticket");
}

awaitable<Response> comment_ticket(Api& api, Request request) {
  auto body = ticket_body_of<wire::TicketText>(request);
  const auto number = ticket_number_of(request.param("number"));
  co_return co_await comment_on(api, std::move(request), number, std::move(body.text), {});
}

awaitable<Response> assign_ticket(Api& api, Request request) {
  auto body = ticket_body_of<wire::AssignTicketBody>(request);
  const auto number = co_await begin_change_by_operator(api, request);
  ticket::AssignTicket wanted{number, std::move(body.assignee), ticket_author_of(request)};
  auto changed = co_await apply(api, request, std::move(wanted));
  co_return shown_ticket(api, std::move(changed));
}

awaitable<Response> link_ticket(Api& api, Request request) {
  auto body = ticket_body_of<wire::LinkTicketBody>(request);
  const auto number = co_await begin_change_by_operator(api, request);
  ticket::LinkTicket wanted{number, std::move(body.add), std::move(body.remove), std::move(body.needs_test),
                            ticket_author_of(request)};
  auto changed = co_await apply(api, request, std::move(wanted));
  co_return shown_ticket(api, std::move(changed));
}

/// What it blocks, and the test that it needs, go to the other one, so that is not left to reporters.
awaitable<Response> close_ticket(Api& api, Request request) {
  auto body = ticket_body_of<wire::CloseTicketBody>(request);
  if (body.duplicate_of != 0) request.require(right::operators(Level::write));
  const auto number = ticket_number_of(request.param("number"));
  co_await begin_change_by_reporter(api, request, number);
  ticket::CloseTicket wanted{number, std::move(body.reason), std::move(body.test), body.duplicate_of,
                             ticket_author_of(request)};
  auto changed = co_await apply(api, request, std::move(wanted));
  co_return shown_ticket(api, std::move(changed));
}

awaitable<Response> reopen_ticket(Api& api, Request request) {
  auto body = ticket_body_of<wire::TicketText>(request);
  const auto number = ticket_number_of(request.param("number"));
  co_await begin_change_by_reporter(api, request, number);
  ticket::ReopenTicket wanted{number, std::move(body.text), ticket_author_of(request)};
  auto changed = co_await apply(api, request, std::move(wanted));
  co_return shown_ticket(api, std::move(changed));
}

}  // namespace

void add_ticket_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto anybody = right::token(), reads = right::operators(Level::read), writes = right::operators(Level::write);
  routes.add("GET", "/v1/underway/tickets", "list tickets", anybody, with(list_tickets));
  routes.add("PUT|POST", "/v1/underway/tickets", "open ticket", anybody, with(open_ticket));
  routes.add("PUT|POST", "/v1/underway/tickets/mail", "take mail into tickets", anybody, with(take_mail));
  routes.add("GET", "/v1/underway/tickets/ageing", "how long tickets are open", reads, with(read_ageing));
  routes.add("GET", "/v1/underway/ticket/:number", "read ticket", anybody, with(read_ticket));
  routes.add("PUT|POST", "/v1/underway/ticket/:number/comment", "comment on ticket", anybody, with(comment_ticket));
  routes.add("PUT|POST", "/v1/underway/ticket/:number/assign", "assign ticket", writes, with(assign_ticket));
  routes.add("PUT|POST", "/v1/underway/ticket/:number/link", "link ticket", writes, with(link_ticket));
  routes.add("PUT|POST", "/v1/underway/ticket/:number/close", "close ticket", anybody, with(close_ticket));
  routes.add("PUT|POST", "/v1/underway/ticket/:number/reopen", "reopen ticket", anybody, with(reopen_ticket));
}

}  // namespace underway::api
