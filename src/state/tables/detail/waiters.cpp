#include "tables/detail/waiters.hpp"

namespace underway::tables::detail {

ParsedScope parse(const Scope& scope) {
  const std::string_view key = scope.key;
  if (key.empty()) return {scope.topic, ScopeKind::table, key};
  const bool grouped = scope.topic == Topic::allocations || scope.topic == Topic::evaluations;
  if (grouped && key.starts_with("job:")) return {scope.topic, ScopeKind::of_job, key.substr(4)};
  if (scope.topic == Topic::allocations && key.starts_with("node:"))
    return {scope.topic, ScopeKind::on_node, key.substr(5)};
  if (scope.topic == Topic::allocations && key.starts_with("eval:"))
    return {scope.topic, ScopeKind::of_evaluation, key.substr(5)};
  return {scope.topic, ScopeKind::row, key};
}

/// A waiter's place in the list of one scope.
struct Waiters::Link {
  Link* next = nullptr;
  Link* previous = nullptr;
  Entry* entry = nullptr;
  List* list = nullptr;  ///< null when not linked
};

class Waiters::Entry final : public Tables::Waiter, public Ring {
 public:
  Entry(Waiters* owner, std::size_t links, std::function<void()> wake)
      : owner_(owner), wake_(std::move(wake)), links_(std::make_unique<Link[]>(links)), count_(links) {}
  ~Entry() override { leave(); }

  Link& link(std::size_t i) { return links_[i]; }

  /// Out of every list; it is woken no more.
  void leave() {
    if (owner_ == nullptr) return;
    for (std::size_t i = 0; i < count_; ++i) owner_->unlink(links_[i]);
    owner_ = nullptr;
    next->previous = previous;
    previous->next = next;
    next = previous = this;
  }
  /// From its scopes to those that are to be woken.
  void touch() {
    for (std::size_t i = 0; i < count_; ++i) owner_->unlink(links_[i]);
    next = &owner_->touched_;
    previous = next->previous;
    previous->next = next->previous = this;
  }
  /// Calls wake, which may destroy this.
  void fire() {
    leave();
    const auto wake = std::exchange(wake_, nullptr);
    wake();
  }

 private:
  Waiters* owner_;
  std::function<void()> wake_;
  std::unique_ptr<Link[]> links_;
  std::size_t count_;
};

Waiters::~Waiters() {
  touch_all();
  while (touched_.next != &touched_) static_cast<Entry*>(touched_.next)->leave();
}

std::unique_ptr<Tables::Waiter> Waiters::add(const std::vector<Scope>& scopes, std::function<void()> wake) {
  auto entry = std::make_unique<Entry>(this, scopes.size(), std::move(wake));
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    const ParsedScope scope = parse(scopes[i]);
    Map& map = map_of(scope.topic, scope.kind);
    const auto [it, fresh] = map.try_emplace(std::string(scope.key));
    it->second.key = &it->first;
    it->second.map = static_cast<std::uint8_t>(&map - maps_.data());
    entry->link(i).entry = entry.get();
    link(entry->link(i), it->second);
  }
  return entry;
}

void Waiters::link(Link& link, List& list) {
  link.list = &list;
  link.previous = nullptr;
  link.next = list.first;
  if (link.next != nullptr) link.next->previous = &link;
  list.first = &link;
}

void Waiters::unlink(Link& link) {
  List* list = std::exchange(link.list, nullptr);
  if (list == nullptr) return;
  (link.previous != nullptr ? link.previous->next : list->first) = link.next;
  if (link.next != nullptr) link.next->previous = link.previous;
  if (list->first == nullptr && !list->closing) {
    Map& map = maps_[list->map];
    map.erase(map.find(*list->key));
  }
}

void Waiters::touch(Map& map, Map::iterator it) {
  List& list = it->second;
  list.closing = true;
  while (list.first != nullptr) list.first->entry->touch();
  map.erase(it);
}

void Waiters::touch(Topic topic, ScopeKind kind, std::string_view key) {
  Map& map = map_of(topic, kind);
  if (map.empty()) return;
  if (const auto it = map.find(key); it != map.end()) touch(map, it);
}

void Waiters::touch_all() {
  for (auto& map : maps_) {
    while (!map.empty()) touch(map, map.begin());
  }
}

void Waiters::wake_touched() {
  if (touched_.next == &touched_) return;
  // Into a ring of their own: who is touched from within waits for the next call.
  Ring ready;
  ready.next = touched_.next;
  ready.previous = touched_.previous;
  ready.next->previous = ready.previous->next = &ready;
  touched_.next = touched_.previous = &touched_;
  while (ready.next != &ready) static_cast<Entry*>(ready.next)->fire();
}

}  // namespace underway::tables::detail
