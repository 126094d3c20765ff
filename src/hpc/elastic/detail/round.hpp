#pragma once
/// @file
/// One decision while it is being made: its parts are functions on this, in the order of decide.cpp.

#include "elastic/detail/shapes.hpp"
#include "elastic/detail/supply.hpp"

namespace underway::elastic::detail {

struct Round {
  const Policy& policy;
  const Tick& tick;
  State state;
  Decision out;
  Demand demand;
  std::unordered_set<std::string> gone;   ///< nodes that go, by this decision
  std::set<std::string> forming;          ///< labels
  std::unordered_set<std::string> freed;  ///< idle nodes of gangs that were given up: nobody waits for them to be used
  std::optional<Supply> supply;

  TimePoint now() const { return tick.now; }
  /// Since when, with the last step of the clock taken out.
  TimePoint since(TimePoint when) const {
    return unix_nanos(when) < state.stepped_at ? when + Duration{state.stepped_by} : when;
  }
  void look_again(TimePoint at) {
    if (out.look_again == TimePoint{} || at < out.look_again) out.look_again = at;
  }
  void note(std::string text) { out.explanation.notes.push_back(std::move(text)); }
  void remove(const NodeView& node, std::string why) {
    if (gone.insert(node.name).second) out.shrink.push_back({node.name, std::move(why)});
  }
};

/// Opportunistic nodes that are recalled: idle ones first, then those that lose the least work; none whose job has been
/// taken back once already.
void take_back(Round& round);
/// Which gangs go on forming, are complete, or are given up.
void settle_gangs(Round& round);
/// Puts the demand on what is there, and asks for the rest.
void grow(Round& round);
/// Idle nodes that nobody needs any more.
void shrink(Round& round);
/// Nodes that would be empty if their jobs were elsewhere.
void pack(Round& round);

/// Asks for up to `count` nodes as far as the class's tokens reach; returns how many. They have been promised before.
std::int64_t ask_for(Round& round, Book& book, std::int64_t count, const std::string& gang);

}  // namespace underway::elastic::detail
