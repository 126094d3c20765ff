#pragma once
/// @file
/// What there is of each class, what may still be made of it, and what stands in the way.

#include "elastic/detail/open_nodes.hpp"
#include "elastic/tick.hpp"

#include <limits>
#include <set>
#include <unordered_set>

namespace underway::elastic::detail {

/// One class while a decision is being made.
struct Book {
  const PoolClass* type = nullptr;
  ClassState* state = nullptr;
  OpenNodes open;                     ///< room on nodes that are up, booting or asked for now
  std::vector<const NodeView*> idle;  ///< anybody's
  std::vector<const NodeView*> busy;
  std::vector<const NodeView*> draining;
  std::int64_t counted = 0;     ///< nodes that are there, asked for, or promised to a job
  std::int64_t empties = 0;     ///< empty nodes that `open` began with
  std::int64_t granted = 0;     ///< nodes that anybody may use and that are asked for now
  std::int64_t grown = 0;       ///< all that are asked for now
  bool short_of_nodes = false;  ///< somebody waits for it
  std::string kept;             ///< why idle nodes stay
};

/// How many more nodes a class may have, and what limits it to that.
struct Headroom {
  std::int64_t nodes = 0;
  Refusal limit;  ///< with the limit as `need` and what is used of it as `have`
};

class Supply {
 public:
  /// `gone` are nodes that are about to be taken away, `forming` the labels of gangs whose nodes are nobody else's.
  Supply(const Policy& policy, const Tick& tick, State& state, const std::unordered_set<std::string>& gone,
         const std::set<std::string>& forming);

  std::vector<Book>& books() { return books_; }
  Book& book(std::size_t index) { return books_[index]; }
  Book* find(std::string_view name);
  Headroom headroom(const Book& book) const;
  /// Counts nodes of the class, so that nobody else gets the room.
  void promise(Book& book, std::int64_t nodes);

 private:
  struct Usage {
    std::int64_t nodes = 0, vcpus = 0, memory_mb = 0;
  };
  void count(const NodeView& node, Book& book, const std::set<std::string>& forming);
  void weigh(const Book& book, std::int64_t limit, std::int64_t used, std::int64_t each, Obstacle obstacle,
             std::string_view what, Headroom& out) const;

  const Policy& policy_;
  const Tick& tick_;
  std::vector<Book> books_;
  std::map<std::string, Usage, std::less<>> usage_;  ///< by provider
  std::int64_t total_ = 0;
  Money per_hour_ = 0;  ///< of all that is counted
};

}  // namespace underway::elastic::detail
