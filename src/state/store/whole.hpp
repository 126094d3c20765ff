#pragma once
/// @file
/// A store that can be copied and replaced as a whole: what snapshots and their restoration need beside Store. Both
/// implementations are one.

#include "store/store.hpp"

namespace underway::store {

/// Thread: any but the store's own. Both block.
class Whole {
 public:
  virtual ~Whole() = default;

  /// Calls `visit` for every key, in order, as of one revision, which it returns. Commits go on meanwhile. What a
  /// consistent copy needs lies in the directory `scratch` until it returns.
  /// Errors: conflict (another copy is being made), exhausted (disk), what `visit` throws.
  virtual Revision copy(const std::string& scratch, const std::function<void(KeyValue&&)>& visit) = 0;

  /// Replaces everything by what `next` yields until it yields nothing: in one commit, whose revision, which it
  /// returns, is newer than the store's and than `above`. Keys keep the revision of their creation, and were all
  /// changed by this commit, so that who waits for anything newer is told. Watches are told of every key.
  /// Throws the Error that `next` or the disk threw: then nothing was changed. `next` throws nothing but Error.
  virtual Revision replace(Revision above, const std::function<std::optional<KeyValue>()>& next) = 0;
};

}  // namespace underway::store
