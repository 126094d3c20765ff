#pragma once
/// @file
/// The rows of one group (a job's allocations, a node's, a job's evaluations), by create index and id (evaluations: as
/// NewerLast has it): an order that does not depend on how they came, so that a loaded state equals the one that was
/// built. Changes are gathered and put in order by settle(), once per apply: a thousand deletions cost one pass.

#include "tables/tables.hpp"

#include <algorithm>

namespace underway::tables::detail {

/// Evaluations of one revision stand in the order in which they were made: one that is blocked comes after the one that
/// found no room, and is the newest. What id it was given says nothing of that.
struct NewerLast {
  bool operator()(const Row<model::Evaluation>& a, const Row<model::Evaluation>& b) const {
    if (a->create_index != b->create_index) return a->create_index < b->create_index;
    return a->create_time != b->create_time ? a->create_time < b->create_time : a->id < b->id;
  }
};

template <class T>
struct ByCreation {
  bool operator()(const Row<T>& a, const Row<T>& b) const {
    return a->create_index != b->create_index ? a->create_index < b->create_index : a->id < b->id;
  }
};
template <>
struct ByCreation<model::Evaluation> : NewerLast {};

template <class T>
class OrderedRows {
 public:
  /// In order only when settled.
  const std::vector<Row<T>>& rows() const { return rows_; }
  bool empty() const { return rows_.empty(); }

  void insert(Row<T> row) { rows_.push_back(std::move(row)); }
  /// `after` has the place of `before`, which is one of the rows.
  void replace(const Row<T>& before, Row<T> after) { *find(before) = std::move(after); }
  void erase(const Row<T>& row) { dead_.push_back(row.get()); }

  void settle() {
    if (!dead_.empty()) {
      std::sort(dead_.begin(), dead_.end());
      const auto is_dead = [&](const Row<T>& row) { return std::binary_search(dead_.begin(), dead_.end(), row.get()); };
      sorted_ -= static_cast<std::size_t>(std::count_if(rows_.begin(), middle(), is_dead));
      std::erase_if(rows_, is_dead);
      std::vector<const T*>().swap(dead_);
    }
    if (sorted_ == rows_.size()) return;
    std::sort(middle(), rows_.end(), before_in_order);
    // The new are the newest, as a rule; several applies of one revision interleave at its rows only.
    const auto first = std::lower_bound(rows_.begin(), middle(), rows_[sorted_], before_in_order);
    if (first != middle()) std::sort(first, rows_.end(), before_in_order);
    sorted_ = rows_.size();
  }

 private:
  static constexpr std::size_t kLongTail = 32;

  static constexpr ByCreation<T> before_in_order{};
  auto middle() { return rows_.begin() + static_cast<std::ptrdiff_t>(sorted_); }

  auto find(const Row<T>& row) {
    if (rows_.size() - sorted_ > kLongTail) settle();
    const auto it = std::lower_bound(rows_.begin(), middle(), row, before_in_order);
    if (it != middle() && *it == row) return it;
    // Not there: among the new ones, or behind a dead row of the same id.
    return std::find(it, rows_.end(), row);
  }

  std::vector<Row<T>> rows_;
  std::vector<const T*> dead_;
  std::size_t sorted_ = 0;
};

}  // namespace underway::tables::detail
