#include "ticket/priority.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "base/text.hpp"

namespace underway::ticket {

using model::Ticket;
using model::TicketKind;
using model::TicketPriority;
using model::TicketRelation;
using model::TicketTarget;
using model::TicketUrgency;

namespace {

// The table of docs/how-to/keep-tickets.md.
constexpr std::int64_t kFirstRelease = 40, kEachRelease = 5, kMostReleases = 50;
constexpr std::int64_t kEachBlocked = 10, kMostBlocked = 30;
constexpr std::int64_t kMostNodes = 20;
constexpr std::int64_t kMostDays = 30;
constexpr std::int64_t kEachDoubling = 2, kMostDoublings = 16;
constexpr std::int64_t kUrgent = 80, kHigh = 55, kNormal = 25;

std::int64_t points_of(TicketKind kind) {
  switch (kind) {
    case TicketKind::outage:
      return 60;
    case TicketKind::gate:
    case TicketKind::drift:
    case TicketKind::reinstall:
      return 30;
    case TicketKind::build:
    case TicketKind::sync:
      return 25;
    case TicketKind::user:
      return 20;
    case TicketKind::other:
      return 10;
  }
  return 0;
}

class Points {
 public:
  void add(std::int64_t points, std::string why) {
    if (points > 0) reasons_.emplace_back(points, std::move(why));
  }
  TicketPriority priority() {
    std::ranges::sort(reasons_, std::greater{});
    TicketPriority out;
    for (const auto& [points, why] : reasons_) {
      out.points += points;
      out.why.push_back(fmt::format("{} ({})", why, points));
    }
    out.urgency = out.points >= kUrgent   ? TicketUrgency::urgent
                  : out.points >= kHigh   ? TicketUrgency::high
                  : out.points >= kNormal ? TicketUrgency::normal
                                          : TicketUrgency::low;
    return out;
  }

 private:
  std::vector<std::pair<std::int64_t, std::string>> reasons_;
};

void count_links(const Ticket& ticket, Points& points) {
  std::vector<std::string> releases, blocked;
  std::set<std::string> nodes;
  for (const auto& link : ticket.links) {
    if (link.target == TicketTarget::node) nodes.insert(link.value);
    if (link.relation != TicketRelation::blocks) continue;
    if (link.target == TicketTarget::release)
      releases.push_back(link.value);
    else
      blocked.push_back(model::text_of(link));
  }
  const auto count = [](const auto& of) { return static_cast<std::int64_t>(of.size()); };
  if (!releases.empty())
    points.add(std::min(kFirstRelease + kEachRelease * (count(releases) - 1), kMostReleases),
               "blocks release " + join_some(releases, 3));
  if (!blocked.empty())
    points.add(std::min(kEachBlocked * count(blocked), kMostBlocked), "blocks " + join_some(blocked, 3));
  points.add(std::min(count(nodes), kMostNodes),
             fmt::format("concerns {} node{}", nodes.size(), nodes.size() == 1 ? "" : "s"));
}

Duration open_for(const Ticket& ticket, TimePoint now) {
  return std::max(now - from_unix_nanos(ticket.opened_at), Duration{0});
}

}  // namespace

TicketPriority priority_of(const Ticket& ticket, TimePoint now) {
  if (!ticket.is_open()) return {};
  Points points;
  points.add(points_of(ticket.kind), fmt::format("is of kind {}", describe::spell(ticket.kind)));
  count_links(ticket, points);
  const std::int64_t days = std::chrono::floor<std::chrono::days>(open_for(ticket, now)).count();
  points.add(std::min(days, kMostDays), fmt::format("open for {} day{}", days, days == 1 ? "" : "s"));
  const auto doublings = std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(ticket.occurrences, 1))) - 1;
  points.add(std::min<std::int64_t>(kEachDoubling * doublings, kMostDoublings),
             fmt::format("told {} times", ticket.occurrences));
  return points.priority();
}

std::vector<model::TicketAge> ageing_of(const std::vector<Ticket>& tickets, TimePoint now) {
  std::map<std::pair<std::string, std::string>, std::vector<const Ticket*>> groups;
  for (const auto& ticket : tickets) {
    if (!ticket.is_open()) continue;
    groups[{"kind", std::string(describe::spell(ticket.kind))}].push_back(&ticket);
    groups[{"assignee", ticket.assignee}].push_back(&ticket);
  }
  std::vector<model::TicketAge> found;
  for (auto& [name, group] : groups) {
    std::ranges::sort(group, {}, [](const Ticket* ticket) { return std::pair(ticket->opened_at, ticket->number); });
    found.push_back({.by = name.first,
                     .name = name.second,
                     .open = static_cast<std::int64_t>(group.size()),
                     .median = open_for(*group[group.size() / 2], now),
                     .oldest = open_for(*group.front(), now),
                     .oldest_ticket = group.front()->number});
  }
  std::ranges::sort(found, std::greater{},
                    [](const model::TicketAge& age) { return std::tuple(age.by, age.oldest, age.name); });
  return found;
}

}  // namespace underway::ticket
