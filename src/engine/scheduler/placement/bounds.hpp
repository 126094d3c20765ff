#pragma once
/// @file
/// On which nodes the allocations of a group may be by the constraints of its job, `distinct_hosts` and
/// `distinct_property` among them: for who chooses a node ahead of the scheduler, from the tables alone. Room, drivers
/// and volumes are no part of it.

#include <map>
#include <string>
#include <vector>

#include "tables/tables.hpp"

namespace underway::scheduler {

class Bounds {
 public:
  /// Nodes, by their value of something, of which each may be used so many times.
  struct Apart {
    std::string what;  ///< in words: "distinct_hosts"
    std::int64_t limit = 1;
    std::map<std::string, std::string> values;  ///< by the node's id; a node without one may not be used
    std::map<std::string, std::int64_t> used;   ///< by the value
  };

  void bar(const std::string& node, std::string why) { barred_.insert_or_assign(node, std::move(why)); }
  void keep_apart(Apart rule) { apart_.push_back(std::move(rule)); }

  /// Why one more may not be there, in words; empty: it may. `from`: the node that it leaves for it.
  std::string against(const std::string& node, const std::string& from = {}) const;
  /// Counts one that comes to a node, and leaves another, if any.
  void move(const std::string& from, const std::string& to);
  bool empty() const { return barred_.empty() && apart_.empty(); }

 private:
  std::map<std::string, std::string> barred_;  ///< why, by node
  std::vector<Apart> apart_;
};

/// As things are now, for these nodes.
Bounds bounds_of(const tables::Tables& tables, const tables::Row<model::Job>& job, const model::TaskGroup& group,
                 const std::vector<tables::Row<model::Node>>& nodes);

}  // namespace underway::scheduler
