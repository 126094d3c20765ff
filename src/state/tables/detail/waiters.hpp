#pragma once
/// @file
/// Who waits for which scope: an intrusive list per scope, made when somebody waits and gone with the last. A change
/// costs one look-up per kind of scope that anybody waits for, and nothing otherwise.

#include "tables/tables.hpp"

#include <array>

namespace underway::tables::detail {

/// What a scope's key means within its topic.
enum class ScopeKind : std::uint8_t { table, row, of_job, on_node, of_evaluation };
struct ParsedScope {
  Topic topic;
  ScopeKind kind;
  std::string_view key;  ///< without "job:" and the like
};
ParsedScope parse(const Scope& scope);

struct TransparentHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

class Waiters {
 public:
  Waiters() = default;
  ~Waiters();
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  std::unique_ptr<Tables::Waiter> add(const std::vector<Scope>& scopes, std::function<void()> wake);
  /// Whoever waits for the scope will be woken by wake_touched().
  void touch(Topic topic, ScopeKind kind, std::string_view key);
  void touch_all();
  void wake_touched();

 private:
  class Entry;
  struct Link;
  struct List {
    Link* first = nullptr;
    const std::string* key = nullptr;
    std::uint8_t map = 0;
    bool closing = false;  ///< being emptied by touch(), which erases it
  };
  struct Ring {  ///< a doubly linked ring, of entries to be woken; alone it points at itself
    Ring* next = this;
    Ring* previous = this;
  };
  using Map = std::unordered_map<std::string, List, TransparentHash, std::equal_to<>>;
  static constexpr std::size_t kKinds = 5;

  Map& map_of(Topic topic, ScopeKind kind) {
    return maps_[static_cast<std::size_t>(topic) * kKinds + static_cast<std::size_t>(kind)];
  }
  void touch(Map& map, Map::iterator it);
  void link(Link& link, List& list);
  void unlink(Link& link);

  std::array<Map, kTopicCount * kKinds> maps_;
  Ring touched_;  ///< those to be woken, oldest first
};

}  // namespace underway::tables::detail
