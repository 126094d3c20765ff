#pragma once
/// @file
/// What a capability above the engine has to say about allocations that only it understands: where they may be placed,
/// and whether they may start now. A node that runs a capsule falls silent, and the scheduler places a replacement: the
/// guard of capsules holds that back until the record says that the old one can run no more.
///
/// The engine asks inside decisions and whenever orders are made, so the answers are pure functions of the tables. Who
/// changes an answer puts the allocations that it concerns in the same commit, so that their nodes get new orders.

#include <optional>
#include <string>

#include "tables/tables.hpp"

namespace underway::server {

class Guard {
 public:
  virtual ~Guard() = default;

  /// Whether it is about this allocation: its node does not start it after a boot of the machine before a server has
  /// said so again, as another one may have been started elsewhere meanwhile.
  virtual bool concerns(const model::Allocation& allocation) const = 0;
  /// Why the allocation may not start now, in words ("the record says that it runs on c2"); nothing when it may.
  virtual std::optional<std::string> holds(const tables::Tables& tables, const model::Allocation& allocation) const = 0;
  /// The only node on which allocations of the group are placed; nothing: any that fits.
  virtual std::optional<std::string> home(const tables::Tables& tables, const model::Job& job,
                                          const model::TaskGroup& group) const = 0;
};

}  // namespace underway::server
