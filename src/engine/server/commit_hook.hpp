#pragma once
/// @file
/// What is added to a decision, in its commit: whoever submits one may look at what it is about to change, and add to
/// that. A client registers a job, and the API adds the entry that `underway changes` shows. When the server is killed
/// meanwhile, there are both, the job and its entry, or neither.

#include <functional>

#include "server/decision.hpp"

namespace underway::server {

/// `tables` are as they were before the changes. Pure, as a decision: it may be asked for a plan that nobody commits.
/// What it throws refuses the whole.
using CommitHook = std::function<void(const Tables& tables, const Context& context, std::vector<Change>& changes)>;

/// Both, of which the second sees what the first has added. Either may be empty.
inline CommitHook one_after_another(CommitHook first, CommitHook second) {
  if (!first || !second) return first ? std::move(first) : std::move(second);
  return [first = std::move(first), second = std::move(second)](const Tables& tables, const Context& context,
                                                                std::vector<Change>& changes) {
    first(tables, context, changes);
    second(tables, context, changes);
  };
}

}  // namespace underway::server
