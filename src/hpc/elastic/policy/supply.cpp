#include "elastic/detail/supply.hpp"

#include <algorithm>

namespace underway::elastic::detail {

Supply::Supply(const Policy& policy, const Tick& tick, State& state, const std::unordered_set<std::string>& gone,
               const std::set<std::string>& forming)
    : policy_(policy), tick_(tick) {
  books_.reserve(policy.classes.size());
  for (const auto& type : policy.classes) {
    Book book;
    book.type = &type;
    book.state = &state.classes[type.name];
    book.state->running = book.state->booting = book.state->asleep = 0;
    book.open = OpenNodes(type.vcpus, type.memory_mb);
    books_.push_back(std::move(book));
  }
  Book* last = nullptr;
  std::int64_t empty = 0;  // of `last`, not yet in its `open`: nodes of a class mostly stand beside each other
  const auto flush = [&] {
    if (last != nullptr && empty > 0) last->open.add_empty(empty);
    if (last != nullptr) last->empties += empty;
    empty = 0;
  };
  for (const auto& node : tick.nodes) {
    if (last == nullptr || last->type->name != node.class_name) {
      flush();
      last = find(node.class_name);
    }
    if (last == nullptr)
      continue;  // of a class that the policy does not have any more: whoever removed it sees to that
    const bool common = !node.held && (node.gang.empty() || !forming.contains(node.gang));
    count(node, *last, forming);
    if (!common || (!gone.empty() && gone.contains(node.name))) continue;
    if (node.phase == NodePhase::booting || (node.phase == NodePhase::idle && node.jobs.empty())) ++empty;
    if (node.phase == NodePhase::busy && node.cpus_free > 0) last->open.add(node.cpus_free, node.memory_free_mb);
  }
  flush();
  for (auto& book : books_) promise(book, book.state->running + book.state->booting);
  for (auto& book : books_) {
    if (gone.empty()) break;  // those that go are neither idle nor busy to whoever looks for nodes
    std::erase_if(book.idle, [&](const NodeView* node) { return gone.contains(node->name); });
    std::erase_if(book.busy, [&](const NodeView* node) { return gone.contains(node->name); });
  }
}

void Supply::count(const NodeView& node, Book& book, const std::set<std::string>& forming) {
  if (node.phase == NodePhase::asleep) {
    ++book.state->asleep;
    return;  // a suspended node holds neither processors nor memory of its provider
  }
  ++(node.phase == NodePhase::booting ? book.state->booting : book.state->running);
  if (node.held) return;
  const bool common = node.gang.empty() || !forming.contains(node.gang);
  if (node.phase == NodePhase::idle && node.jobs.empty() && common) book.idle.push_back(&node);
  if (node.phase == NodePhase::busy || (node.phase == NodePhase::idle && !node.jobs.empty()))
    book.busy.push_back(&node);
  if (node.phase == NodePhase::draining) book.draining.push_back(&node);
}

Book* Supply::find(std::string_view name) {
  for (auto& book : books_) {
    if (book.type->name == name) return &book;
  }
  return nullptr;
}

void Supply::promise(Book& book, std::int64_t nodes) {
  book.counted += nodes;
  total_ += nodes;
  per_hour_ += book.type->hourly() * nodes;
  Usage& usage = usage_[book.type->counted_at()];
  usage.nodes += nodes;
  usage.vcpus += nodes * book.type->vcpus;
  usage.memory_mb += nodes * book.type->memory_mb;
}

void Supply::weigh(const Book& book, std::int64_t limit, std::int64_t used, std::int64_t each, Obstacle obstacle,
                   std::string_view what, Headroom& out) const {
  if (each <= 0) return;
  const std::int64_t room = std::max<std::int64_t>(limit - used, 0) / each;
  if (room >= out.nodes) return;
  out.nodes = room;
  out.limit = {book.type->name, obstacle, limit, used, std::string(what), 0};
}

Headroom Supply::headroom(const Book& book) const {
  Headroom out{std::numeric_limits<std::int64_t>::max(), {}};
  weigh(book, book.type->max_nodes, book.counted, 1, Obstacle::max_nodes, {}, out);
  if (policy_.max_nodes > 0) weigh(book, policy_.max_nodes, total_, 1, Obstacle::total_nodes, {}, out);
  for (const auto& quota : policy_.quotas) {
    if (quota.provider != book.type->counted_at()) continue;
    const auto found = usage_.find(quota.provider);
    const Usage used = found == usage_.end() ? Usage{} : found->second;
    if (quota.nodes > 0) weigh(book, quota.nodes, used.nodes, 1, Obstacle::quota, "nodes", out);
    if (quota.vcpus > 0) weigh(book, quota.vcpus, used.vcpus, book.type->vcpus, Obstacle::quota, "vcpus", out);
    if (quota.memory_mb > 0)
      weigh(book, quota.memory_mb, used.memory_mb, book.type->memory_mb, Obstacle::quota, "MiB of memory", out);
  }
  // What is there costs its price for another hour at least: a budget that is spent to the last cent would have to kill
  // jobs a minute later.
  if (const auto day = parse_money(policy_.budget.day))
    weigh(book, *day, tick_.spent_today + per_hour_, book.type->hourly(), Obstacle::budget, "a day", out);
  if (const auto month = parse_money(policy_.budget.month))
    weigh(book, *month, tick_.spent_this_month + per_hour_, book.type->hourly(), Obstacle::budget, "a month", out);
  return out;
}

}  // namespace underway::elastic::detail
